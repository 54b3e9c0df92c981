"""Whole episodes with an engine: batches, seeds, records, limits."""

import pytest

from components.engine import Completion, Request, Sampling
from components.env_execution.frontier import prompts, start
from components.env_execution.rules import Rules
from components.errors import RolewiseError
from components.records import Scored
from components.rollout.play import answer, play
from components.seeds import candidate_seed
from envs.base import Order, Split, Status
from tests.doubles.engine import FakeEngine, by_policy, seeded
from tests.doubles.environments import Tracer
from tests.doubles.rows import SCORES, logs, make_rules, rewards_of

GOLDEN = by_policy({"a": SCORES["A"], "b": SCORES["B"]})  # type: ignore[dict-item]
DIGITS = "0123456789"


def played(env: Tracer, engine: FakeEngine, rules: Rules, num_tasks: int = 1) -> list[Scored]:
    return play(engine, env, env.tasks(Split.TRAIN, 0, 0, num_tasks), rules, Sampling()).scored


def test_golden_tracer_through_the_engine() -> None:
    engine = FakeEngine(GOLDEN)
    scored = played(Tracer(), engine, make_rules())
    assert logs(scored)[-1] == "B2 [A5,B9,A5,B9,A5]"
    assert rewards_of(scored, "B", 2) == [7, 1, 2, 9]
    assert [prompt.partition(" ")[0] for prompt in engine.prompts] == ["A", "B"] * 3


@pytest.mark.parametrize(("order", "sizes"), [(Order.SERIAL, [3] * 4), (Order.PARALLEL, [6] * 2)])
def test_all_live_episodes_of_a_phase_are_one_batch(order: Order, sizes: list[int]) -> None:
    engine = FakeEngine(GOLDEN)
    played(Tracer(order=order), engine, make_rules(num_turns=2), num_tasks=3)
    assert [len(batch) for batch in engine.batches] == sizes


def test_ended_episodes_are_not_asked_again() -> None:
    engine = FakeEngine(GOLDEN)
    env = Tracer(endings={"1:A5": Status.SOLVED})
    played(env, engine, make_rules(num_turns=2), num_tasks=3)
    assert [len(batch) for batch in engine.batches] == [3, 2, 2, 2]


def test_every_candidate_has_the_seed_of_its_place() -> None:
    rules = make_rules(run_seed=7, iteration=3)
    for row in played(Tracer(), FakeEngine(seeded(DIGITS)), rules, num_tasks=2):
        item, turn = row.candidate, row.candidate.turn
        expected = candidate_seed(
            7, 3, turn.task_id, turn.node, turn.turn, turn.role, item.candidate
        )
        assert item.seed == expected


def test_one_branch_can_be_generated_again_alone() -> None:
    rules = make_rules(run_seed=1)
    engine = FakeEngine(seeded(DIGITS))
    row = played(Tracer(), engine, rules, num_tasks=3)[-1]
    alone = answer(FakeEngine(seeded(DIGITS)), [row.candidate.turn], rules, Sampling())
    assert row.candidate in alone


def test_fault_5_every_row_says_which_distribution_it_was_drawn_from() -> None:
    sampling = Sampling(temperature=1.5, top_p=0.9, top_k=5, max_new_tokens=9)
    env, engine = Tracer(), FakeEngine(GOLDEN)
    tasks = env.tasks(Split.TRAIN, 0, 0, 1)
    rows = play(engine, env, tasks, make_rules(), sampling).scored
    assert set(engine.samplings) == {sampling}
    recorded = {
        (r.candidate.temperature, r.candidate.top_p, r.candidate.top_k, r.candidate.max_new_tokens)
        for r in rows
    }
    assert recorded == {(1.5, 0.9, 5, 9)}


def test_fault_6_failures_of_the_engine_stay_rows_without_reward() -> None:
    def answers(request: Request, position: int) -> str | None:
        return None if position == 1 else GOLDEN(request, position)

    scored = played(Tracer(), FakeEngine(answers), make_rules(num_turns=1))
    assert rewards_of(scored, "A", 0) == [1, None, 2, 3]
    failed = [row.candidate for row in scored if row.reward is None]
    assert {(item.error, item.completion_ids) for item in failed} == {("scripted failure", ())}


