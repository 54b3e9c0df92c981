"""Teams of any size: who sees what, when the work ends, and who carries the team's reward."""

import pytest

from components.env_execution.rules import Rules
from components.records import Scored
from envs.base import Order, Split, Status
from tests.doubles.rows import play_texts
from tests.envs.maths.episodes import (
    ALONE,
    PROGRAM,
    RIGHT,
    UNBOXED,
    WRONG,
    begin,
    boxed,
    make_env,
    play_turn,
    printing,
)  # fmt: skip

JUDGED = {"reasoners": 2, "tools": 1, "judge": True}


@pytest.mark.parametrize(
    ("options", "roles", "order"),
    [
        ({}, ("reasoner", "tool"), Order.PARALLEL),
        (ALONE, ("reasoner",), Order.SERIAL),
        ({"reasoners": 0, "tools": 1}, ("tool",), Order.SERIAL),
        ({"order": "serial"}, ("reasoner", "tool"), Order.SERIAL),
        (JUDGED, ("reasoner_1", "reasoner_2", "tool", "judge"), Order.SERIAL),
        ({"reasoners": 3, "tools": 4, "judge": True},
         (*(f"reasoner_{n}" for n in (1, 2, 3)), *(f"tool_{n}" for n in (1, 2, 3, 4)), "judge"),
         Order.SERIAL),
    ],
)  # fmt: skip
def test_roles_and_order(options, roles, order):
    env = make_env(**options)
    assert (env.roles, env.order) == (roles, order)


MARKS = {"reasoner": "71", "tool": "72", "reasoner_1": "81", "reasoner_2": "82"}


def seen(options, num_turns=3):
    """`A0: B`: which roles' answers of which turns each prompt of the real turn loop showed."""
    env = make_env(**options)
    texts = {
        role: ["I cannot decide." if role == "judge" else write(MARKS[role])]
        for role in env.roles
        for write in [printing if role == "tool" else boxed]
    }
    policies = {role: role for role in env.roles}
    scored, _ = play_texts(env, Rules(policies, num_turns=num_turns), texts)
    return [_shown(row, env.roles) for row in scored]


def _shown(row: Scored, roles):
    turn = row.candidate.turn
    content = turn.messages[-1]["content"]
    past = content.count("gave:") + content.count(f"Turn {turn.turn}, ") // len(roles)
    now = [role for role in roles if f"This turn, {role} answered" in content]
    marks = [role for role in roles if role in MARKS and MARKS[role] in content]
    assert turn.turn > 0 or all(role in now for role in marks)
    return f"{turn.role}{turn.turn} past {past} now {','.join(now) or '-'}"


def test_tracer_parallel_no_prompt_shows_the_same_turn():
    assert seen({}) == [
        "reasoner0 past 0 now -", "tool0 past 0 now -", "reasoner1 past 1 now -",
        "tool1 past 1 now -", "reasoner2 past 2 now -", "tool2 past 2 now -",
    ]  # fmt: skip


def test_tracer_serial_shows_what_came_before_in_the_turn():
    assert seen({"order": "serial"}) == [
        "reasoner0 past 0 now -", "tool0 past 0 now reasoner", "reasoner1 past 1 now -",
        "tool1 past 1 now reasoner", "reasoner2 past 2 now -", "tool2 past 2 now reasoner",
    ]  # fmt: skip


def test_tracer_with_a_judge_only_the_judge_sees_the_same_turn():
    assert seen(JUDGED, num_turns=2) == [
        "reasoner_10 past 0 now -", "reasoner_20 past 0 now -", "tool0 past 0 now -",
        "judge0 past 0 now reasoner_1,reasoner_2,tool", "reasoner_11 past 1 now -",
        "reasoner_21 past 1 now -", "tool1 past 1 now -",
        "judge1 past 1 now reasoner_1,reasoner_2,tool",
    ]  # fmt: skip


def test_a_team_with_a_judge_reads_what_it_would_read_in_parallel():
    """Serial order of the turn loop changes no prompt of those who write at the same time."""
    env, state = begin(**JUDGED)
    alone = {role: env.observe(state, role) for role in env.roles[:-1]}
    for role, text in zip(env.roles[:-1], (RIGHT, WRONG, PROGRAM), strict=True):
        assert env.observe(state, role) == alone[role]
        state = env.step(state, role, text).state
        assert all(env.observe(state, other) == alone[other] for other in alone)


