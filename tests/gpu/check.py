"""Does a GPU train what a CPU trains, and how fast? One script, no network, no test runner.

    python -m tests.gpu.check                          # a CUDA GPU, Qwen3-1.7B's shape, bfloat16
    python -m tests.gpu.check --device cpu --tiny      # the same steps on a laptop, in a minute

1. Two layers of that shape: one update on the device in bfloat16 against one on the CPU in float32.
2. The whole model: answers by the transformers engine, their log-probs against the CPU's.
3. The whole model: a full update and a LoRA update by DeepSpeed; tokens/s, MFU, peak memory.

Prints a line per figure and exits with 1 if the device disagrees with the CPU.
"""

import argparse
import gc
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from components.settings import LoraConfig, UpdateConfig
from components.update.job import Job
from tests.gpu.model import QWEN3_1P7B, TINY, write_model
from tests.gpu.work import Load, logprobs, play, reference, write_job

LEAST_COSINE = 0.99
"""Of the two updates of the weights."""
NORM_TOLERANCE = 0.05
"""Relative, of the gradients' norms."""
MOST_LOGPROB_GAP = 0.1
"""Mean |log-prob|; a random model's tokens have about -12."""
COMPARED = 2
"""Sequences whose log-probs the CPU computes with the whole model."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a small shape and few tokens")
    parser.add_argument("--peak-tflops", type=float, default=989.0, metavar="X",
                        help="dense bfloat16 of the GPU; default: H100 and H200")  # fmt: skip
    parser.add_argument("--folder", metavar="DIR", help="for models, 30 GB; default: /tmp")
    options = parser.parse_args(arguments)
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        print("error: no CUDA GPU here; --device cpu --tiny runs the same steps on a CPU")
        return 2
    began = time.perf_counter()
    with TemporaryDirectory(prefix="rolewise-gpu-", dir=options.folder) as folder:
        faults = Check(options, Path(folder)).run()
    say("seconds", f"{time.perf_counter() - began:.0f}")
    print("\n".join([f"FAILED: {fault}" for fault in faults] or ["all checks passed"]))
    return 1 if faults else 0


def say(name: str, value: str) -> None:
    print(f"{name:<34} {value}", flush=True)


class Check:
    """The options, a folder, and what disagreed so far."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.device, self.peak, self.folder = options.device, options.peak_tflops, folder
        self.shape = TINY if options.tiny else QWEN3_1P7B
        self.load = Load(4, 4, 32, 16) if options.tiny else Load(16, 8, 512, 128)
        self.faults: list[str] = []

    def run(self) -> list[str]:
        self._machine()
        with self._timed("equality of updates"):
            self._equal_updates()
        model = self.folder / "model"
        with self._timed("model written"):
            write_model(model, self.shape, "bfloat16", self.device)
        with self._timed("rollout"):
            rows = self._rollout(model)
        for kind in ("full", "lora"):
            with self._timed(f"update, {kind}"):
                self._update(kind, model, rows)
        return self.faults

    def _machine(self) -> None:
        import deepspeed
        import torch
        import transformers

        name = torch.cuda.get_device_name() if self.device == "cuda" else f"{os.cpu_count()} CPUs"
        versions = (torch.__version__, transformers.__version__, deepspeed.__version__)
        say("device", name)
        say("torch, transformers, deepspeed", ", ".join(versions))
        say("parameters", f"{self.shape.num_parameters / 1e6:.1f} M")

    def _equal_updates(self) -> None:
        """One step with so large an epsilon that Adam's is linear in the gradient."""
        shape = self.shape.cut()
        base = write_model(self.folder / "cut", shape, "float32", "cpu")
        rate = 0.01 * shape.num_parameters**0.5
        settings = {"learning_rate": rate, "adam_eps": 1.0, "weight_decay": 0.0,
                    "minibatch_size": 10_000, "max_logprob_mismatch": 1.0}  # fmt: skip
        ref = reference(base)
        rows = play(ref, shape, Load(4, 4, 32, 16), "float32").rows
        device = UpdateConfig(**settings, dtype="bfloat16", zero_stage=2)
        there = write_job(rows, ref, self.folder / "device", device, exact=False)
        here = write_job(rows, ref, self.folder / "cpu", UpdateConfig(**settings), exact=True)
        run(there)
        run_on_cpu(here)
        cosine = update_cosine(base, there.policy_out, here.policy_out)
        norms = [job.metrics()["grad_norm"] for job in (there, here)]
        say("update, cosine with the CPU's", f"{cosine:.5f}")
        say("gradient norm, device and CPU", f"{norms[0]:.5g} {norms[1]:.5g}")
        self._expect(cosine >= LEAST_COSINE, f"cosine of the updates {cosine}")
        gap = abs(norms[0] - norms[1]) / norms[1]
        self._expect(gap <= NORM_TOLERANCE, f"gradient norms {norms}")
        self._mismatch("two layers", there.metrics()["logprob_mismatch"])

    def _rollout(self, model: Path) -> list[Any]:
        play(reference(model), self.shape, Load(1, 2, 16, 4), "bfloat16")  # kernels are loaded
        with self._peak("rollout"):
            played = play(reference(model), self.shape, self.load, "bfloat16")
        say("rollout, generated tokens/s", f"{played.num_tokens / played.seconds:.0f}")
        some = played.rows[:COMPARED]
        expected = logprobs(model, some, "float32", "cpu")
        gaps = [
            abs(float(a) - float(b))
            for row, values in zip(some, expected, strict=True)
            for a, b in zip(row.scored.candidate.logprobs, values, strict=True)
        ]
        self._mismatch("whole model", sum(gaps) / len(gaps))
        return played.rows

    def _update(self, kind: str, model: Path, rows: Sequence[Any]) -> None:
        base, ref, adapter = reference(model), reference(model), 0
        if kind == "lora":
            from components.update.initialise.adapters import write_fresh_adapter

            write_fresh_adapter(self.folder / "adapter", model, LoraConfig(), 0)
            adapter = (self.folder / "adapter" / "adapter_model.safetensors").stat().st_size // 4
            ref = reference(self.folder / "adapter", base)
        settings = UpdateConfig(
            learning_rate=1e-5, dtype="bfloat16", zero_stage=2, gradient_checkpointing=True,
            minibatch_size=self.load.num_samples // 2, max_logprob_mismatch=1.0,
        )  # fmt: skip
        job = write_job(retagged(rows, ref.tag), ref, self.folder / kind, settings, exact=False)
        with self._peak(f"update, {kind}"):
            run(job)
        self._report(kind, job, adapter)
        shutil.rmtree(job.out)

    def _report(self, kind: str, job: Job, adapter: int) -> None:
        found, size = job.metrics(), self.shape.num_parameters
        say(f"update, {kind}: tokens/s", f"{found['tokens_per_s']:.0f}")
        flops = 4 * size + 6 * adapter if kind == "lora" else 6 * size
        if self.device == "cuda":
            mfu = flops * found["tokens_per_s"] / (self.peak * 1e12)
            say(f"update, {kind}: MFU", f"{100 * mfu:.1f} % of {self.peak:.0f} TFLOP/s")
        for name in ("loss", "grad_norm", "weights_changed", "load_s", "train_s"):
            say(f"update, {kind}: {name}", f"{found[name]:.5g}")
        self._expect(found["weights_changed"] > 0, f"the {kind} update changed nothing")
        self._mismatch(f"update, {kind}", found["logprob_mismatch"])

    def _mismatch(self, what: str, value: float) -> None:
        say(f"{what}: log-prob gap", f"{value:.5f}")
        self._expect(value <= MOST_LOGPROB_GAP, f"{what}: mean |log-prob gap| {value}")

    def _expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        say(f"{what}: seconds", f"{time.perf_counter() - began:.1f}")

    @contextmanager
    def _peak(self, what: str) -> Iterator[None]:
        """Of the device's memory, in this process alone."""
        import torch

        from components.process import peak_memory_mib

        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        yield
        gib = torch.cuda.max_memory_allocated() / 2**30 if self.device == "cuda" else None
        say(f"{what}: peak GiB", f"{peak_memory_mib() / 1024 if gib is None else gib:.2f}")


