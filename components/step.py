"""What all steps share: look for a committed result, else compute, check, upload, commit.

A step's outputs lie under the digest of all that decides them; the manifest is written last, so
a step that was killed has no result and a step that ended is never computed again.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from numbers import Real
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from components.config import ExperimentConfig, parse_config
from components.errors import RecordError, RolewiseError, StorageError
from components.manifests import (
    OutputRef,
    StepManifest,
    load_manifest,
    merged_metrics,
    output_key,
    read_manifest,
    read_output,
    step_key,
    verify_output,
)
from components.meter import Meter
from components.process import make_exit_fast, peak_memory_mib, start_s
from components.storage import Store, open_store
from components.storage.disk import fullest, is_full, written_path
from components.storage.folders import file_digest
from components.storage.timed import TimedStore
from components.storage.traffic import print_progress
from envs.base import JSON

__all__ = [
    "StepContext", "StepManifest", "announcing_errors", "input_digests", "load_manifest",
    "merged_metrics", "output_key", "read_manifest", "read_output", "run_step", "step_key",
]  # fmt: skip


@dataclass(frozen=True)
class StepContext:
    """What a step may use besides its inputs and outputs."""

    config: ExperimentConfig
    run: str
    iteration: int
    store: Store
    name: str
    """The step's name, with a suffix if it runs several times: `update-tool`."""
    cache: Path
    """Local folder of downloaded policies."""
    meter: Meter
    """Books kinds of work: `system/<name>/<kind>_s` and `<kind>_cpu_s`."""


def run_step(
    name: str,
    config: str,
    run: str,
    iteration: int,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    compute: Callable[[StepContext], Mapping[str, float]],
    *,
    extra: Mapping[str, JSON] | None = None,
    memo: bool = True,
) -> dict[str, float]:
    """Run one step once: fill `outputs` (name -> local path) and return its metrics.

    `config` is the resolved configuration as JSON, `inputs` name -> path of a file. `extra` holds
    parameters beyond these and enters the digest. `memo=False` computes even if a result exists.
    `system/<name>/...` is added to the metrics, see `_system`. Any exception prints one line that
    begins with `error:` and rises.
    """
    start, meter = start_s(), Meter()
    with announcing_errors(name, run, iteration, outputs.values()):
        parsed = parse_config(config)
        with meter.measure("storage"):
            store = TimedStore(open_store(parsed.storage, print_progress), meter)
        digests = input_digests(inputs)
        key = step_key(parsed, run, iteration, name, digests, extra)
        if memo and store.exists(key):
            return _recall(store, key, outputs)
        cache = Path(parsed.storage.cache)
        context = StepContext(parsed, run, iteration, store, name, cache, meter)
        metrics = _computed(context, outputs, compute)
        refs = _upload(context, key, outputs)
        metrics |= _system(context, start)
        manifest = StepManifest(
            run, iteration, name, parsed.digest(), digests, dict(extra or {}), refs, metrics,
            time.time(),
        )  # fmt: skip
        store.write(key, json.dumps(asdict(manifest), indent=1, sort_keys=True).encode())
        make_exit_fast()
        return metrics


@contextmanager
def announcing_errors(
    name: str, run: str, iteration: int, outputs: Iterable[str] = ()
) -> Iterator[None]:
    """Print one line for any exception, then let it rise; a full disk rises as StorageError.

    Where the system does not say which file found the disk full, the fullest of the folders of
    `outputs` and of temporary files is named.
    """
    where = f"{name} (run {run}, iteration {iteration})"
    try:
        yield
    except Exception as error:  # the boundary of a step: reported here, handled by the driver
        text = " ".join(str(error).split())
        if not isinstance(error, (RolewiseError, ValueError)) or not text:
            text = f"{type(error).__name__}: {text}"
        full = is_full(error) and not isinstance(error, StorageError)
        if full:
            path = written_path(error) or fullest([*map(os.path.dirname, outputs), gettempdir()])
            text = f"{path}: the disk is full; free space or use a larger disk"
        print(f"error: {where}: {text}", file=sys.stderr, flush=True)
        if full:
            raise StorageError(text) from error
        raise


def input_digests(inputs: Mapping[str, str]) -> dict[str, str]:
    """Name -> sha256 of every input file. RecordError names the one that cannot be read."""
    digests = {}
    for name, path in inputs.items():
        try:
            digests[name] = file_digest(path)
        except OSError as error:
            raise RecordError(
                f"input {name!r} at {path}: cannot be read: {error.strerror}"
            ) from error
    return digests


def _recall(store: Store, key: str, outputs: Mapping[str, str]) -> dict[str, float]:
    """Fetch a committed step's outputs."""
    manifest = load_manifest(store, key)
    if set(manifest.outputs) != set(outputs):
        raise StorageError(
            f"{store.uri}/{key}: outputs {sorted(manifest.outputs)}, expected {sorted(outputs)}"
        )
    for name, path in outputs.items():
        store.download_file(output_key(key, name), path)
        verify_output(store, key, name, file_digest(path), manifest)
    return manifest.metrics


def _computed(
    context: StepContext,
    outputs: Mapping[str, str],
    compute: Callable[[StepContext], Mapping[str, float]],
) -> dict[str, float]:
    for path in outputs.values():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    return _finite(context.name, compute(context))


def _upload(context: StepContext, key: str, outputs: Mapping[str, str]) -> dict[str, OutputRef]:
    """Check that all outputs are there, then upload them."""
    refs = {item: _output_ref(context.name, item, path) for item, path in outputs.items()}
    for item, path in outputs.items():
        context.store.upload_file(path, output_key(key, item))
    return refs


def _system(context: StepContext, start: Mapping[str, float]) -> dict[str, float]:
    """Under `system/<name>/`, children included and without the manifest's own upload:

    `wall_s`, `cpu_s`; parts of them, `<kind>_s` and `<kind>_cpu_s`: `storage`, `load` (model
    libraries and engines), `tracking`; `start_s`, `start_cpu_s` before them, if the process is
    the step's own; `peak_memory_mib`.
    """
    meter = context.meter
    parts = {**meter.totals(), **meter.kinds(), **start, "peak_memory_mib": peak_memory_mib()}
    return {f"system/{context.name}/{name}": value for name, value in parts.items()}


def _finite(step: str, metrics: Mapping[str, Any]) -> dict[str, float]:
    for name, value in metrics.items():
        if not isinstance(value, Real) or not isfinite(value):
            raise RecordError(
                f"step {step}: metric {name!r} is {value!r}, expected a finite number"
            )
    return {name: float(value) for name, value in metrics.items()}


def _output_ref(step: str, name: str, path: str) -> OutputRef:
    if not Path(path).is_file():
        raise RecordError(f"step {step}: output {name!r} was not written to {path}")
    return OutputRef(Path(path).stat().st_size, file_digest(path))
