"""The GPU check itself, where there is no GPU: it runs on a CPU with a tiny shape."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.model import QWEN3_1P7B, TINY

ROOT = Path(__file__).parents[2]


def run_check(*options: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "tests.gpu.check", *options]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.full
def test_the_check_passes_on_a_cpu(tmp_path: Path) -> None:
    done = run_check("--device", "cpu", "--tiny", "--folder", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    figures = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines() if " " in line)
    assert float(figures["update, cosine with the CPU's"]) > 0.99
    for kind in ("full", "lora"):
        assert float(figures[f"update, {kind}: tokens/s"]) > 0
        assert float(figures[f"update, {kind}: peak GiB"]) > 0
    assert done.stdout.endswith("all checks passed\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_without_a_gpu_it_says_so() -> None:
    done = run_check()
    assert done.returncode == 2 and "no CUDA GPU here; --device cpu --tiny" in done.stdout


def test_the_shape_is_qwen3s() -> None:
    assert QWEN3_1P7B.num_parameters == 1_720_574_976
    assert QWEN3_1P7B.cut().hidden_size == 2048 and TINY.cut().num_layers == 2
