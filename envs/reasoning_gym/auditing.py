"""The audit of all generators: each in a process of its own that can be given up."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from multiprocessing import get_context
from multiprocessing.connection import Connection
from subprocess import DEVNULL, check_output
from typing import NamedTuple

from envs.reasoning_gym import audit, entries, generators
from envs.reasoning_gym.audit import Trial
from envs.reasoning_gym.verdicts import Verdict

STEP_S = 60.0
"""Wall seconds that one step of a trial may take."""


class Finding(NamedTuple):
    """One row of the audit's table."""

    task: str
    verdict: Verdict
    trial: Trial | None
    """None: it could not be tried to the end."""


def findings(tasks: Sequence[str] | None = None) -> Iterator[Finding]:
    """One after the other, in the order of names."""
    tasks = generators.names() if tasks is None else tasks
    first, second = (_digests(tasks, hash_seed) for hash_seed in ("1", "2"))
    for task in tasks:
        seen = audit.KNOWN.get(task) or _attempt(task)
        if isinstance(seen, str):
            yield Finding(task, Verdict(seen), None)
            continue
        yield Finding(task, audit.judge(seen, first[task] != second[task]), seen)


def _attempt(task: str) -> Trial | str:
    """The trial, or why there is none."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(task, sender), daemon=True)
    process.start()
    sender.close()
    doing = "starting"
    try:
        while receiver.poll(STEP_S):
            message: Trial | str = receiver.recv()
            if isinstance(message, Trial) or message.startswith("cannot"):
                return message
            doing = message
        return f"{doing} takes more than {STEP_S:g} s"
    except EOFError:
        return f"{doing} ends its process"
    finally:
        process.kill()
        process.join()


def _send(task: str, sender: Connection) -> None:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (some generators print; the process ends)
    try:
        for message in audit.attempt(task):
            sender.send(message)
    except Exception as error:  # a generator that fails is a finding
        sender.send(f"cannot be tried: {type(error).__name__}: {' '.join(str(error).split())}")


def _digests(tasks: Sequence[str], hash_seed: str) -> dict[str, str]:
    """Of the entries that a fresh process makes: names are hashed anew in each."""
    found: dict[str, str] = json.loads(
        check_output(
            [sys.executable, "-W", "ignore", "-m", "envs.reasoning_gym.auditing", *tasks],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stderr=DEVNULL,
        )
    )
    return found


def digest(task: str) -> str:
    """Of a few entries; generators that fail have none."""
    try:
        made = [entries.dump(generators.make_entry(task, {}, seed)) for seed in range(12)]
    except Exception:  # its trial says why
        return ""
    return blake2b("\n".join(made).encode(), digest_size=8).hexdigest()


if __name__ == "__main__":
    real, sys.stdout = sys.stdout, sys.stderr
    found = {task: digest(task) for task in sys.argv[1:]}
    real.write(json.dumps(found))
