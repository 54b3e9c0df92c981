"""Scoring, picking, ending: one phase at a time."""

import dataclasses

import pytest

from components.env_execution.advance import advance
from components.env_execution.frontier import prompts, start
from components.errors import ConfigError, RolewiseError
from components.records import Turn
from envs.base import Order, Split, Status
from tests.doubles.environments import Tracer, parallel_roles
from tests.doubles.rows import answers, logs, make_candidate, make_rules, play_texts


def test_only_the_pick_advances_and_is_marked() -> None:
    env, rules = Tracer(), make_rules()
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 1), rules)
    advanced = advance(env, frontier, answers(prompts(env, frontier, rules), rules), rules)
    assert [row.chosen for row in advanced.scored] == [False, True, False, False]
    assert [node.state for node in advanced.frontier.nodes] == [(0, ("A5",))]
    assert advanced.scored[1].reward_parts == {"team": 0.0, "local/digit": 5.0}
    assert advanced.ended == []


def test_episode_stops_in_the_middle_of_a_turn() -> None:
    scored, frontier = play_texts(Tracer(endings={"A5": Status.SOLVED}), make_rules())
    assert logs(scored) == ["A0 []"]
    assert [row.status for row in scored] == [Status.RUNNING, Status.SOLVED] + [Status.RUNNING] * 2
    (episode,) = frontier.ended
    assert (episode.status, episode.num_turns) == (Status.SOLVED, 1)


def test_team_reward_is_that_of_the_last_executed_action() -> None:
    env = Tracer(team={"A5": 0.25, "B9": 0.75, "B7": 1.0})
    _, frontier = play_texts(env, make_rules(num_turns=1))
    assert frontier.ended[0].team_reward == 0.75


def test_alpha_weighs_the_team_reward() -> None:
    env = Tracer(team={"A1": 1.0})
    scored, _ = play_texts(env, make_rules(alpha=10.0, num_turns=1))
    assert [row.chosen for row in scored[:4]] == [True, False, False, False]
    assert scored[0].reward == 11.0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_reward_that_is_not_finite_is_an_error(value: float) -> None:
    with pytest.raises(
        RolewiseError, match=r"tracer/train/0/0 turn 0 role A node root candidate 2"
    ):
        play_texts(Tracer(rewards={"A2": value}), make_rules())


def test_only_the_loop_may_say_out_of_turns() -> None:
    with pytest.raises(RolewiseError, match="only the turn loop sets"):
        play_texts(Tracer(endings={"A1": Status.OUT_OF_TURNS}), make_rules())


def test_sampled_picks_are_replayable_and_vary() -> None:
    def picks(seed: int) -> list[int]:
        rules = make_rules(pick="sample", run_seed=seed)
        scored, _ = play_texts(Tracer(), rules, num_tasks=4)
        return [row.candidate.candidate for row in scored if row.chosen]

    assert picks(1) == picks(1)
    assert picks(1) != picks(2)
    assert len(set(picks(1))) > 1


def test_beam_keeps_the_best_children_of_every_node() -> None:
    scored, frontier = play_texts(Tracer(), make_rules(beam=2, num_turns=1))
    assert logs(scored) == ["A0 []", "B0 [A5]", "B0 [A3]"]
    chosen = [(r.candidate.turn.node, r.candidate.candidate) for r in scored if r.chosen]
    assert chosen == [("", 1), ("", 3), ("1", 0), ("1", 3), ("3", 0), ("3", 3)]
    assert [episode.num_turns for episode in frontier.ended] == [1]


@pytest.mark.parametrize("pick", ["greedy", "sample"])
def test_a_wider_beam_contains_the_narrow_one_and_ends_alike(pick: str) -> None:
    narrow, end = play_texts(Tracer(), make_rules(pick=pick))
    wide, wide_end = play_texts(Tracer(), make_rules(pick=pick, beam=4))
    assert wide_end.ended == end.ended
    assert {str(row.candidate) for row in narrow} <= {str(row.candidate) for row in wide}
    assert len(wide) == 4 * sum(4**depth for depth in range(6))


