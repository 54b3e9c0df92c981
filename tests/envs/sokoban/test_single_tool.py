"""A single agent that writes for the tool: what its program finds is carried out."""

from random import Random

import pytest

from envs.base import Split, Status
from envs.checks import check_env
from envs.sokoban.demonstrations import best_program
from tests.envs.sokoban.drawings import GOLDEN, TINY, begin, make_env

SEARCH = {**TINY, "roles": "tool"}
SCRIPT = """```python
print(['D', 'L', 'D', 'R', 'U', 'R', 'D'])
```"""


@pytest.mark.parametrize("reward", ["dense", "outcome"])
def test_the_contract_holds(reward):
    texts = ("push c3 d5", "push c3 d5 avoid b2", "push c3", "c3 c4")
    env = make_env(reward, **SEARCH)
    assert env.roles == ("tool",)
    again = lambda: make_env(reward, **SEARCH)  # noqa: E731
    assert check_env(env, num_tasks=3, num_turns=2, texts=texts, again=again) == []


def test_what_the_search_finds_is_done_and_paid_as_the_planners_pushes():
    alone, planner = make_env(**SEARCH), make_env(**{**TINY, "roles": "planner"})
    team = make_env(**TINY)
    for task in alone.tasks(Split.TEST, 0, 0, 5):
        state = alone.reset(task)
        for line in (" ".join(best_program(state.level)), best_program(state.level)[1]):
            went = alone.step(state, "tool", line)
            tried = team.step(state, "tool", line).state.proposal.walk
            assert went.rewards.team == (1.0 if went.status is Status.SOLVED else 0.0)
            assert went.state.level.player == tried.end(state.level.player)
            assert went.state.proposal is None
        solved = alone.step(state, "tool", " ".join(best_program(state.level)))
        assert solved.status is Status.SOLVED
        assert set(solved.rewards.local) == set(planner.reward_presets["dense"].local["planner"])


def test_it_reads_what_the_teams_tool_reads():
    alone, team = make_env(**SEARCH), make_env(**TINY)
    for task in alone.tasks(Split.TEST, 0, 0, 5):
        state = alone.reset(task)
        assert alone.observe(state, "tool") == team.observe(state, "tool")
        texts = [env.demonstrate(state, "tool", Random(1)) for env in (alone, team)]
        assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("tool", "language", "answer"),
    [("search", "pushes", "push c3 d5"), ("program", "moves", SCRIPT)],
)
def test_in_the_papers_style_it_is_told_that_it_goes_on_from_there(tool, language, answer):
    env, state = begin(GOLDEN, tool=tool, action_language=language, roles="tool")
    prompt = env.observe(state, "tool")[-1]["content"]
    assert "The player does what it finds." in prompt and "You are the programmer" in prompt
    assert "planner" not in prompt and "copy" not in prompt
    assert env.step(state, "tool", answer).status is Status.SOLVED


def test_who_writes_moves_alone_is_the_planner():
    with pytest.raises(ValueError, match="roles tool needs tool search or program, got moves"):
        make_env(roles="tool")
