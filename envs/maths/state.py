"""The state of an episode and its JSON form."""

from dataclasses import asdict, dataclass, fields

from envs.base import JSON, Status


@dataclass(frozen=True, slots=True)
class Report:
    """What one role did in one turn, as others may read it."""

    role: str
    answer: str | None
    """None: no answer could be found in what it wrote or printed."""
    text: str = ""
    """The end of its text, or its program; empty for turns that are long past."""
    output: str = ""
    """Of a program: the end of what it printed, or of its error message."""
    outcome: str = ""
    """Of a program: `ok`, `none` where there was no program, or how it failed."""


Turn = tuple[Report, ...]


@dataclass(frozen=True, slots=True)
class MathsState:
    """Everything that observations and rewards depend on."""

    question: str
    reference: str
    """The right answer; in no prompt."""
    turns: tuple[Turn, ...] = ()
    """Whole turns, each with a report per role; texts are kept of the last one only."""
    current: Turn = ()
    """Of the roles that have acted in this turn."""
    status: Status = Status.RUNNING


def without_texts(turn: Turn) -> Turn:
    """Answers and outcomes alone."""
    return tuple(Report(report.role, report.answer, outcome=report.outcome) for report in turn)


def encode(state: MathsState) -> JSON:
    """As a JSON value."""
    return {
        "question": state.question,
        "reference": state.reference,
        "turns": [_encode_turn(turn) for turn in state.turns],
        "current": _encode_turn(state.current),
        "status": state.status.value,
    }


def decode(encoded: JSON) -> MathsState:
    """The inverse of `encode`."""
    return MathsState(
        encoded["question"],
        encoded["reference"],
        tuple(_decode_turn(turn) for turn in encoded["turns"]),
        _decode_turn(encoded["current"]),
        Status(encoded["status"]),
    )


def _encode_turn(turn: Turn) -> JSON:
    return [asdict(report) for report in turn]


def _decode_turn(encoded: JSON) -> Turn:
    names = [field.name for field in fields(Report)]
    return tuple(Report(**{name: report[name] for name in names}) for report in encoded)
