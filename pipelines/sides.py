"""The two teams of `compare`: what the command line names, and how their held-out play is had."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from components.comparison.compare import different_tasks
from components.comparison.outcomes import HeldOut, benchmark_names, check_benchmark
from components.comparison.stored import held_out_of, latest_played
from components.config import ExperimentConfig
from components.members import evaluation_shares
from components.numbering import is_number
from components.storage import Store
from pipelines.teams import find_team


@dataclass(frozen=True)
class Side:
    """One team."""

    name: str
    """As the user called it, with the iteration that was taken."""
    run: str
    iteration: int
    config: ExperimentConfig
    store: Store
    roles: Mapping[str, str]

    @property
    def shares(self) -> dict[str, float] | None:
        """Of its environments in numbers over all of them; None if there is one."""
        found = {name: float(share) for name, share in evaluation_shares(self.config).items()}
        return found if len(found) > 1 else None


def find_side(text: str, benchmark: str, store_uri: str | None, tracking_uri: str | None) -> Side:
    """`TEAM@alias`, `RUN:iteration`, or `RUN`, whose latest team with outcomes is taken."""
    found = find_team(text, store_uri, tracking_uri)
    iteration, name = found.iteration, text
    named = found.manifest is not None or _has_iteration(text)
    if not named:
        iteration = latest_played(found.store, found.config, found.run, benchmark)
        name = f"{text}:{iteration}"
    return Side(name, found.run, iteration, found.config, found.store, found.team.roles)


def stored_pair(
    first: Side, second: Side, benchmark: str
) -> tuple[tuple[HeldOut, HeldOut] | None, str]:
    """Both teams on the same tasks, as far as the store has it; else None and the reason.

    Of several, a pair that has rewards too.
    """
    ours, theirs = (
        held_out_of(side.store, side.config, side.run, side.iteration, benchmark)
        for side in (first, second)
    )
    for name, played in ((first.name, ours), (second.name, theirs)):
        if not played:
            return None, (f"{name}: no outcomes on {benchmark!r} are stored; `--evaluate` plays it")
    names = (first.name, second.name)
    every = [(a, b, different_tasks(a, b, names)) for a in ours for b in theirs]
    pairs = [(a, b) for a, b, problem in every if problem is None]
    if not pairs:
        return None, every[0][2] or ""
    return next((pair for pair in pairs if has_rewards(pair)), pairs[0]), ""


def is_playable(ruler: Side, benchmark: str, needed: bool) -> bool:
    """Whether the ruler's experiment has the benchmark; ConfigError if not and nothing is stored.

    A closing evaluation has more than can be played here: `validation/swapped`.
    """
    if needed:
        check_benchmark(ruler.config, benchmark)
    return benchmark in benchmark_names(ruler.config)


def has_rewards(pair: tuple[HeldOut, HeldOut] | None) -> bool:
    """Whether all that `compare` shows of two teams is there."""
    return pair is not None and all(team.has_rewards for team in pair)


def play_both(
    first: Side, second: Side, benchmark: str, terminal: TextIO
) -> tuple[HeldOut, HeldOut]:
    """Both teams under the first's experiment; what was played like this before is found again."""
    from components.comparison.held_out import play_held_out
    from components.progress import parse_progress
    from pipelines.display import Display
    from pipelines.runner import captured_output

    display = Display(terminal, 0)

    def line(text: str) -> None:
        progress = parse_progress(text)
        if progress:
            display.progressed(progress)
        elif text.startswith("engine: "):  # an error rises from here, and is told once
            display.notice(text)

    played = []
    for side in (first, second):
        display.begin(f"{side.name} on {benchmark}", 0)
        with captured_output(line):
            played.append(
                play_held_out(
                    first.config,
                    side.config.storage,
                    side.roles,
                    side.run,
                    side.iteration,
                    benchmark,
                )  # fmt: skip
            )
        display.end()
    display.say(f"played: {first.name}, {second.name} on {benchmark}")
    return played[0], played[1]


def _has_iteration(text: str) -> bool:
    name, _, number = text.rpartition(":")
    return bool(name) and is_number(number)
