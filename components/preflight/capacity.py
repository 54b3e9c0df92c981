"""Whether every step fits the GPUs that a profile gives it, and what the run costs at most.

Memory comes from `memory.py`. Time is counted in floating-point operations: 2 per parameter and
token read or written, 6 where it is also trained (Kaplan et al., 2020), at an assumed share of
the GPU's peak. Answers are taken at their length limit and no episode ends early, so it is an
upper bound.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.config import ExperimentConfig
from components.members import training_shares
from components.preflight.findings import Finding, fail, ok, warn
from components.preflight.memory import (
    GIB,
    MAX_SEQUENCES,
    USABLE,
    Estimate,
    rollout_memory,
    update_memory,
)
from components.preflight.shapes import ModelShape
from components.schedule import spans

ROLLOUT_UTILISATION = 0.1
"""Of peak, in decoding: bound by memory, not by arithmetic."""
UPDATE_UTILISATION = 0.4
_ROOM = 'more GPUs, "bfloat16", or shorter max_prompt_tokens and max_new_tokens'
_STATES = (
    "more GPUs, update.zero_stage 3, update.gradient_checkpointing, a LoRA adapter, or fewer "
    "update.tokens_per_microbatch"
)


@dataclass(frozen=True)
class Gpus:
    """What one step gets."""

    count: int
    memory_gib: float
    """Of one."""
    peak_tflops: float | None = None
    """Dense bf16, of one; None: time is not estimated."""
    price_per_hour: float | None = None
    """Of one, in the profile's own currency."""


def check_use(
    config: ExperimentConfig, rollout: Gpus | None, update: Gpus | None, step: str = "rollout"
) -> Iterator[Finding]:
    """Whether the configuration uses the GPUs that the profile books; `step` plays with the
    first."""
    settings = config.rollout
    wanted = settings.tensor_parallel * settings.data_parallel
    if rollout is not None:
        field = "rollout.tensor_parallel x data_parallel"
        yield from use(step, field, wanted, rollout.count)
    if update is not None:
        field = "update.num_processes"
        yield from use("update", field, config.update.num_processes, update.count)


def use(subject: str, field: str, used: int, booked: int) -> Iterator[Finding]:
    """Nothing if all that is booked is used."""
    if used > booked:
        yield fail(subject, f"{field} is {used}, the profile books {booked} GPUs", f"lower {field}")
    elif used < booked:
        text = f"{field} is {used}, so {booked - used} of the profile's {booked} GPUs stay idle"
        yield warn(subject, text, f"raise {field} to {booked}, or book fewer")


def check_rollout(
    config: ExperimentConfig,
    shapes: Mapping[str, ModelShape],
    gpus: Gpus,
    subject: str = "rollout",
) -> Iterator[Finding]:
    """Weights of all distinct models, with a cache for one group at least, or for all at once."""
    models = list(_distinct(config, shapes).values())
    settings = config.rollout
    room = gpus.memory_gib * GIB * USABLE
    played = settings.num_tasks * settings.num_candidates
    wanted = min(MAX_SEQUENCES, -(-played // settings.data_parallel))
    least, full = (
        rollout_memory(models, settings, settings.tensor_parallel, sequences)
        for sequences in (settings.num_candidates, wanted)
    )
    yield _fits(subject, least, full, room, gpus, f"{wanted} sequences side by side", _ROOM)


def check_update(
    config: ExperimentConfig, shapes: Mapping[str, ModelShape], gpus: Gpus
) -> Iterator[Finding]:
    """One finding per trained policy."""
    for name in config.trainable:
        if name not in shapes:
            continue
        lora = config.policies[name].lora
        ranks = config.update.num_nodes * config.update.num_processes
        need = update_memory(shapes[name], lora, config.update, config.rollout, ranks)
        room = gpus.memory_gib * GIB * USABLE
        yield _fits(f"update {name}", need, need, room, gpus, "as configured", _STATES)


def check_cost(
    config: ExperimentConfig, shapes: Mapping[str, ModelShape], rollout: Gpus, update: Gpus
) -> Iterator[Finding]:
    """Tokens, GPU hours and, where the profile has a price, money: at most."""
    played = _tokens_by_policy(config)
    generated = sum(answers for _, answers in played.values())
    text = f"at most {generated / 1e6:.3g} M generated tokens an iteration"
    if rollout.peak_tflops is None or update.peak_tflops is None or set(played) - set(shapes):
        yield ok("cost", text)
        return
    hours = [
        _hours(config, shapes, played, 2, rollout.peak_tflops * ROLLOUT_UTILISATION),
        _hours(config, shapes, played, 6, update.peak_tflops * UPDATE_UTILISATION),
    ]
    whole = sum(hours) * config.iterations
    text += f", {sum(hours):.2g} GPU hours; {whole:.3g} GPU hours for {config.iterations} of them"
    if rollout.price_per_hour is not None and update.price_per_hour is not None:
        prices = (rollout.price_per_hour, update.price_per_hour)
        money = sum(spent * price for spent, price in zip(hours, prices, strict=True))
        text += f", {money * config.iterations:.0f} in the profile's currency"
    yield ok("cost", text)


def _distinct(config: ExperimentConfig, shapes: Mapping[str, ModelShape]) -> dict[str, ModelShape]:
    """Models that an engine must hold: adapters of one base share it."""
    found = {}
    for name, shape in shapes.items():
        policy = config.policies[name]
        found[f"base {policy.base}" if policy.lora else name] = shape
    return found


def _fits(
    subject: str, least: Estimate, full: Estimate, room: float, gpus: Gpus, what: str, fix: str
) -> Finding:
    there = f"{gpus.count} x {gpus.memory_gib:g} GiB, {USABLE:.0%} of it usable"
    if least.total > room:
        return fail(subject, f"needs {least.text()} of each GPU; there are {there}", fix)
    if full.total > room:
        text = f"{what} need {full.text()} of each GPU, so some will wait; there are {there}"
        return warn(subject, text, fix)
    return ok(subject, f"{full.text()} of each GPU, {what}; there are {there}")


def _tokens_by_policy(config: ExperimentConfig) -> dict[str, tuple[int, int]]:
    """policy -> (prompt tokens, answer tokens) of an iteration's training play."""
    settings = config.rollout
    parts = spans(training_shares(config), 0, settings.num_tasks)
    prompts = sum(
        len(part) * (config.environments[name].num_turns or settings.num_turns)
        for name, part in parts.items()
    )
    counts: dict[str, tuple[int, int]] = {}
    for policy in config.roles.values():
        read, written = counts.get(policy, (0, 0))
        read += prompts * settings.max_prompt_tokens
        written += prompts * settings.num_candidates * settings.max_new_tokens
        counts[policy] = (read, written)
    return counts


def _hours(
    config: ExperimentConfig, shapes: Mapping[str, ModelShape],
    played: Mapping[str, tuple[int, int]], operations: int, tflops: float,
) -> float:  # fmt: skip
    """GPU hours; policies that are not trained cost no update."""
    total = 0.0
    for policy, (read, written) in played.items():
        if operations == 2 or config.policies[policy].trainable:
            total += operations * shapes[policy].num_parameters * (read + written)
    return total / (tflops * 1e12) / 3600
