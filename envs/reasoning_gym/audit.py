"""Can a generator of the package be trained on? Each is tried on entries of its own.

It may be used if its reference answer scores 1, if nonsense, the answers of other entries and
answers that are off by one do not, and if no answer keeps its grader busy. A generator whose
entries depend on the process needs a pool; how fast it generates is measured, not judged.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from envs.reasoning_gym import entries, generators, grading
from envs.reasoning_gym.answers import find_answer, tagged
from envs.reasoning_gym.demonstrations import damaged
from envs.reasoning_gym.inert import inert
from envs.reasoning_gym.verdicts import Verdict

NUM_ENTRIES = 24
NONSENSE = ("?!", "x", "no answer", "{}", "[[]]", "0 0", "-17.25")
"""Right nowhere, or by rare chance."""
HEAVY = (
    "9**9**9**9**9", "1e999999999", "1/1e-999999999", "9" * 9_000, "[" * 9_000, "(" * 9_000,
    "1," * 4_500, "[1] " * 2_000, "a" * 9_000,
)  # fmt: skip
"""What could keep a careless grader busy."""
BLIND = ("0", "1", "yes", "[]", "True", "A")
"""Answers that know nothing of the question, and nothing of the form of its answer."""
BLIND_CREDIT = 0.25
KNOWN = {
    "intermediate_integration": "its grader simplifies the answer, and nothing limits how long",
}
"""What trials cannot show: refused without one."""


@dataclass(frozen=True)
class Trial:
    """What was seen of one generator; shares are of its entries."""

    right: float
    """Whose reference answer scores 1."""
    nonsense: float
    """On which some nonsense scores 1."""
    foreign: float
    """Of the pairs of entries with different answers: one's scores 1 on the other."""
    off_by_one: float
    """Of those whose reference answer has a number: with 1 added to it, the answer scores 1."""
    blind: float
    """Best mean partial score of answers that know nothing of the question: constant ones, or the
    answers of other entries."""
    raises: bool
    """Whether its grader raised on malformed answers, which score 0 here."""
    distinct: float
    """Different questions."""
    entry_s: float
    """Mean CPU seconds to generate an entry."""


def judge(trial: Trial, process_dependent: bool) -> Verdict:
    """Refused for the first fault that is found."""
    faults = {
        f"its own answer scores 1 on {trial.right:.0%} of its entries": trial.right < 0.5,
        f"nonsense scores 1 on {trial.nonsense:.0%} of its entries": trial.nonsense > 0.25,
        f"answers to other questions score 1 in {trial.foreign:.0%} of cases": trial.foreign > 0.25,
        f"answers that are off by one score 1 on {trial.off_by_one:.0%} of its entries":
            trial.off_by_one > 0.5,
    }  # fmt: skip
    reason = next((reason for reason, found in faults.items() if found), None)
    return Verdict(reason, process_dependent, trial.blind <= BLIND_CREDIT)


def attempt(task: str) -> Iterator[str | Trial]:
    """Says what it does next, so that whoever waits knows what takes long; then the findings."""
    yield "generating"
    began = time.process_time()
    made = [generators.make_entry(task, {}, seed) for seed in range(NUM_ENTRIES)]
    entry_s = (time.process_time() - began) / NUM_ENTRIES
    texts = [entries.dump(entry) for entry in made]
    references = [find_answer(tagged(str(entry["answer"]))) for entry in made]
    yield "grading"
    scores = {text: {} for text in texts}  # type: dict[str, dict[str, float]]
    for number, (text, reference) in enumerate(zip(texts, references, strict=True)):
        tried = {*NONSENSE, *BLIND, *(answer for answer in references if answer)}
        tried.add(damaged(reference or ""))
        scores[text] = {answer: grading.score(task, "{}", text, answer) for answer in tried}
        yield f"grading entry {number}"
    raises = False
    for answer in (*HEAVY, *NONSENSE):
        yield f"grading {answer[:20]!r}"
        grading.score(task, "{}", texts[0], answer)
        raises = raises or _raises(task, texts[0], answer)
    yield _findings(texts, references, scores, raises, entry_s)


def _findings(
    texts: list[str],
    references: list[str | None],
    scores: Mapping[str, Mapping[str, float]],
    raises: bool,
    entry_s: float,
) -> Trial:
    pairs = [
        scores[text][other]
        for text, own in zip(texts, references, strict=True)
        for other in references
        if other and own and other != own
    ]
    own = list(zip(texts, references, strict=True))
    numbers = [
        scores[text][damaged(answer)] == 1.0
        for text, answer in own
        if answer and re.search(r"(?<![\d.])[0-9]", answer)
    ]
    blind = [_partial(scores[text][answer] for text in texts) for answer in BLIND]
    return Trial(
        right=fmean(bool(answer) and scores[text].get(answer or "") == 1.0 for text, answer in own),
        nonsense=fmean(any(scores[text][answer] == 1.0 for answer in NONSENSE) for text in texts),
        foreign=fmean(score == 1.0 for score in pairs) if pairs else 0.0,
        off_by_one=fmean(numbers) if numbers else 0.0,
        blind=max(*blind, _partial(pairs)),
        raises=raises,
        distinct=len({grading.read(text)["question"] for text in texts}) / len(texts),
        entry_s=entry_s,
    )


def _partial(scores: Iterable[float]) -> float:
    """Mean of those below 1, where right answers count as nothing."""
    partial = [score if score < 1.0 else 0.0 for score in scores]
    return fmean(partial) if partial else 0.0


def _raises(task: str, text: str, answer: str) -> bool:
    if not inert(task, answer):
        return False
    try:
        generators.grader(task, "{}").score_answer(answer, entries.load(text))
    except Exception:  # whatever the package raises is what is asked here
        return True
    return False
