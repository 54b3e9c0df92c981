"""Which answer of an episode is meant: a turn, a role, a candidate, and in a wide tree a node."""

from collections.abc import Iterable
from dataclasses import dataclass

from components.errors import ConfigError
from components.numbering import is_number
from components.records import Candidate, Turn


@dataclass(frozen=True)
class Branch:
    """One answer; written `TURN/ROLE/CANDIDATE`, or `TURN/ROLE/CANDIDATE/NODE`."""

    turn: int
    """From 0."""
    role: str
    candidate: int
    node: str | None = None
    """The parent node; None: any, which is one unless the tree keeps several branches."""

    @property
    def text(self) -> str:
        """As it is written; `0/planner/2/` is an answer at the root alone."""
        short = f"{self.turn}/{self.role}/{self.candidate}"
        return short if self.node is None else f"{short}/{self.node}"

    def asks(self, turn: Turn) -> bool:
        """Whether this prompt is the one that the branch answers."""
        same = (turn.turn, turn.role) == (self.turn, self.role)
        return same and self.node in (None, turn.node)

    def holds(self, item: Candidate) -> bool:
        """Whether this answer is it."""
        return self.asks(item.turn) and item.candidate == self.candidate


def branch_names(items: Iterable[Candidate], with_nodes: bool) -> list[str]:
    """How these answers are written, in order, each once."""
    found = {
        (of.turn, of.role, item.candidate, of.node if with_nodes else None)
        for item in items
        for of in (item.turn,)
    }
    return [
        Branch(turn, role, candidate, node).text
        for turn, role, candidate, node in sorted(found, key=lambda it: (*it[:3], it[3] or ""))
    ]


def parse_branch(text: str) -> Branch:
    """ConfigError says how a branch is written."""
    turn, _, rest = text.partition("/")
    role, _, rest = rest.partition("/")
    candidate, slash, node = rest.partition("/")
    if not (is_number(turn) and role and is_number(candidate)):
        raise ConfigError(
            f"branch {text!r}: expected TURN/ROLE/CANDIDATE, e.g. 0/planner/2, with /NODE behind "
            "it where beam keeps several branches"
        )
    return Branch(int(turn), role, int(candidate), node if slash else None)
