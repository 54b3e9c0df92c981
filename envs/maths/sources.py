"""Public data sets: a record in the set's own format becomes a row, or a reason to leave it out.

Where the sets live, which parts they have, and under which licence. Nothing is downloaded here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from envs.base import Split
from envs.maths.rows import MathsRow
from envs.splits import split_of

Record = Mapping[str, Any]
Adapted = MathsRow | str
"""A row, or why the record is left out."""
_GSM8K_END = re.compile(r"####\s*(.+?)\s*$", re.DOTALL)
_ASIDE = re.compile(
    r",? or (?:equivalently|approximately|an equivalent form).*$"
    r"|\s*\((?:i\.e\.|none |no )[^()]*(?:\([^()]*\)[^()]*)*\)$| is the only possible value$"
)


@dataclass(frozen=True)
class Source:
    """A data set on a hub."""

    repo: str
    config: str | None
    parts: tuple[str, ...]
    """Of the set itself; those for testing first, so that a duplicate leaves the training data."""
    adapt: Callable[[Record], Adapted]
    held_out: bool
    """Whether the whole set is for testing."""
    licence: str


def adapt(source: str, part: str, record: Any) -> Adapted:
    """The record as a row of the split it belongs to, or a reason."""
    if not isinstance(record, Mapping):
        return f"the record is a {type(record).__name__}, expected an object"
    chosen = SOURCES[source]
    try:
        row = chosen.adapt(record)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(name) for name in fault["loc"])
        return f"field {where}: {fault['msg'].removeprefix('Value error, ')}"
    if isinstance(row, str):
        return row
    return row.model_copy(update={"source": source, "split": _split(chosen, part, row)})


def _split(source: Source, part: str, row: MathsRow) -> Split | None:
    """The set's own test part is the test split; of its training part a tenth is for validation."""
    if part == "validation":
        return Split.VALIDATION
    if source.held_out or part == "test":
        return Split.TEST
    if "test" not in source.parts:
        return None
    own = split_of(row.content())
    return Split.VALIDATION if own is Split.VALIDATION else Split.TRAIN


def _row(record: Record, question: str, answer: str) -> MathsRow:
    name = next((record[key] for key in ("id", "ID", "identifier") if key in record), "")
    return MathsRow(question=question.strip(), answer=answer, source="-", id=str(name))


def _text(record: Record, *names: str) -> str | None:
    """The first of these fields, in any case, as text."""
    fields = {str(key).lower(): value for key, value in record.items()}
    found = next((fields[name] for name in names if fields.get(name) is not None), None)
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        return None
    return str(found).strip() or None


def _plain(record: Record) -> Adapted:
    """`problem` or `question`, and `answer`."""
    question, answer = _text(record, "problem", "question"), _text(record, "answer")
    if question is None or answer is None:
        return f"no {'question' if question is None else 'answer'}; fields {sorted(record)}"
    return _row(record, question, answer)


def _gsm8k(record: Record) -> Adapted:
    question, solution = _text(record, "question"), _text(record, "answer")
    found = _GSM8K_END.search(solution or "")
    if question is None or found is None:
        return "no question" if question is None else "no answer after '####'"
    return _row(record, question, found[1])


def _olympiad(record: Record) -> Adapted:
    """Open-ended text problems in mathematics with one final answer."""
    if "final_answer" not in record or not record["final_answer"]:
        return "a proof: no final answer"
    if str(record.get("subject") or "Math").lower() not in ("math", "maths", "mathematics"):
        return f"subject {record['subject']!r}, expected mathematics"
    if str(record.get("modality") or "Text-only") != "Text-only":
        return "needs a picture"
    if record.get("error"):
        return f"has a tolerance of its own ({record['error']!r})"
    finals, unit = record["final_answer"], _text(record, "unit")
    if isinstance(finals, str):
        finals = [finals]
    if record.get("is_multiple_answer") and unit:
        return f"several answers with a unit ({unit})"
    if len(finals) != 1:
        return f"{len(finals)} final answers, expected 1"
    question = _text(record, "question")
    if question is None:
        return "no question"
    context = _text(record, "context")
    question = f"{context}\n\n{question}" if context else question
    if unit:
        question += f"\n(Give the number alone; its unit is {unit}.)"
    return _row(record, question, str(finals[0]).strip())


def _champ(record: Record) -> Adapted:
    answer = _ASIDE.sub("", _ASIDE.sub("", str(record.get("_answer") or "")))
    if answer.lower() in ("yes", "no"):
        return "yes or no: half of all guesses are right"
    return _plain({**record, "problem": record.get("_text"), "answer": answer})


HUB: Mapping[str, Source] = {
    "polaris": Source(
        "POLARIS-Project/Polaris-Dataset-53K", None, ("train",), _plain, False, "Apache-2.0"
    ),
    "gsm8k": Source("openai/gsm8k", "main", ("test", "train"), _gsm8k, False, "MIT"),
    "aime24": Source("HuggingFaceH4/aime_2024", None, ("train",), _plain, True, "none stated"),
    "aime25": Source("math-ai/aime25", None, ("test",), _plain, True, "Apache-2.0"),
    "olympiadbench": Source(
        "Hothan/OlympiadBench", "OE_TO_maths_en_COMP", ("train",), _olympiad, True, "Apache-2.0"
    ),
}
"""On the Hugging Face hub. Licences as the sets state them; look again before you use one."""
SOURCES: Mapping[str, Source] = {
    **HUB,
    "champ": Source("package champ-dataset", None, ("train",), _champ, False, "MIT"),
}


def licence_of(name: str) -> str:
    """Of a set's problems, also of those inside a package."""
    if name.startswith("generated:"):
        return "made here"
    return SOURCES[name.rpartition("/")[2]].licence
