"""What reaches the environment: one batch per phase and role, whole, in order, answers only."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.env_execution import scoring
from components.env_execution.scoring import step_all
from components.errors import RolewiseError
from envs.base import Attempt, Order, Split, Status, StepResult
from tests.doubles.environments import Tracer
from tests.doubles.rows import make_rules, play_texts

TEXTS = st.lists(st.sampled_from(["0", "1", "2", "3", None]), min_size=3, max_size=3)


@dataclass(frozen=True)
class Batching(Tracer):
    """A tracer that judges batches, and remembers them."""

    lost: int = 0
    """How many results of every batch go missing."""
    batches: list[list[Attempt]] = field(default_factory=list)

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        self.batches.append(list(attempts))
        return [self.step(*attempt) for attempt in attempts][self.lost :]


@pytest.mark.parametrize("order", list(Order))
def test_one_batch_per_phase_and_role(order: Order) -> None:
    env = Batching(order=order)
    play_texts(env, make_rules(num_turns=2), num_tasks=3)
    assert [len(batch) for batch in env.batches] == [12] * 4
    assert [{item.role for item in batch} for batch in env.batches] == [{"A"}, {"B"}] * 2


def test_parallel_order_fixes_all_picks_of_a_role_before_the_next_is_judged() -> None:
    env = Batching(order=Order.PARALLEL, endings={"1:A5": Status.SOLVED})
    play_texts(env, make_rules(num_turns=1), num_tasks=3)
    first, second = env.batches
    assert {item.state for item in first} == {(0, ()), (1, ()), (2, ())}
    assert {item.state for item in second} == {(0, ("A5",)), (2, ("A5",))}


def test_failed_generations_never_reach_the_environment() -> None:
    env = Batching()
    texts = {"A": [None, "5", None, "3"], "B": [None] * 4}
    play_texts(env, make_rules(num_turns=1), texts, num_tasks=2)
    assert [[item.completion for item in batch] for batch in env.batches] == [["5", "3"] * 2]


@pytest.mark.parametrize("lost", [1, -1])
def test_a_batch_that_comes_back_incomplete_is_refused(lost: int) -> None:
    env = Batching(lost=lost)
    with pytest.raises(RolewiseError, match=r"'tracer': step_many gave \d results for 4 attempts"):
        play_texts(env, make_rules())


def test_large_batches_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "CHUNK", 4)  # and twice that, because it was fast
    env, told = Batching(), []
    state = env.reset(env.tasks(Split.TRAIN, 0, 0, 1)[0])
    attempts = [Attempt(state, "A", str(number)) for number in range(14)]
    results = step_all(env, attempts, lambda *counts: told.append(counts))
    assert [len(batch) for batch in env.batches] == [4, 8, 2]
    assert told == [(4, 14), (12, 14), (14, 14)]
    assert results == [env.step(*attempt) for attempt in attempts]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(Order)),
    st.dictionaries(st.sampled_from(["A0", "A1", "B1", "B2"]), st.sampled_from(list(Status)[:3])),
    st.fixed_dictionaries({"A": TEXTS, "B": TEXTS}),
)
def test_batches_change_nothing(
    order: Order, endings: dict[str, Status], texts: dict[str, list[str | None]]
) -> None:
    rules = make_rules(num_candidates=3, num_turns=2)
    one_by_one = play_texts(Tracer(order=order, endings=endings), rules, texts, num_tasks=3)
    batched = play_texts(Batching(order=order, endings=endings), rules, texts, num_tasks=3)
    assert batched == one_by_one
