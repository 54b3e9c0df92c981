"""A single agent that writes for the tool: what its program finds is carried out."""

from random import Random

import pytest

from envs.base import Split, Status
from envs.checks import check_env
from tests.envs.plan_path.drawings import QUICKSTART, begin, make_env

SEARCH = {**QUICKSTART, "roles": "tool"}
CORNER = "...\n.#.\n..."
PROGRAM = """```python
print(['R', 'R', 'D', 'D'])
```"""


@pytest.mark.parametrize("reward", ["dense", "outcome"])
def test_the_contract_holds(reward):
    texts = ("path a1 c3 avoid b2", "path a1 c3", "b1 c1", "path")
    env = make_env(reward, **SEARCH)
    assert env.roles == ("tool",)
    again = lambda: make_env(reward, **SEARCH)  # noqa: E731
    assert check_env(env, num_tasks=3, num_turns=2, texts=texts, again=again) == []


def test_what_the_search_finds_is_carried_out_and_paid_as_the_planners_walk():
    options = {"prompt_style": "compact", "action_language": "cells"}
    alone, state = begin(CORNER, (0, 0), (2, 2), "dense", tool="search", roles="tool", **options)
    planner, other = begin(CORNER, (0, 0), (2, 2), "dense", roles="planner", **options)
    for line, cells in (("path a1 c3 avoid b2", "b1 c1 c2 c3"), ("path a1 c2", "a2 b2 c2")):
        went = alone.step(state, "tool", line)
        walked = planner.step(other, "planner", cells)
        assert went.rewards.team == walked.rewards.team
        assert dict(went.rewards.local) == dict(walked.rewards.local)
        assert (went.status, went.state.position) == (walked.status, walked.state.position)
    assert alone.step(state, "tool", "path a1 c3 avoid b2").status is Status.SOLVED
    blind = alone.step(state, "tool", "path a1 c3 avoid b1 a2")  # the only ways out
    assert blind.status is Status.RUNNING and blind.state.position == state.position
    assert blind.rewards.local["format"] == -0.2


def test_it_reads_what_the_teams_tool_reads():
    alone, team = make_env(**SEARCH), make_env(**QUICKSTART)
    for task in alone.tasks(Split.TEST, 0, 0, 5):
        state = alone.reset(task)
        assert alone.observe(state, "tool") == team.observe(state, "tool")
        assert alone.demonstrate(state, "tool", Random(1)) == team.demonstrate(
            state, "tool", Random(1)
        )


@pytest.mark.parametrize(
    ("tool", "answer"), [("search", "path a1 c3 avoid b2"), ("program", PROGRAM)]
)
def test_in_the_papers_style_it_is_told_that_it_goes_on_from_there(tool, answer):
    env, state = begin(CORNER, (0, 0), (2, 2), "dense", tool=tool, roles="tool")
    prompt = env.observe(state, "tool")[-1]["content"]
    assert "you continue from where it leads" in prompt
    assert "planner" not in prompt and "copy" not in prompt and "propose" not in prompt.lower()
    went = env.step(state, "tool", answer)
    assert went.status is Status.SOLVED and went.rewards.team == 1.0


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"roles": "tool"}, "roles tool needs tool search or program, got moves"),
        ({"roles": "tool", "tool": "search", "num_tools": 2}, "num_tools 2 needs roles team"),
    ],
)
def test_options_that_do_not_go_together(options, fault):
    with pytest.raises(ValueError, match=fault):
        make_env(**options)
