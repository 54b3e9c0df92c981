"""Who is in the team, who acts last, and when a turn's answers settle the episode."""

from collections.abc import Sequence

from envs.base import Order
from envs.maths.grading import equal
from envs.maths.options import MathsOptions
from envs.maths.state import MathsState, Report

JUDGE = "judge"


def roles_of(options: MathsOptions) -> tuple[str, ...]:
    """In the order in which they act; numbered where there are several of a kind."""
    judge = (JUDGE,) if options.judge else ()
    kinds = (("reasoner", options.reasoners), ("tool", options.tools))
    return (*(name for kind, count in kinds for name in _names(kind, count)), *judge)


def order_of(options: MathsOptions) -> Order:
    """A judge has to come after the others, so its team acts in serial order; what the others may
    read is not the turn loop's order but `visible`."""
    serial = options.judge or options.order == "serial" or len(roles_of(options)) == 1
    return Order.SERIAL if serial else Order.PARALLEL


def visible(options: MathsOptions, state: MathsState, role: str) -> tuple[Report, ...]:
    """What `role` may read of the turn that is being played."""
    return state.current if role == JUDGE or options.order == "serial" else ()


def is_tool(role: str) -> bool:
    """Whether the role writes programs."""
    return role.startswith("tool")


def settled(options: MathsOptions, state: MathsState, turn: Sequence[Report]) -> str | None:
    """The team's final answer after a whole turn, or None if the episode goes on."""
    if options.judge:
        return turn[-1].answer
    if len(turn) == 1:
        return _alone(options, state, turn[0].answer)
    needed = len(turn) if options.agreement == "all" else len(turn) // 2 + 1
    answers = [report.answer for report in turn if report.answer is not None]
    for candidate in answers[: len(turn) - needed + 1]:
        if sum(equal(answer, candidate) for answer in answers) >= needed:
            return candidate
    return None


def _alone(options: MathsOptions, state: MathsState, answer: str | None) -> str | None:
    if answer is None or options.settle == "answer":
        return answer
    before = state.turns[-1][0].answer if state.turns else None
    return answer if before is not None and equal(answer, before) else None


def _names(kind: str, count: int) -> list[str]:
    return [kind] if count == 1 else [f"{kind}_{number}" for number in range(1, count + 1)]
