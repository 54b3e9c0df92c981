"""What a study compares: arms over one base configuration, seeds, and the sampling budget.

An arm's changes go over the base section by section; `policies` and `roles` are replaced whole.
`run://@arm/policy` in them is the policy that another arm of the same seed ended with, so arms can
start from the same weights, and teams can be put together from roles that were trained apart.
`like: ../other/study.yaml` takes over all keys of another study that are not given.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError, model_validator

from components.config import OPEN_ENDED, ExperimentConfig, parse_config, sentence
from components.errors import ConfigError
from components.settings import (
    EvaluationConfig,
    NonNegative,
    Positive,
    Section,
    Seed,
    StorageConfig,
)

ArmName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
_WHOLE = ("policies", "roles")
_REFERENCE = re.compile(r"run://@([a-z0-9_]+)/")
_PARTS = re.compile(r"[^/]+|validation/(swapped|reference)")
_RESERVED = ("seed", "name", "iterations", "storage", "tracking", "promotion")


class Arm(Section):
    """One way to train, or to leave untrained."""

    title: str
    """In tables and curves."""
    set: dict[str, Any] = {}
    """Sections over the base configuration."""
    candidates: NonNegative | None = None
    """Generated in training; None: the study's. 0: the team is evaluated as it starts."""
    shown: bool = True
    """False: only a start for others."""


class Claim(Section):
    """Something that the study looks into: one arm against another on the same measure."""

    text: str
    first: str
    """Arm that the claim says is better."""
    second: str
    measure: str = "validation"
    """A benchmark of the final evaluation; `<benchmark>` of both arms, or `first` and `second` as
    `arm/benchmark`."""
    paper: str = ""
    """The paper's figures."""
    margin: float = 0.0
    """The difference must exceed it."""


class Short(Section):
    """The same study in minutes."""

    candidates: Positive
    """Instead of the study's; arms with a budget of their own keep their share of it."""
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    set: dict[str, Any] = {}


class Plan(Section):
    """A study's file."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    title: str
    config: str = "config.yaml"
    """The base configuration, beside the study's file."""
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0, 1, 2]
    candidates: Positive
    """Sampling budget of each arm and seed: an arm trains until it has generated so many."""
    arms: Annotated[dict[ArmName, Arm], Field(min_length=1)]
    claims: list[Claim] = []
    short: Short | None = None

    @model_validator(mode="after")
    def _seeds_differ(self) -> "Plan":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds {self.seeds} name one twice")
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> "Plan":
        for name, arm in self.arms.items():
            for other in references(arm.set):
                if other not in self.arms or other == name:
                    raise ValueError(
                        f"arms.{name} starts from @{other}; expected another of {list(self.arms)}"
                    )
            taken = sorted(set(arm.set) & set(_RESERVED))
            if taken:
                raise ValueError(f"arms.{name}.set has {taken}, which the study sets itself")
        for claim in self.claims:
            for end in (claim.first, claim.second):
                if end.partition("/")[0] not in self.arms:
                    raise ValueError(
                        f"claim {claim.text!r} names arm {end!r}; expected one of {list(self.arms)}"
                    )
        for name in self.arms:
            self._check_starts(name, ())
        return self

    def _check_starts(self, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"arms start from each other: {' <- '.join((*path, name))}")
        for other in references(self.arms[name].set):
            self._check_starts(other, (*path, name))


