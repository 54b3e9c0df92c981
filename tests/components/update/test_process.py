"""Whole jobs: bytes that repeat, state that carries over, adapters, the gate, ranks."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from components.errors import PolicyError, RecordError, RolewiseError
from components.settings import UpdateConfig
from components.update import folders
from components.update.deepspeed_engine import TrainingEngine, launcher_variables
from components.update.folders import load_model, weights_change
from components.update.job import Job
from components.update.launch import error_line, run_jobs
from components.update.process import run_job
from components.update.reinforce import Reinforce
from tests.components.update.tiny import make_rows, with_logprobs, write_model

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
MakeJob = Callable[..., Job]
SETTINGS = UpdateConfig(learning_rate=1e-2, minibatch_size=8, weight_decay=0.0)


def with_settings(**changes: object) -> UpdateConfig:
    return SETTINGS.model_copy(update=changes)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run_elsewhere(*jobs: Job) -> None:
    """The jobs in a fresh process, with another hash seed; several side by side."""
    script = (
        "import sys; from components.update.job import Job; "
        "from components.update.launch import run_jobs; "
        "run_jobs([Job.from_json(text) for text in sys.argv[1:]], 1)"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", script, *(job.to_json() for job in jobs)]
    subprocess.run(command, check=True, env=environment, capture_output=True)


def test_a_resume_in_a_fresh_process_is_bit_equal_and_bytes_repeat(
    folder: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    settings = with_settings(warmup_steps=6, epochs=2)
    rows, later = make_rows(folder, 4), make_rows(folder, 4, seed=9)
    first = make_job(rows, "first", settings=settings)
    again = make_job(rows, "again", settings=settings)
    run_job(first)
    run_job(again)
    assert files(first.policy_out) == files(again.policy_out)
    assert files(first.optimizer_out) == files(again.optimizer_out)
    settings = settings.model_copy(update={"max_logprob_mismatch": 99.0})
    resumed = make_job(
        later, "resumed", settings=settings, folder=str(first.policy_out),
        optimizer=str(first.optimizer_out),
    )  # fmt: skip
    beside = make_job(rows, "beside", settings=first.settings)
    run_elsewhere(resumed, beside)
    assert files(beside.policy_out) == files(first.policy_out)
    assert files(beside.optimizer_out) == files(first.optimizer_out)
    with launcher_variables():
        engine = TrainingEngine(load_model(folder, None, "float32"), settings)
        Reinforce(make_job(rows, "a", settings=settings), engine).run()
        metrics = Reinforce(make_job(later, "b", settings=settings), engine).run()
        straight = engine.weights()
    found = load_file(resumed.policy_out / "model.safetensors")
    assert found and all((straight[name] == value).all() for name, value in found.items())
    assert resumed.metrics()["learning_rate"] == metrics["learning_rate"] == pytest.approx(1e-2)
    assert all(resumed.metrics()[name] > 0 for name in ("load_s", "load_cpu_s", "train_s"))
    fresh = make_job(later, "fresh", settings=settings, folder=str(first.policy_out))
    run_job(fresh)
    other = load_file(fresh.policy_out / "model.safetensors")
    assert any((other[name] != value).any() for name, value in found.items())


def test_export_is_a_policy_folder_with_its_tokenizer(folder: Path, make_job: MakeJob) -> None:
    from transformers import AutoTokenizer

    job = make_job(make_rows(folder))
    run_job(job)
    before, after = files(folder), files(job.policy_out)
    assert set(before) == set(after)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"model.safetensors"}
    messages = [{"role": "user", "content": "w1 w2"}]
    kept = AutoTokenizer.from_pretrained(job.policy_out)
    assert kept.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) == (
        "<user> w1 w2 <assistant>"
    )


def test_the_change_of_the_weights_is_measured(
    folder: Path, adapter: Path, make_job: MakeJob
) -> None:
    full = make_job(make_rows(folder), "full")
    small = make_job(make_rows(folder), "small", folder=str(adapter), base=str(folder))
    for job, name in ((full, "model"), (small, "adapter_model")):
        run_job(job)
        old = load_file(Path(job.folder) / f"{name}.safetensors")
        new = load_file(job.policy_out / f"{name}.safetensors")
        changed = sum(float((new[key] - old[key]).square().sum()) for key in new) ** 0.5
        norm = sum(float(new[key].square().sum()) for key in new) ** 0.5
        assert 0 < job.metrics()["weights_changed"] == pytest.approx(changed, rel=1e-4)
        assert job.metrics()["weights_norm"] == pytest.approx(norm, rel=1e-4)
    assert "importance_mean" not in full.metrics()  # an exact sampler needs no weights
    assert weights_change(folder, folder)["weights_changed"] == 0.0


def test_an_adapter_changes_and_its_base_does_not(
    folder: Path, adapter: Path, make_job: MakeJob
) -> None:
    before = files(folder)
    rows = make_rows(folder)
    first = make_job(rows, "one", folder=str(adapter), base=str(folder))
    again = make_job(rows, "two", folder=str(adapter), base=str(folder))
    run_job(first)
    run_job(again)
    assert files(folder) == before
    assert files(first.policy_out) == files(again.policy_out)
    assert set(files(first.policy_out)) == set(files(adapter))
    old = load_file(adapter / "adapter_model.safetensors")
    new = load_file(first.policy_out / "adapter_model.safetensors")
    assert set(old) == set(new) and all((old[name] != new[name]).any() for name in old)
    kept = torch.load(next(first.optimizer_out.rglob("mp_rank_00_*.pt")), weights_only=False)
    assert kept["module"] and all("lora_" in name for name in kept["module"])  # and no tied output
    resumed = make_job(
        with_logprobs(rows, folder, 1.0), "three", folder=str(first.policy_out), base=str(folder),
        optimizer=str(first.optimizer_out),
        settings=with_settings(old_logprobs="recompute", max_logprob_mismatch=99.0),
    )  # fmt: skip
    run_job(resumed)
    assert resumed.metrics()["num_steps"] == 3


def test_a_base_is_read_once_for_the_forks_that_share_it(
    folder: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, original = [], folders._read_model
    monkeypatch.setattr(folders, "_read_model", lambda *key: (read.append(key), original(*key))[1])
    shared = (str(folder), "float32")
    with folders.shared_bases({shared: 2, ("/nowhere", "float32"): 1}):
        assert read == [shared]
        load_model(adapter, folder, "float32")  # what a fork does
        assert read == [shared]
        load_model(adapter, folder, "float32")  # PEFT has changed the shared one by now
        assert read == [shared] * 2
    load_model(adapter, folder, "float32")
    assert len(read) == 3


@pytest.mark.full
def test_adapters_side_by_side_train_as_they_do_alone(
    folder: Path, adapter: Path, make_job: MakeJob
) -> None:
    rows, source = make_rows(folder), {"folder": str(adapter), "base": str(folder)}
    alone, one, two = (make_job(rows, name, **source) for name in ("alone", "one", "two"))
    run_job(alone)
    run_elsewhere(one, two)
    assert files(alone.policy_out) == files(one.policy_out) == files(two.policy_out)


def test_bfloat16_recomputes_old_log_probs(folder: Path, make_job: MakeJob) -> None:
    job = make_job(make_rows(folder), exact_sampler=False, settings=with_settings(dtype="bfloat16"))
    run_job(job)
    found = job.metrics()
    assert 0 < found["logprob_mismatch"] < 0.2
    assert found["num_steps"] == 3
    assert found["importance_mean"] == pytest.approx(1.0, abs=0.2)
    assert found["importance_capped"] < 0.1


def test_wrong_weights_are_stopped_before_the_first_step(
    folder: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    rows = with_logprobs(make_rows(folder), write_model(tmp_path / "other", seed=5), 1.0)
    for choice in ("rollout", "recompute"):
        settings = with_settings(old_logprobs=choice, max_logprob_mismatch=0.01)
        job = make_job(rows, choice, settings=settings)
        with pytest.raises(RolewiseError, match=r"policy solo: mean \|log-prob .* limit .* 0.01"):
            run_job(job)


def test_truncated_samples_need_recomputation(folder: Path, make_job: MakeJob) -> None:
    rows = make_rows(folder, top_p=0.9)
    with pytest.raises(RecordError, match="old_logprobs is rollout, but samples were drawn"):
        run_job(make_job(rows, "no", settings=with_settings(old_logprobs="rollout")))
    run_job(make_job(rows, "yes"))


def test_a_kl_penalty_holds_the_policy_near_its_start(folder: Path, make_job: MakeJob) -> None:
    moved = {}
    for coefficient in (0.0, 20.0):
        settings = with_settings(kl_coef=coefficient, epochs=4, entropy_coef=0.001)
        job = make_job(
            make_rows(folder), f"kl{coefficient}", settings=settings, reference=str(folder)
        )
        run_job(job)
        moved[coefficient] = job.metrics()["ratio_deviation"]
    assert moved[20.0] < 0.7 * moved[0.0]


def test_another_layout_cannot_resume(folder: Path, make_job: MakeJob) -> None:
    job = make_job(make_rows(folder))
    run_job(job)
    other = make_job(
        make_rows(folder), "other", settings=with_settings(zero_stage=2),
        optimizer=str(job.optimizer_out),
    )  # fmt: skip
    with pytest.raises(PolicyError, match="keep num_processes, zero_stage and dtype"):
        run_job(other)


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        (2, "full"),
        *(
            pytest.param(stage, kind, marks=pytest.mark.full)
            for stage, kind in [(0, "full"), (1, "full"), (3, "full"), (2, "lora"), (3, "lora")]
        ),
    ],
)
def test_two_ranks_take_the_same_steps_as_one(
    stage: int, kind: str, folder: Path, adapter: Path, make_job: MakeJob,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Also where two jobs follow one another on the same ranks."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rows = make_rows(folder, 5)
    settings = with_settings(
        zero_stage=stage, adam_eps=1e-3, tokens_per_microbatch=40, max_logprob_mismatch=99.0
    )
    source = {"folder": str(adapter), "base": str(folder)} if kind == "lora" else {}
    alone = make_job(rows, "alone", settings=settings, **source)
    pair = make_job(rows, "pair", settings=settings, **source)
    other = make_job(rows, "other", settings=settings, **source)
    run_job(alone)
    run_jobs([pair, other], num_processes=2)
    file = "adapter_model" if kind == "lora" else "model"
    one, two, three = (
        load_file(job.policy_out / f"{file}.safetensors") for job in (alone, pair, other)
    )
    assert set(one) == set(two) == set(three)
    for name, value in one.items():
        assert (value - two[name]).abs().max() < 1e-5, name
        assert (value - three[name]).abs().max() < 1e-5, name
    found, expected = pair.metrics(), alone.metrics()
    for name in ("loss", "entropy", "kl", "grad_norm", "num_tokens", "logprob_mismatch"):
        assert found[name] == pytest.approx(expected[name], rel=1e-3, abs=1e-5), name
    assert found["grad_norm"] > 0


def test_errors_of_ranks_surface_in_one_line(folder: Path, make_job: MakeJob) -> None:
    text = (
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File x\n"
        "[rank0]: components.errors.RecordError: task t0: reward is nan\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    )
    assert error_line(text) == "RecordError: task t0: reward is nan"
    assert error_line("") == "no output"
