"""The state of an episode and its JSON form."""

from dataclasses import dataclass

from envs.base import JSON, Status


@dataclass(frozen=True, slots=True)
class Reply:
    """What a role wrote in a turn."""

    role: str
    answer: str | None
    """None: it gave none."""
    text: str = ""
    """As a checker may read it; empty where nobody reads it."""


@dataclass(frozen=True, slots=True)
class GymState:
    """Everything that observations and rewards depend on."""

    entry: str
    """Canonical JSON of the package's entry: question, reference answer, metadata."""
    proposal: Reply | None = None
    """The reasoner's in this turn; None until it has acted, and for a single role."""
    last: tuple[Reply, ...] = ()
    """What the turn before decided on without success; in parallel order the answers of each role
    that were not right."""
    best: float = 0.0
    """Largest partial credit of the turns before, in [0, 1)."""
    status: Status = Status.RUNNING


def encode(state: GymState) -> JSON:
    """As a JSON value."""
    return {
        "entry": state.entry,
        "proposal": state.proposal and _encode_reply(state.proposal),
        "last": [_encode_reply(reply) for reply in state.last],
        "best": state.best,
        "status": state.status.value,
    }


def decode(encoded: JSON) -> GymState:
    """The inverse of `encode`."""
    proposal = encoded["proposal"]
    return GymState(
        encoded["entry"],
        proposal and _decode_reply(proposal),
        tuple(_decode_reply(reply) for reply in encoded["last"]),
        encoded["best"],
        Status(encoded["status"]),
    )


def _encode_reply(reply: Reply) -> JSON:
    return {"role": reply.role, "answer": reply.answer, "text": reply.text}


def _decode_reply(encoded: JSON) -> Reply:
    return Reply(encoded["role"], encoded["answer"], encoded["text"])
