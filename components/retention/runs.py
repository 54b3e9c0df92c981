"""What a run refers to, and what of it the retention rules keep.

Kept are what the run began with, all bases, the last two teams, every n-th, the best on
validation, the last n optimiser states, and all that steps have made for an iteration that is not
committed yet.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.manifests import load_manifest, output_key
from components.retention.uses import Use, named_in, optimizer_use, policy_uses
from components.state import TrainingState, read_state
from components.storage import Store
from components.storage.parallel import in_parallel

NUM_TEAMS = 2
"""The latest team, and the one that its evaluation is compared with."""
SMALL_BYTES = 2**20
"""Larger outputs are records, which name no folders."""
_SUCCESS = "evaluation/validation/success"
_EVALUATING = {"rollout": -1, "evaluate_team": -1, "evaluate": 0}
"""Step -> which iteration's team it evaluates, from its own."""
_CONCURRENCY = 8
_STATE = re.compile(r"runs/[^/]+/state/(\d+)\.json")
_STEP = re.compile(r"runs/[^/]+/steps/(\d+)/([^/]+)/[^/]+/manifest\.json")


@dataclass(frozen=True)
class Rules:
    """How much of a run is kept."""

    keep_optimizers: int
    keep_policies_every: int


KEEP_ALL = Rules(keep_optimizers=2**31, keep_policies_every=1)
"""Of runs that nobody asked about."""


def run_names(keys: Sequence[str]) -> list[str]:
    """Every run that has an object, begun properly or not."""
    return sorted({key.split("/")[1] for key in keys if key.startswith("runs/")})


def run_uses(store: Store, keys: Sequence[str], run: str, rules: Rules) -> list[Use]:
    """All references of a run. `keys`: of the store. Errors rise if anything cannot be read:
    what it refers to would be unknown."""
    own = [key for key in keys if key.startswith(f"runs/{run}/")]
    numbers = sorted(int(found[1]) for key in own if (found := _STATE.fullmatch(key)))
    states = in_parallel(lambda number: read_state(store, run, number), numbers, _CONCURRENCY)
    steps = [(key, int(found[1]), found[2]) for key in own if (found := _STEP.fullmatch(key))]
    best = best_iteration(store, steps) if len(states) > NUM_TEAMS else None
    uses = [use for state in states for use in state_uses(state, numbers[-1], best, rules)]
    after = numbers[-1] if numbers else -1
    open_steps = [key for key, iteration, _ in steps if iteration > after]
    for named in in_parallel(lambda key: _outputs(store, key, run), open_steps, _CONCURRENCY):
        uses += named
    return uses + _configured(store, own, run)


def state_uses(
    state: TrainingState, latest: int, best: int | None, rules: Rules
) -> list[Use]:  # fmt: skip
    """The references of one training state."""
    reason = team_reason(state.iteration, latest, best, rules.keep_policies_every)
    uses = [use for ref in state.policies.values() for use in policy_uses(ref, reason, state.run)]
    for ref in state.initial.values():
        uses += policy_uses(ref, "initial policies", state.run)
    recent = latest - state.iteration < rules.keep_optimizers
    number = "all" if rules == KEEP_ALL else f"last {rules.keep_optimizers}"
    reason = f"{number} optimiser states" if recent else None
    for name, folder in state.optimizers.items():
        uses += optimizer_use(name, state.iteration, folder.uri, reason, state.run)
    return uses


def team_reason(iteration: int, latest: int, best: int | None, every: int) -> str | None:
    """Why the policies of an iteration are kept; None if they are not."""
    if latest - iteration < NUM_TEAMS:
        return f"last {NUM_TEAMS} teams"
    if iteration == best:
        return "best on validation"
    if iteration % every == 0:
        return f"every {every} iterations" if iteration else "initial policies"
    return None


def best_iteration(store: Store, steps: Sequence[tuple[str, int, str]]) -> int | None:
    """The iteration whose team had the highest success on validation, of equal ones the last."""
    asked = [item for item in steps if item[2] in _EVALUATING]
    found = in_parallel(
        lambda item: load_manifest(store, item[0]).metrics.get(_SUCCESS), asked, _CONCURRENCY
    )
    scored = [
        (success, iteration + _EVALUATING[step])
        for (_, iteration, step), success in zip(asked, found, strict=True)
        if success is not None
    ]
    return max(scored)[1] if scored else None


def _outputs(store: Store, key: str, run: str) -> list[Use]:
    """What the outputs of a step name."""
    manifest, uses = load_manifest(store, key), list[Use]()
    what = f"step {manifest.step} of run {run}, iteration {manifest.iteration}"
    for name, output in manifest.outputs.items():
        if output.bytes <= SMALL_BYTES:
            value = _json(store.read(output_key(key, name)))
            uses += named_in(value, what, "steps not committed yet", run)
    return uses


def _configured(store: Store, own: Sequence[str], run: str) -> list[Use]:
    key = f"runs/{run}/config.json"
    policies: Any = (read_object(store, key) if key in own else {}).get("policies", {})
    return named_in(policies, f"configuration of run {run}", "bases", run)


def read_object(store: Store, key: str) -> Mapping[str, Any]:
    """The JSON object at a key; empty if it is none."""
    value = _json(store.read(key))
    return value if isinstance(value, dict) else {}


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:  # a table, a page
        return None