@pytest.mark.parametrize(
    ("judge", "status", "team", "local"),
    [
        (RIGHT, Status.SOLVED, 1.0, {"format": 0.2, "match": 0.8}),
        (WRONG, Status.FAILED, 0.0, {"format": 0.2, "match": 0.0}),
        (UNBOXED, Status.RUNNING, 0.0, {"format": 0.0, "match": 0.0}),
    ],
)
def test_the_judge_decides(judge, status, team, local):
    env, state = begin(**JUDGED)
    result = play_turn(env, state, RIGHT, RIGHT, PROGRAM, judge)
    assert (result.status, result.rewards.team, result.rewards.local) == (status, team, local)
    assert play_turn(env, state, WRONG, WRONG, printing("7"), RIGHT).status is Status.SOLVED


@pytest.mark.parametrize(
    ("agreement", "answers", "status"),
    [
        ("all", ("204", "204", "204"), Status.SOLVED),
        ("all", ("204", "204", "7"), Status.RUNNING),
        ("all", ("7", "7", "7"), Status.FAILED),
        ("majority", ("204", "204", "7"), Status.SOLVED),
        ("majority", ("7", "204", "204"), Status.SOLVED),
        ("majority", ("204", "7", "204.0"), Status.SOLVED),
        ("majority", ("7", "204", "7"), Status.FAILED),
        ("majority", ("1", "2", "3"), Status.RUNNING),
        ("majority", (None, "204", "204"), Status.SOLVED),
        ("majority", (None, None, "204"), Status.RUNNING),
        ("majority", (None, None, None), Status.RUNNING),
        ("all", (None, "204", "204"), Status.RUNNING),
    ],
)
def test_agreement_of_three(agreement, answers, status):
    env, state = begin(reasoners=3, tools=0, agreement=agreement)
    texts = [UNBOXED if answer is None else boxed(answer) for answer in answers]
    result = play_turn(env, state, *texts)
    assert result.status is status
    assert result.rewards.team == float(status is Status.SOLVED)


def test_half_of_four_is_no_majority():
    env, state = begin(reasoners=4, tools=0, agreement="majority")
    assert play_turn(env, state, RIGHT, RIGHT, WRONG, WRONG).status is Status.RUNNING
    assert play_turn(env, state, RIGHT, RIGHT, WRONG, RIGHT).status is Status.SOLVED


def test_a_single_agents_first_answer_ends_the_episode():
    env, state = begin(**ALONE)
    assert env.step(state, "reasoner", RIGHT).status is Status.SOLVED
    assert env.step(state, "reasoner", RIGHT).rewards.team == 1.0
    assert env.step(state, "reasoner", WRONG).status is Status.FAILED
    again = env.step(state, "reasoner", UNBOXED)
    assert again.status is Status.RUNNING
    prompt = env.observe(again.state, "reasoner")[0]["content"]
    assert "Turn 1, reasoner (you) answered nothing" in prompt


def test_a_single_agent_may_have_to_repeat_itself():
    env, state = begin(**ALONE, settle="repeat")
    first = env.step(state, "reasoner", WRONG)
    assert (first.status, first.rewards.team) == (Status.RUNNING, 0.0)
    assert "answered 205" in env.observe(first.state, "reasoner")[0]["content"]
    second = env.step(first.state, "reasoner", RIGHT)
    assert (second.status, second.rewards.team) == (Status.RUNNING, 0.0)
    assert env.step(second.state, "reasoner", RIGHT).status is Status.SOLVED
    assert env.step(first.state, "reasoner", WRONG).status is Status.FAILED
    assert env.step(second.state, "reasoner", UNBOXED).status is Status.RUNNING


def test_disagreement_to_the_end_is_no_success():
    texts = {"reasoner": [RIGHT], "tool": [printing("205")]}
    rules = Rules({"reasoner": "a", "tool": "b"}, num_turns=2)
    _, frontier = play_texts(make_env(), rules, texts)
    (episode,) = frontier.ended
    assert (episode.status, episode.team_reward) == (Status.OUT_OF_TURNS, 0.0)


def test_fault_2_the_last_roles_candidates_are_judged_beside_the_first_ones_pick():
    """K candidates of each: every role has its own rewards, and the closing role the team's."""
    env = make_env(problems="generated:arithmetic")
    rules = Rules({"reasoner": "a", "tool": "b"}, num_candidates=3, num_turns=1)
    right = env.tasks(Split.TRAIN, 0, 0, 1)[0].payload["answer"]
    texts = {
        "reasoner": [boxed("-1"), boxed(right), UNBOXED],
        "tool": [printing("-1"), "nothing", printing(right)],
    }
    scored, frontier = play_texts(env, rules, texts)
    rewards = [round(row.reward, 6) for row in scored]
    assert rewards == [0.2, 1.0, 0.0, 0.2, 0.0, 2.0]
    assert [row.chosen for row in scored] == [False, True, False, False, False, True]
    assert frontier.ended[0].status is Status.SOLVED
