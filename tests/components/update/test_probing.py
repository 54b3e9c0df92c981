"""A probe holds the log-probs of the weights before and after, and changes nothing else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from components.probes import Probe
from components.settings import UpdateConfig
from components.update.job import Job
from components.update.process import run_job
from tests.components.update.test_process import files
from tests.components.update.tiny import make_rows, plain_logprobs

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_a_probe_is_what_the_exported_weights_give_and_leaves_the_training_alone(
    folder: Path, make_job: Callable[..., Job], temperature: float
) -> None:
    from transformers import AutoModelForCausalLM

    rows = make_rows(folder, 4, temperature=temperature)
    settings = UpdateConfig(learning_rate=1e-2, minibatch_size=8, weight_decay=0.0)
    plain = make_job(rows, "plain", settings=settings)
    probed = make_job(rows, "probed", settings=settings, probe=True)
    run_job(plain)
    run_job(probed)
    assert files(plain.policy_out) == files(probed.policy_out)
    assert files(plain.optimizer_out) == files(probed.optimizer_out)
    assert not plain.probe_out.exists()
    probe = Probe.from_json(json.loads(probed.probe_out.read_text()))
    assert len(probe.prompts) == 8 and probe.before != probe.after
    for weights, values in ((folder, probe.before), (probed.policy_out, probe.after)):
        model = AutoModelForCausalLM.from_pretrained(weights).eval()
        for prompt, completion, found in zip(probe.prompts, probe.completions, values, strict=True):
            expected = plain_logprobs(model, prompt, completion).tolist()
            assert found == pytest.approx(expected, abs=1e-5)
