"""Several tools: the order, who sees what, and that one tool is as it always was."""

from itertools import product
from random import Random

import pytest

from envs.base import Attempt, Split, Status
from envs.checks import check_env
from envs.plan_path.example_scripts import fenced, search_script
from tests.envs.plan_path.drawings import QUICKSTART, begin, make_env

CORNER = "...\n.#.\n..."
TEXTS = ("U R", "[U, R]", "a1 a2", "[b1, b2]", "path a1 c3", "path a1 c3 avoid b2", "path")
SEARCH = {"tool": "search", "action_language": "cells"}
ORDER = {1: ("tool", "planner"), 2: ("tool", "tool_2", "planner"),
         4: ("tool", "tool_2", "tool_3", "tool_4", "planner")}  # fmt: skip


def prompt(env, state, role):
    """The text that the role reads."""
    return env.observe(state, role)[0]["content"]


def blind_program(env, state):
    """A search through the walls."""
    return fenced(search_script(env.options, state, blind=True))


BLIND = {
    ("moves", "moves"): lambda env, state: "[D, D, R, R]",
    ("moves", "cells"): lambda env, state: "[a2, a3, b3, c3]",
    ("search", "moves"): lambda env, state: "path a1 c3",
    ("search", "cells"): lambda env, state: "path a1 c3",
    ("program", "moves"): blind_program,
    ("program", "cells"): blind_program,
}


@pytest.mark.parametrize(
    ("tool", "style", "reward"),
    list(product(("moves", "search"), ("paper", "compact"), ("dense", "outcome"))),
)
def test_larger_teams_keep_the_contract(tool, style, reward):
    options = {"height": 5, "width": 4, "num_walls": 4, "num_tools": 3, "tool": tool,
               "action_language": "cells", "prompt_style": style}  # fmt: skip
    again = lambda: make_env(reward, **options)  # noqa: E731
    assert check_env(again(), num_tasks=3, num_turns=2, texts=TEXTS, again=again) == []


@pytest.mark.parametrize("num_tools", ORDER)
def test_golden_order(num_tools):
    env = make_env(num_tools=num_tools, **SEARCH)
    assert env.roles == ORDER[num_tools]
    for preset in env.reward_presets.values():
        assert set(preset.local) == set(env.roles)


def test_a_later_tool_sees_what_came_before_it_and_the_planner_all():
    env, state = begin(CORNER, (0, 0), (2, 2), num_tools=3, prompt_style="compact", **SEARCH)
    scene, seen = "walls b2 goal c3 at a1", []
    for role, text in zip(env.roles, ("path a1 c1", "", "path a1 c3 avoid b2", ""), strict=True):
        seen.append(prompt(env, state, role))
        state = env.step(state, role, text).state
    routes = ["route b1 c1 short", "route none error", "route a2 a3 b3 c3 ok"]
    assert seen == [" ".join([scene, *routes[:count]]) for count in range(4)]
    assert prompt(env, state, "tool_2") == scene, "the next turn begins without proposals"


def test_the_paper_style_numbers_the_tools():
    env, state = begin(CORNER, (0, 0), (2, 2), num_tools=2)
    assert prompt(env, state, "tool").startswith("You are tool 1 of the 2 that help an agent")
    state = env.step(state, "tool", "[R, D]").state
    later = prompt(env, state, "tool_2")
    assert "Tool 1 wrote:\n[R, D]\n\nTried on a copy, it walked: R\nResult: hit" in later
    assert "Where the proposals above fail" in later
    planner = prompt(env, env.step(state, "tool_2", "[R, R, D, D]").state, "planner")
    assert planner.index("Tool 1 wrote:\n[R, D]") < planner.index("Tool 2 wrote:\n[R, R, D, D]")
    assert "Where the proposals above fail" not in planner


def test_every_tool_is_paid_for_its_own_route_and_moves_nobody():
    env, state = begin(CORNER, (0, 0), (2, 2), num_tools=2, prompt_style="compact")
    first = env.step(state, "tool", "R R D D")
    second = env.step(first.state, "tool_2", "R R")
    assert (first.rewards.local["route"], second.rewards.local["route"]) == (1.0, 0.25)
    assert second.rewards.team == 0.0 and second.state.position == state.position
    assert env.step(second.state, "planner", "R R D D").status is Status.SOLVED


