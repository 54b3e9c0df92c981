"""Three turns of the real Plan-Path: the planner reads what the tool's chosen answer came to."""

from components.env_execution.advance import advance
from components.env_execution.frontier import decode, encode, prompts, start
from components.env_execution.rules import Rules
from envs.base import Split
from envs.registry import make_environment
from tests.doubles.rows import make_candidate

OPTIONS = {
    "height": 6, "width": 6, "num_walls": 4, "min_distance": 7,
    "prompt_style": "compact", "action_language": "cells",
}  # fmt: skip
RULES = Rules(roles={"tool": "t", "planner": "p"}, num_candidates=3, num_turns=3)


def neighbours(cell: str, walls: list[str]) -> list[str]:
    """The free cells of the 6x6 board next to `cell`."""
    column, row = "abcdef".index(cell[0]), int(cell[1])
    around = [(column + 1, row), (column - 1, row), (column, row + 1), (column, row - 1)]
    cells = [f"{'abcdef'[c]}{r}" for c, r in around if 0 <= c < 6 and 1 <= r <= 6]
    return [cell for cell in cells if cell not in walls]


def distance(a: str, b: str) -> int:
    return abs(ord(a[0]) - ord(b[0])) + abs(int(a[1]) - int(b[1]))


def test_three_turns_show_the_chosen_route_and_the_position_reached() -> None:
    env = make_environment("plan_path", OPTIONS, "dense")
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 1), RULES)
    step = ""
    for turn in range(3):
        (prompt,) = prompts(env, frontier, RULES)
        words = prompt.messages[0]["content"].split()
        goal, position = words[words.index("goal") + 1], words[words.index("at") + 1]
        assert position == (step or position), "the position is the one the planner reached"
        step = min(neighbours(position, words[1:5]), key=lambda cell: distance(cell, goal))
        texts = ["no such cell", f"{position} {position}", step]
        rows = [make_candidate(prompt, index, text) for index, text in enumerate(texts)]
        advanced = advance(env, frontier, rows, RULES)
        assert [row.chosen for row in advanced.scored] == [False, False, True]
        frontier = decode(env, encode(env, advanced.frontier))
        (prompt,) = prompts(env, frontier, RULES)
        assert (prompt.role, prompt.turn) == ("planner", turn)
        assert prompt.messages[0]["content"].endswith(f"route {step} short")
        rows = [
            make_candidate(prompt, index, text) for index, text in enumerate(["zz", step, "zz"])
        ]
        advanced = advance(env, frontier, rows, RULES)
        assert [row.chosen for row in advanced.scored] == [False, True, False]
        frontier = advanced.frontier
    (episode,) = frontier.ended
    assert (episode.num_turns, episode.status.value) == (3, "out_of_turns")