def test_a_prompt_over_its_limit_is_refused_with_its_place() -> None:
    env, engine = Tracer(), FakeEngine(GOLDEN)
    sampling = Sampling(max_prompt_tokens=4)
    with pytest.raises(RolewiseError, match="task tracer/train/0/0 turn 0 role A node root"):
        play(engine, env, env.tasks(Split.TRAIN, 0, 0, 1), make_rules(), sampling)
    assert engine.num_tokens == 0


def test_parallel_sampling_asks_once_per_replica() -> None:
    engine = FakeEngine(seeded(DIGITS))
    rules = make_rules(sampling="parallel", num_turns=1)
    scored = played(Tracer(), engine, rules)
    assert [[len(request.seeds) for request in batch] for batch in engine.batches] == [[1] * 4] * 2
    assert [row.candidate.candidate for row in scored] == [0, 1, 2, 3] * 2
    assert len({row.candidate.seed for row in scored}) == 8


def test_evaluation_is_play_with_one_greedy_candidate() -> None:
    engine, env = FakeEngine(GOLDEN), Tracer()
    tasks = env.tasks(Split.VALIDATION, 0, 0, 2)
    rules = make_rules(num_candidates=1, num_turns=1)
    result = play(engine, env, tasks, rules, Sampling(temperature=0.0), "validation")
    assert {episode.benchmark for episode in result.episodes} == {"validation"}
    assert all(row.chosen for row in result.scored)
    assert len(result.scored) == 4


def test_an_engine_that_answers_out_of_order_is_found_out() -> None:
    class Shuffled(FakeEngine):
        def generate(self, *args: object, **values: object) -> list[Completion]:
            return super().generate(*args, **values)[::-1]  # type: ignore[arg-type]

    with pytest.raises(RolewiseError, match="engine fake: completion"):
        played(Tracer(), Shuffled(GOLDEN), make_rules())

    class Short(FakeEngine):
        def generate(self, *args: object, **values: object) -> list[Completion]:
            return super().generate(*args, **values)[1:]  # type: ignore[arg-type]

    with pytest.raises(RolewiseError, match="3 completions for 1 prompts, expected 4"):
        played(Tracer(), Short(GOLDEN), make_rules())


def test_no_prompts_need_no_engine_call() -> None:
    engine = FakeEngine(GOLDEN)
    assert answer(engine, [], make_rules(), Sampling()) == []
    assert engine.batches == []


def test_timings_count_tokens_and_separate_both_sides() -> None:
    env, engine = Tracer(), FakeEngine(GOLDEN)
    result = play(engine, env, env.tasks(Split.TRAIN, 0, 0, 2), make_rules(), Sampling())
    assert result.num_tokens == engine.num_tokens == 2 * 2 * 3 * 4
    timings = result.timings
    assert timings["generate_s"] > 0.0
    assert timings["environment_s"] > 0.0
    assert timings["tokens_per_s"] == pytest.approx(result.num_tokens / timings["generate_s"])


def test_progress_ends_at_its_total(capsys: pytest.CaptureFixture[str]) -> None:
    from components.progress import parse_progress

    env = Tracer(endings={"0:B9": Status.SOLVED})
    for order in Order:
        played(Tracer(order=order, endings=env.endings), FakeEngine(GOLDEN), make_rules(), 2)
        last = parse_progress(capsys.readouterr().out.splitlines()[-1])
        assert last is not None
        assert (last.step, last.done, last.total, last.unit) == ("rollout", 12, 12, "turns")


def test_prompts_name_the_policy_of_their_role() -> None:
    env = Tracer()
    rules = Rules(roles={"A": "shared", "B": "shared"})
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 1), rules)
    assert [turn.policy for turn in prompts(env, frontier, rules)] == ["shared"]


def test_slow_judging_says_how_many_answers_are_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("components.rollout.play.JUDGING_IS_SLOW_S", 0.0)
    monkeypatch.setattr("components.progress._MIN_INTERVAL_S", 0.0)
    monkeypatch.setattr("components.env_execution.scoring.CHUNK", 3)
    played(Tracer(), FakeEngine(GOLDEN), make_rules(num_turns=1))
    lines = [line.split("turns", 1)[-1] for line in capsys.readouterr().out.splitlines()]
    assert [line.partition("judged=")[2] for line in lines] == ["3/4", "4/4", ""] * 2