def test_states_of_larger_teams_survive_json_and_a_small_teams_are_as_before():
    env, state = begin(CORNER, (0, 0), (2, 2), num_tools=3, **SEARCH)
    for role in env.roles[:-1]:
        state = env.step(state, role, "path a1 c1").state
        assert env.decode_state(env.encode_state(state)) == state
    assert len(state.proposals) == 3
    assert len(env.encode_state(state)["further"]) == 2
    one, state = begin(CORNER, (0, 0), (2, 2), **SEARCH)
    encoded = one.encode_state(one.step(state, "tool", "path a1 c1").state)
    assert set(encoded) == {"rows", "goal", "position", "proposal", "last", "status"}


def test_a_tool_that_writes_again_replaces_its_proposal_and_those_after_it():
    env, state = begin(CORNER, (0, 0), (2, 2), num_tools=2, prompt_style="compact")
    state = env.step(env.step(state, "tool", "R").state, "tool_2", "D").state
    again = env.step(state, "tool_2", "D D").state
    assert prompt(env, again, "planner").endswith("at a1 route R short route D D short")
    assert prompt(env, env.step(again, "tool", "D").state, "planner").endswith(
        "at a1 route D short"
    )


def test_programs_of_several_tools_run_as_one_batch_and_are_all_shown():
    env, state = begin(CORNER, (0, 0), (2, 2), num_tools=2, tool="program", prompt_style="paper")
    first = env.step(state, "tool", fenced("print('R R')\n")).state
    attempts = [
        Attempt(first, "tool_2", fenced(f"print('{text}')\n")) for text in ("D R", "R R D D")
    ]
    short, right = env.step_many(attempts)
    assert (short.rewards.local["route"], right.rewards.local["route"]) == (0.125, 1.0)
    shown = prompt(env, right.state, "planner")
    assert "Tool 1 wrote:\n```python\nprint('R R')" in shown
    assert "Tool 2 wrote:\n```python\nprint('R R D D')" in shown and "Read as: R R D D" in shown
    assert "tool_2, on a copy: b1 c1 c2 c3 (ok)" in env.picture(right.state)


@pytest.mark.parametrize("language", ["moves", "cells"])
@pytest.mark.parametrize("tool", ["moves", "search", "program"])
def test_the_worked_example_shows_what_really_came_of_the_proposals(tool, language):
    env = make_env(num_tools=3, tool=tool, action_language=language, worked_example=True)
    _, state = begin(".#.\n...\n#..", (0, 0), (2, 2))
    small = make_env(
        num_tools=3, tool=tool, action_language=language, num_walls=0, height=3, width=3
    )
    for role in env.roles[:-1]:
        asked, answered, _ = env.observe(state, role)
        text = answered["content"] if role == "tool_3" else BLIND[tool, language](env, state)
        state = small.step(state, role, text).state
        assert asked["content"].count("Result: hit") == env.roles.index(role)
    example, _, _ = env.observe(state, "planner")
    shown = prompt(small, state, "planner")
    wanted = [line for line in shown.splitlines() if line.startswith(("Tried", "Result", "Read"))]
    found = example["content"].splitlines()
    assert [line for line in found if line.startswith(("Tried", "Result", "Read"))] == wanted


def test_several_tools_need_a_team():
    with pytest.raises(ValueError, match="num_tools 2 needs roles team, got planner"):
        make_env(num_tools=2, roles="planner")
    with pytest.raises(ValueError, match="option num_tools: .* less than or equal to 9, got 10"):
        make_env(num_tools=10)
    assert make_env(num_tools=1, roles="planner").roles == ("planner",)


def test_words_are_the_same_for_every_team_size_and_demonstrations_use_no_others():
    env, rng = make_env(num_tools=4, **QUICKSTART), Random(0)
    assert env.lexicon() == make_env(**QUICKSTART).lexicon()
    words, copied = set(env.lexicon()), set()
    for task in env.tasks(Split.TRAIN, 0, 0, 40):
        state = env.reset(task)
        for role in env.roles:
            asked, text = prompt(env, state, role), env.demonstrate(state, role, rng)
            assert {*asked.split(), *text.split()} <= words
            assert len(asked.split()) <= 120 and len(text.split()) <= 14
            if role == "planner":
                routes = [" ".join(route.split()[:-1]) for route in asked.split(" route ")[1:]]
                copied |= {number for number, route in enumerate(routes) if route == text}
            state = env.step(state, role, text).state
    assert copied == {0, 1, 2, 3}, "the planner's examples follow each of the tools"
