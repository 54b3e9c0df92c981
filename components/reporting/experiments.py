"""Runs that differ in their seed alone are one experiment; settings tell experiments apart."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from components.config import ExperimentConfig
from components.reporting.summary import RunSummary

IGNORED = ("seed", "iterations", "storage", "tracking", "promotion")
"""What may differ between the runs of one experiment."""
SAID = 2
"""Settings that a label names, the most telling first."""
OPTION, MEASURED = "env.options.", "evaluation."
_TELLING = (
    "roles.", "policies.", "grouping.key", "rollout.sampling", "rollout.num_c", "rollout.num_turns",
    "rollout.beam", "rollout.pick", "grouping.", "rollout.", "update.", "envs.", "env.",
    "warm_start",
)  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """Runs of one configuration, by seed."""

    label: str
    """Short, and different from the other experiments'."""
    runs: Sequence[RunSummary]

    @property
    def config(self) -> ExperimentConfig:
        """Of the first run; the others have other seeds."""
        return self.runs[0].config

    @property
    def confidence(self) -> float:
        """Of every interval."""
        return self.config.evaluation.confidence


def experiments(runs: Sequence[RunSummary]) -> list[Experiment]:
    """The runs grouped, in order of first appearance."""
    groups: dict[str, list[RunSummary]] = {}
    for run in runs:
        groups.setdefault(_key(run.config), []).append(run)
    firsts = [found[0].config for found in groups.values()]
    names = [run.run for run in runs] if _named(groups.values()) else labels(firsts)
    return [
        Experiment(label, sorted(found, key=lambda run: run.config.seed))
        for label, found in zip(names, groups.values(), strict=True)
    ]


def _named(groups: Collection[Sequence[RunSummary]]) -> bool:
    """Whether the experiments are single runs, with names that people gave them."""
    return len(groups) > 1 and all(
        len(found) == 1 and not found[0].run.endswith(found[0].config.digest()[:8])
        for found in groups
    )


def labels(configs: Sequence[ExperimentConfig]) -> list[str]:
    """A name for each: the experiment's, and where others share it, the settings that differ.

    Of three and more only those are said in which an experiment is unlike most of them. A name
    that all share tells nothing.
    """
    names = {config.name for config in configs}
    flat = [settings(config) for config in configs]
    found = []
    for config, own in zip(configs, flat, strict=True):
        same = [
            other for other, peer in zip(flat, configs, strict=True) if peer.name == config.name
        ]
        differing = _unusual(own, same)
        said = ", ".join(f"{_short(key)} {_plain(own, key)}" for key in _enough(own, same))
        more = " ..." if len(differing) > SAID else ""
        name = f"{config.name}, " if len(names) > 1 else ""
        found.append(f"{name}{said}{more}" if said else config.name)
    return [
        f"{label} ({number + 1})" if found.count(label) > 1 else label
        for number, label in enumerate(found)
    ]


def differences(configs: Sequence[ExperimentConfig]) -> dict[str, list[str]]:
    """Dotted setting -> its value in each, of all settings that are not the same in all."""
    flat = [settings(config) for config in configs]
    keys = dict.fromkeys(key for own in flat for key in own)
    table = {key: [own.get(key, "-") for own in flat] for key in keys}
    return {key: values for key, values in table.items() if len(set(values)) > 1}


def settings(config: ExperimentConfig) -> dict[str, str]:
    """Dotted setting -> value as text, of all that decides an experiment."""
    content = config.model_dump(mode="json", exclude=set(IGNORED))
    return {key: _seedless(value, config.seed) for key, value in _flatten("", content)}


def _differing(own: Mapping[str, str], same: Sequence[Mapping[str, str]]) -> list[str]:
    """Settings that tell an experiment from others of its name, the most telling first.

    An environment's option may be left out in one and given in the other. How results are measured
    is said only where nothing else differs.
    """
    options = dict.fromkeys(key for other in same for key in other if key.startswith(OPTION))
    keys = [key for key in {**own, **options} if key != OPTION.rstrip(".")]  # no option at all: {}
    differing = [key for key in keys if any(other.get(key) != own.get(key) for other in same)]
    trained = [key for key in differing if not key.startswith(MEASURED)]
    return sorted(trained or differing, key=_telling)


def _unusual(own: Mapping[str, str], same: Sequence[Mapping[str, str]]) -> list[str]:
    """Of the differing settings those that more than half of the experiments have otherwise."""
    found = []
    for key in _differing(own, same):
        common, times = Counter(other.get(key) for other in same).most_common(1)[0]
        if own.get(key) != common or 2 * times <= len(same):
            found.append(key)
    return found


def _enough(own: Mapping[str, str], same: Sequence[Mapping[str, str]]) -> list[str]:
    """At most SAID settings, the most telling first, that no other experiment has together."""
    unusual = _unusual(own, same)

    def alone(keys: Sequence[str]) -> bool:
        return sum(all(other.get(key) == own.get(key) for key in keys) for other in same) == 1

    sizes = range(min(SAID, len(unusual)) + 1)
    picks = (keys for size in sizes for keys in combinations(unusual, size) if alone(keys))
    first = list(next(picks, ()))
    others = [key for key in unusual if key not in first][: SAID - len(first)]
    return [key for key in unusual if key in {*first, *others}]


def _plain(own: Mapping[str, str], key: str) -> str:
    """A setting's value as people write it: `task+turn` for a list."""
    text = own.get(key, "default")
    with suppress(ValueError):
        value = json.loads(text)
        if isinstance(value, list):
            return "+".join(str(part) for part in value) or "none"
    return text


def _seedless(value: str, seed: int) -> str:
    """A base `run://<name>-s<seed>:<iteration>/<policy>` without what follows from the run's seed.

    So a study names its arms: runs that start from each their own seed's are one experiment.
    """
    return re.sub(rf"^(run://[^/:]+)-s{seed}:\d+/", r"\1/", value)


def _key(config: ExperimentConfig) -> str:
    return json.dumps(settings(config), sort_keys=True)


def _flatten(prefix: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        return [
            pair
            for key, inner in value.items()
            for pair in _flatten(f"{prefix}.{key}" if prefix else str(key), inner)
        ]
    return [(prefix, value if isinstance(value, str) else json.dumps(value))]


def _telling(key: str) -> int:
    """The place of a setting in a label; how results are measured comes last."""
    fits = [place for place, start in enumerate(_TELLING) if key.startswith(start)]
    return fits[0] if fits and key != "rollout.engine" else len(_TELLING)


def _short(key: str) -> str:
    """`rollout.num_candidates` -> `num_candidates`; where that says too little, the whole key."""
    whole = ("roles.", "policies.", "warm_start.", "envs.", MEASURED)
    return key if key.startswith(whole) else key.rpartition(".")[2]
