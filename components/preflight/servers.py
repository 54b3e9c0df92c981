"""Whether warm servers fit the GPUs that a profile gives each of them, and what they hold in all.

Servers keep their GPUs while updates and evaluations run, so these come on top.
"""

from collections.abc import Iterator, Mapping, Sequence

from components.config import ExperimentConfig
from components.preflight.capacity import Gpus, check_rollout, use
from components.preflight.findings import Finding, ok, warn
from components.preflight.shapes import ModelShape

SUBJECT = "servers"


def check_servers(
    config: ExperimentConfig,
    shapes: Mapping[str, ModelShape],
    groups: Sequence[Sequence[str]],
    server: Gpus | None,
    others: Mapping[str, int],
) -> Iterator[Finding]:
    """`groups`: the policies of each server; `others`: step -> GPUs of steps that play or train
    beside them. One line about all, and a line for each server that does not fit."""
    names = "; ".join(" + ".join(group) for group in groups)
    what = f"{len(groups)} warm server{'s' * (len(groups) > 1)} ({names})"
    if server is None:
        yield ok(SUBJECT, f"{what} on CPUs for the whole run")
        return
    held, step = len(groups) * server.count, max(others, key=lambda name: others[name])
    most = others[step]
    text = (
        f"{what} of {server.count} GPU{'s' * (server.count > 1)} hold {held} for the whole run"
        f"; with the {most} of the step {step} the cluster must have {held + most}"
    )
    if held + most > max(most, server.count):
        fix = (
            f"without rollout.server {max(most, server.count)} would do; give the step `server` "
            "of the profile fewer, or policies that share a base"
        )
        yield warn(SUBJECT, text, fix)
    else:
        yield ok(SUBJECT, text)
    field = "rollout.tensor_parallel"
    yield from use("server", field, config.rollout.tensor_parallel, server.count)
    if server.memory_gib:
        for group in groups:
            own = {name: shapes[name] for name in group if name in shapes}
            subject = f"server {' + '.join(group)}"
            yield from check_rollout(config, own, server, subject) if own else ()