def test_a_branch_that_ends_leaves_the_others_running() -> None:
    env = Tracer(endings={"A5": Status.SOLVED})
    scored, frontier = play_texts(env, make_rules(beam=2, num_turns=1))
    assert logs(scored) == ["A0 []", "B0 [A3]"]
    assert [(e.status, e.num_turns) for e in frontier.ended] == [(Status.SOLVED, 1)]


def test_beam_with_parallel_order_is_refused() -> None:
    env = parallel_roles()
    with pytest.raises(RolewiseError, match="rollout.beam is 2.*parallel"):
        start(env, env.tasks(Split.TRAIN, 0, 0, 1), make_rules(beam=2))


def test_parallel_order_judges_the_second_role_after_the_first_ones_pick() -> None:
    env = parallel_roles()
    rules = make_rules(num_turns=2)
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 1), rules)
    advanced = advance(env, frontier, answers(prompts(env, frontier, rules), rules), rules)
    (node,) = advanced.frontier.nodes
    assert (node.state, node.path) == ((0, ("A5", "B9")), "1.3")
    assert {row.candidate.turn.node for row in advanced.scored} == {""}


@pytest.mark.parametrize("ending", [Status.SOLVED, Status.FAILED])
def test_parallel_order_ended_by_the_first_pick_does_not_judge_the_second_role(
    ending: Status,
) -> None:
    env = Tracer(order=Order.PARALLEL, endings={"A5": ending})
    scored, frontier = play_texts(env, make_rules())
    second = [row for row in scored if row.candidate.turn.role == "B"]
    assert len(second) == 4
    assert {(row.reward, row.chosen, row.status) for row in second} == {(None, False, ending)}
    assert frontier.ended[0].status == ending


def test_roles_must_be_those_of_the_environment() -> None:
    env = Tracer()
    with pytest.raises(ConfigError, match=r"unknown \['C'\], missing \['B'\]"):
        start(env, env.tasks(Split.TRAIN, 0, 0, 1), make_rules("AC"))


def test_a_task_drawn_twice_is_refused() -> None:
    env = Tracer()
    task = env.tasks(Split.TRAIN, 0, 0, 1)[0]
    with pytest.raises(RolewiseError, match="tracer/train/0/0.*twice"):
        start(env, [task, task], make_rules())


def test_candidates_must_be_those_that_were_asked_for() -> None:
    env, rules = Tracer(), make_rules()
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 1), rules)
    (turn,) = prompts(env, frontier, rules)
    rows = answers([turn], rules)

    def refuse(rows: list[object], match: str) -> None:
        with pytest.raises(RolewiseError, match=match):
            advance(env, frontier, rows, rules)  # type: ignore[arg-type]

    refuse(rows[:3], r"got candidates \[0, 1, 2\], expected \[0, 1, 2, 3\]")
    refuse([*rows, rows[0]], "candidate 0: it is there twice")
    refuse([*rows, make_candidate(dataclasses.replace(turn, turn=1), 0, "1")], "nobody asked")
    other = dataclasses.replace(turn, messages=({"role": "user", "content": "other"},))
    refuse([make_candidate(other, 0, "1"), *rows[1:]], "answers another prompt")


def test_the_order_of_candidates_does_not_matter() -> None:
    env, rules = Tracer(), make_rules()
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 3), rules)
    rows = answers(prompts(env, frontier, rules), rules)
    assert advance(env, frontier, rows[::-1], rules) == advance(env, frontier, rows, rules)


def test_nothing_left_stays_nothing() -> None:
    env, rules = Tracer(), make_rules(num_turns=1)
    _, frontier = play_texts(env, rules)
    none: list[Turn] = prompts(env, frontier, rules)
    advanced = advance(env, frontier, [], rules)
    assert (none, advanced.scored, advanced.ended) == ([], [], [])
    assert advanced.frontier.ended == frontier.ended
