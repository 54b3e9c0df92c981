"""One process that judges texts for workers.py: an environment of its own, JSON line by line.

It knows nothing of candidates or picks, and opens no file but its pipes.
"""

import json
import os
import signal
import sys
from typing import IO, Any

from envs.base import Environment, Status
from envs.registry import Recipe


def main() -> None:
    """Read the recipe, then answer every line of attempts until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which closes our input
    source, target = sys.stdin, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an environment prints must not mix with the answers
    env = Recipe(**json.loads(source.readline())).make()
    for line in source:
        _answer(target, judge(env, json.loads(line)))


def judge(env: Environment, asked: Any) -> Any:
    """The results of the attempts; equal states are written once. `failed`: one of them raised,
    which the parent finds out for itself."""
    states = [env.decode_state(item) for item in asked["states"]]
    results: list[Any] = []
    after: dict[str, int] = {}
    for position, role, completion in asked["attempts"]:
        try:
            result = env.step(states[position], role, completion)
        except Exception:  # the environment's own fault: raised again where somebody can see it
            return {"failed": len(results)}
        state = None
        if result.status is not Status.ERROR:
            state = after.setdefault(json.dumps(env.encode_state(result.state)), len(after))
        local = {name: float(value) for name, value in result.rewards.local.items()}
        results.append([state, float(result.rewards.team), local, result.status.value])
    return {"states": list(after), "results": results}


def _answer(target: IO[str], content: Any) -> None:
    target.write(json.dumps(content) + "\n")
    target.flush()


if __name__ == "__main__":
    main()