@dataclass(frozen=True)
class Study:
    """A plan with its base configuration."""

    plan: Plan
    base: Mapping[str, Any]

    @property
    def storage(self) -> StorageConfig:
        """Where the study's runs are."""
        return StorageConfig.model_validate(self.base.get("storage", {}))

    @property
    def confidence(self) -> float:
        """Of every interval."""
        return EvaluationConfig.model_validate(self.base.get("evaluation", {})).confidence

    def run_name(self, arm: str, seed: int) -> str:
        """Name of the training run of one arm and seed."""
        return f"{self.plan.name}-{arm}-s{seed}"

    def budget(self, arm: str) -> int:
        """Candidates to generate."""
        own = self.plan.arms[arm].candidates
        return self.plan.candidates if own is None else own

    def config(self, arm: str, seed: int, last: Mapping[str, int]) -> ExperimentConfig:
        """The configuration of one arm and seed; `last`: arm -> last iteration of its run."""
        content = merged(self.base, self.plan.arms[arm].set)
        content |= {"name": self.plan.name, "seed": seed, "iterations": OPEN_ENDED}
        content["promotion"] = {**content.get("promotion", {}), "team": self.run_name(arm, seed)}
        return parse_config(self._resolved(content, seed, last))

    def digest(self, arm: str, seed: int) -> str:
        """sha256 of all that decides an arm's result, budget included: arms it starts from, too."""
        content = self.plan.arms[arm].set
        own = self.config(arm, seed, dict.fromkeys(self.plan.arms, 0)).digest()
        parts = [own, str(self.budget(arm)), *(self.digest(a, seed) for a in references(content))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _resolved(self, value: Any, seed: int, last: Mapping[str, int]) -> Any:
        if isinstance(value, Mapping):
            return {key: self._resolved(item, seed, last) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        return _REFERENCE.sub(
            lambda found: f"run://{self.run_name(found[1], seed)}:{last[found[1]]}/", value
        )


def load_study(path: str | Path, short: bool = False) -> Study:
    """Read a study and try every arm's configuration. ConfigError: a line per fault."""
    content = _content(path)
    _check_kind(content, path)
    try:
        plan = Plan.model_validate(content)
    except ValidationError as error:
        faults = (f"{path}: {sentence(fault)}" for fault in error.errors())
        raise ConfigError("\n".join(faults)) from error
    base = _read(Path(path).parent / plan.config)
    study = _shortened(Study(plan, base), path) if short else Study(plan, base)
    for arm in study.plan.arms:
        try:
            study.config(arm, study.plan.seeds[0], dict.fromkeys(study.plan.arms, 0))
        except ConfigError as error:
            raise ConfigError(f"{path}: arms.{arm}: {error}") from error
    _check_measures(study, path)
    return study


def _check_kind(content: Mapping[str, Any], path: str | Path) -> None:
    """One line for a file of another kind, whose every key would be a fault."""
    if "arms" in content or "candidates" in content:
        return
    known = {name: field.is_required() for name, field in Plan.model_fields.items()}
    needed, more = ([name for name in known if known[name] == must] for must in (True, False))
    run = "; `run` trains an experiment's configuration" if "policies" in content else ""
    raise ConfigError(
        f"{path}: is no study, it has neither arms nor candidates; expected {', '.join(needed)} "
        f"and, if need be, {', '.join([*more, 'like'])}, as in experiments/*/study.yaml{run}"
    )


def _check_measures(study: Study, path: str | Path) -> None:
    """A name that no evaluation has would be noticed after hours only."""
    played = EvaluationConfig.model_validate(study.base.get("evaluation", {})).benchmarks
    known = ["start", "training", "validation", "test", *played]
    for claim in study.plan.claims:
        for end in (claim.first, claim.second):
            measure = end.partition("/")[2] or claim.measure
            if measure.partition("/")[0] not in known or not _PARTS.fullmatch(measure):
                raise ConfigError(
                    f"{path}: claim {claim.text!r} asks for {measure!r}; expected one of {known}, "
                    "or validation/swapped"
                )


def _content(path: str | Path, taken: tuple[Path, ...] = ()) -> dict[str, Any]:
    """A study's keys, over those of the study that it is `like`; arms that are null go. `taken`:
    the files that led here."""
    content = _read(path)
    like = content.pop("like", None)
    if like is None:
        return content
    other = Path(path).parent / str(like)
    if other.resolve() in (chain := (*taken, Path(path).resolve())):
        raise ConfigError(f"{path}: like: {like} leads back to it; expected another study's file")
    whole = merged(_content(other, chain), content)
    whole["arms"] = {name: arm for name, arm in whole["arms"].items() if arm is not None}
    return whole


def _shortened(study: Study, path: str | Path) -> Study:
    plan = study.plan
    if plan.short is None:
        raise ConfigError(f"{path}: has no `short` form: give it candidates and seeds")
    share = plan.short.candidates / plan.candidates
    arms = {
        name: arm.model_copy(update={"candidates": round(share * arm.candidates)})
        if arm.candidates is not None else arm
        for name, arm in plan.arms.items()
    }  # fmt: skip
    changed = {
        "name": f"{plan.name}_short", "candidates": plan.short.candidates,
        "seeds": plan.short.seeds, "arms": arms,
    }  # fmt: skip
    return Study(plan.model_copy(update=changed), merged(study.base, plan.short.set))


def merged(base: Mapping[str, Any], changes: Mapping[str, Any], top: bool = True) -> dict[str, Any]:
    """`changes` over `base`, key by key; None removes a key of the base at the top."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        if top and value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(old, Mapping) and key not in _WHOLE:
            result[key] = merged(old, value, top=False)
        else:
            result[key] = value
    return result


def references(value: Any) -> Iterator[str]:
    """Arms whose results the changes of an arm need."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, str):
        yield from _REFERENCE.findall(value)


def _read(path: str | Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not text: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: holds {type(content).__name__}, expected keys and values")
    return content