def run(job: Job) -> None:
    """Here, on the device."""
    from components.update.process import run_job

    run_job(job)


def run_on_cpu(job: Job) -> None:
    """In a process that sees no GPU."""
    path = Path(job.out) / "job.json"
    path.write_text(job.to_json())
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "DS_ACCELERATOR": "cpu"}
    command = [sys.executable, "-m", "components.update.process", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the update on the CPU failed:\n{done.stdout}{done.stderr}")


def update_cosine(start: Path, first: Path, second: Path) -> float:
    """Between the two changes of all weights."""
    from safetensors.torch import load_file

    old, one, two = (load_file(path / "model.safetensors") for path in (start, first, second))
    changes = [(one[name].float() - old[name], two[name].float() - old[name]) for name in old]
    dots = [sum(float((c[i] * c[j]).sum()) for c in changes) for i, j in ((0, 1), (0, 0), (1, 1))]
    return dots[0] / (dots[1] * dots[2]) ** 0.5


def retagged(rows: Sequence[Any], tag: str) -> list[Any]:
    """The samples as if this policy had played: a fresh adapter answers as its base does."""
    from dataclasses import replace

    return [
        replace(row, scored=replace(
            row.scored, candidate=replace(row.scored.candidate, policy_version=tag)))
        for row in rows
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
