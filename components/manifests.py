"""Committed steps: where they lie, what their manifests say, how their metrics are merged.

A step is committed if its manifest exists; the manifest is written after the outputs.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from components.config import ExperimentConfig
from components.errors import ConfigError, StorageError
from components.state import check_run
from components.storage import Store
from envs.base import JSON

SCHEMA_VERSION = 1
_NAME = re.compile(r"[a-z][a-z0-9_]*(-[A-Za-z0-9._-]+)?")


@dataclass(frozen=True)
class OutputRef:
    """One committed output."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class StepManifest:
    """A committed step. Its existence in the store is the commit."""

    run: str
    iteration: int
    step: str
    config_digest: str
    inputs: dict[str, str]
    """Name -> sha256 of the file."""
    extra: dict[str, Any]
    """Further parameters that decide the result."""
    outputs: dict[str, OutputRef]
    metrics: dict[str, float]
    finished_unix_s: float
    schema_version: int = SCHEMA_VERSION


def step_key(
    config: ExperimentConfig,
    run: str,
    iteration: int,
    name: str,
    digests: Mapping[str, str],
    extra: Mapping[str, JSON] | None = None,
) -> str:
    """Key of the manifest: `runs/<run>/steps/<000003>/<name>/<digest>/manifest.json`.

    `digests` are those of the input files, see `input_digests`.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"step name {name!r}: expected a name such as `update` or `update-tool`")
    decides = {
        "config": config.digest(), "run": run, "iteration": iteration, "step": name,
        "inputs": dict(digests), "extra": dict(extra or {}), "schema_version": SCHEMA_VERSION,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()
    return f"{_prefix(run, iteration)}{name}/{digest}/manifest.json"


def output_key(manifest_key: str, output: str) -> str:
    """Key of one output of the step whose manifest is at `manifest_key`."""
    return f"{manifest_key.removesuffix('manifest.json')}{output}"


def read_output(store: Store, manifest_key: str, output: str) -> bytes:
    """A committed output, verified. StorageError if the step or the output is not committed."""
    manifest = load_manifest(store, manifest_key)
    if output not in manifest.outputs:
        raise StorageError(
            f"{store.uri}/{manifest_key}: no output {output!r}; got {sorted(manifest.outputs)}"
        )
    data = store.read(output_key(manifest_key, output))
    verify_output(store, manifest_key, output, hashlib.sha256(data).hexdigest(), manifest)
    return data


def load_manifest(store: Store, key: str) -> StepManifest:
    """The manifest at `key`. StorageError if it is absent, damaged or of another schema version."""
    data = store.read(key)
    try:
        content = json.loads(data)
        version = content.get("schema_version")
        if version == SCHEMA_VERSION:
            refs = {name: OutputRef(**ref) for name, ref in content["outputs"].items()}
            return StepManifest(**{**content, "outputs": refs})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError(
            f"{store.uri}/{key}: no manifest of a step ({' '.join(str(error).split())}); "
            f"{_way_out('it')}"
        ) from error
    raise StorageError(f"{store.uri}/{key}: schema_version {version!r}, expected {SCHEMA_VERSION}")


def committed(
    store: Store, run: str, iteration: int, step: str | None = None
) -> list[tuple[str, StepManifest]]:
    """(key, manifest) of the iteration's committed steps, or of one step's repetitions, in order of
    completion; a step that is repeated, as in staged placement, has several."""
    prefix = _prefix(run, iteration) + (f"{step}/" if step else "")
    keys = [key for key in store.list(prefix) if key.endswith("/manifest.json")]
    found = [(key, load_manifest(store, key)) for key in keys]
    return sorted(found, key=lambda item: item[1].finished_unix_s)


def read_manifest(store: Store, run: str, iteration: int) -> dict[str, StepManifest]:
    """Step name -> its committed manifest, in order of completion.

    A step that was committed several times in the iteration (the phases of staged placement) has
    its last manifest, with the metrics of all of them, see `merged_metrics`.
    """
    found: dict[str, list[StepManifest]] = {}
    for _, manifest in committed(store, run, iteration):
        found.setdefault(manifest.step, []).append(manifest)
    return {
        name: replace(manifests[-1], metrics=merged_metrics(item.metrics for item in manifests))
        for name, manifests in found.items()
    }


def merged_metrics(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Metrics of one step from those of its phases, in their order.

    Seconds (`*_s`) and `num_tokens` are summed, `peak_memory_mib` is the largest, `tokens_per_s`
    is computed again from `num_tokens` and `generate_s`; of all others the last value stands.
    """
    merged: dict[str, float] = {}
    for name, value in ((name, value) for part in parts for name, value in part.items()):
        word = name.rpartition("/")[2]
        if word == "num_tokens" or (word.endswith("_s") and not word.endswith("_per_s")):
            merged[name] = merged.get(name, 0.0) + value
        elif word == "peak_memory_mib":
            merged[name] = max(merged.get(name, value), value)
        else:
            merged[name] = value
    for name in merged:
        prefix, _, word = name.rpartition("/")
        tokens, seconds = merged.get(f"{prefix}/num_tokens"), merged.get(f"{prefix}/generate_s")
        if word == "tokens_per_s" and tokens and seconds:
            merged[name] = tokens / seconds
    return merged


def verify_output(store: Store, key: str, name: str, found: str, manifest: StepManifest) -> None:
    expected = manifest.outputs[name].sha256
    if found != expected:
        raise StorageError(
            f"{store.uri}/{output_key(key, name)}: sha256 expected {expected}, got {found}; "
            f"{_way_out(f'{store.uri}/{key}')}"
        )


def _way_out(what: str) -> str:
    return (
        f"delete {what} to compute the step again, if its iteration is not done yet; else put it "
        "back from a backup: nothing is trained by it any more, but reports and replays read it"
    )


def _prefix(run: str, iteration: int) -> str:
    return f"runs/{check_run(run)}/steps/{iteration:06d}/"
