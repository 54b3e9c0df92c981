"""`python -m envs.code`: the figures of README.md, measured on the problems of HumanEval.

How good golden solutions and demonstrations are, and how long the prompts are.
"""

from collections.abc import Mapping, Sequence
from random import Random

from envs.base import JSON, Attempt, Split, Status, StepResult
from envs.code.environment import Code, make_code

NUM_TURNS = 3
QUICK: Mapping[str, JSON] = {"sandbox": {"cpu_s": 0.5}}
"""Demonstrations with a fault often never end."""
RIGHT = {"demonstrations": {"right": 1.0, "broken": 0.0}}


def main() -> None:
    """Print the figures."""
    env = make_code({}, "dense")
    counts = {split.value: len(env.problems.rows(split)) for split in Split}
    golden = [len(row.golden_tests) for row in env.problems.by_key.values()]
    print(f"{len(golden)} problems {counts}, {sum(golden)} golden tests, at most {max(golden)}")
    _show_solutions()
    variants: dict[str, Mapping[str, JSON]] = {
        "team": QUICK,
        "single agent": {**QUICK, "roles": "coder"},
    }
    for name, options in variants.items():
        print(f"demonstrations of the {name}: {_success(make_code(options, 'dense'))}")
    lengths = [
        len(env.observe(env.reset(task), role)[0]["content"])
        for task in _tasks(env)
        for role in env.roles
    ]
    print(f"prompts of the first turn: {sum(lengths) / len(lengths):.0f} characters on average, "
          f"at most {max(lengths)}")  # fmt: skip


def _show_solutions() -> None:
    """All golden solutions as one batch of answers."""
    env = make_code(RIGHT, "dense")
    results = _act(env, [env.reset(task) for task in _tasks(env)], "coder", Random(0))
    passed = sum(result.rewards.team == 1.0 for result in results)
    runs = sum(1 + result.state.num_golden for result in results)
    print(f"golden solutions: {passed} of {len(results)} earn 1, in {runs} runs")


def _success(env: Code) -> str:
    """All episodes side by side."""
    rng, states = Random(0), [env.reset(task) for task in _tasks(env)]
    ended: dict[str, int] = {}
    for _ in range(NUM_TURNS):
        for role in env.roles:
            results = _act(env, states, role, rng)
            states = [result.state for result in results]
        for result in results:
            ended[result.status.value] = ended.get(result.status.value, 0) + 1
        states = [result.state for result in results if result.status is Status.RUNNING]
    total = len(_tasks(env))
    solved, failed = (ended.get(key, 0) / total for key in ("solved", "failed"))
    return f"{solved:.1%} solved and {failed:.1%} failed within {NUM_TURNS} turns"


def _act(env: Code, states: Sequence[JSON], role: str, rng: Random) -> list[StepResult]:
    attempts = [Attempt(state, role, env.demonstrate(state, role, rng)) for state in states]
    return env.step_many(attempts)


def _tasks(env: Code) -> Sequence[JSON]:
    sizes: Mapping[Split, int] = {split: len(env.problems.rows(split)) for split in Split}
    return [task for split, size in sizes.items() for task in env.tasks(split, 0, 0, size)]


if __name__ == "__main__":
    main()
