"""A stored answer against the one that was generated again: where they part, and by how much."""

from dataclasses import asdict, dataclass
from typing import Any

from components.env_execution.selection import where
from components.records import Candidate, Scored


@dataclass(frozen=True)
class Compared:
    """One answer."""

    place: str
    """`task t turn 1 role r node 0.2 candidate 3`."""
    turn: int
    role: str
    candidate: int
    num_tokens: int
    """Of the stored answer."""
    same: bool
    """Prompt and answer, token by token."""
    logprob_gap: float
    """Largest |log-prob now - log-prob then| over the tokens before they part."""
    fault: str | None = None
    """Where they part, in words."""
    first: int | None = None
    """Position of the first differing token; None if there is none."""
    token_then: int | None = None
    """None: the stored answer had ended there."""
    token_now: int | None = None
    gap: float | None = None
    """|log-prob of the token now - of the token then|, if both are there. They are two tokens: of
    greedy play a small one is a tie, of drawn answers it says nothing, `logprob_gap` does."""

    @property
    def line(self) -> str:
        """For people."""
        plural = "" if self.num_tokens == 1 else "s"
        what = self.fault or f"the same {self.num_tokens} token{plural}"
        gap = f", log-probs within {self.logprob_gap:.1g}" if self.same and self.logprob_gap else ""
        return f"turn {self.turn} {self.role} candidate {self.candidate}: {what}{gap}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def compare_answers(then: Candidate, now: Candidate) -> Compared:
    """Token by token. Another model is seen by a large `logprob_gap`: over the same tokens."""
    num = len(then.completion_ids)
    common = _common(then.completion_ids, now.completion_ids)
    gaps = [abs(a - b) for a, b in zip(then.logprobs[:common], now.logprobs[:common], strict=True)]
    facts: dict[str, Any] = {
        "place": where(then), "turn": then.turn.turn, "role": then.turn.role,
        "candidate": then.candidate, "num_tokens": num, "logprob_gap": max(gaps, default=0.0),
    }  # fmt: skip
    if then.prompt_ids != now.prompt_ids:
        at = _common(then.prompt_ids, now.prompt_ids)
        fault = f"the prompt's token {at} differs: another tokenizer or chat template"
        return Compared(**facts, same=False, fault=fault)
    if then.completion_ids == now.completion_ids and then.finish_reason == now.finish_reason:
        return Compared(**facts, same=True)
    return _parted(facts, then, now, common)


def compare_judgements(then: Scored, now: Scored) -> str | None:
    """What the environment says of the same answer; None if it says the same."""
    for name in ("reward", "reward_parts", "status", "chosen"):
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            return f"{where(then.candidate)}: {name} was {before}, is {after}"
    return None


def _parted(facts: dict[str, Any], then: Candidate, now: Candidate, at: int) -> Compared:
    old, new = _token(then, at), _token(now, at)
    if old is None and new is None:
        fault = f"the end was {then.finish_reason}, is {now.finish_reason} ({now.error})"
        return Compared(**facts, same=False, fault=fault)
    gap = abs(new[1] - old[1]) if old and new else None
    fault = f"token {at} was {_words(old)}, is {_words(new)}"
    if at:
        fault += f"; log-probs of the {at} before it within {facts['logprob_gap']:.1g}"
    return Compared(
        **facts, same=False, fault=fault, first=at, token_then=old[0] if old else None,
        token_now=new[0] if new else None, gap=gap,
    )  # fmt: skip


def _token(item: Candidate, at: int) -> tuple[int, float] | None:
    if at >= len(item.completion_ids):
        return None
    return item.completion_ids[at], item.logprobs[at]


def _words(token: tuple[int, float] | None) -> str:
    return "the end" if token is None else f"{token[0]} (log-prob {token[1]:.4f})"


def _common(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))
