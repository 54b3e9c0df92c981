"""A probe tells new weights from old ones, from half-loaded ones, and from noise."""

import random
from collections.abc import Sequence

import pytest

from components.errors import RecordError
from components.probes import Probe
from components.rollout.warm.probe import StaleWeights, check, judge, max_gap
from components.settings import RolloutConfig, ServerConfig

LENGTH = 400


def make_probe(change: float) -> Probe:
    """Two sequences whose log-probs an update moved by about `change`."""
    rng = random.Random(0)
    before = [[-rng.random() * 3 for _ in range(LENGTH // 2)] for _ in range(2)]
    after = [[value + rng.gauss(0, change) for value in each] for each in before]
    ids = [(1, 2)] * 2, [tuple(range(LENGTH // 2))] * 2
    return Probe(tuple(ids[0]), tuple(ids[1]), nested(before), nested(after))


def nested(values: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(each) for each in values)


def mixed(probe: Probe, share: float, noise: float) -> list[list[float]]:
    """What a server answers that has `share` of the update, in other numerics."""
    rng = random.Random(1)
    return [
        [old + share * (new - old) + rng.gauss(0, noise) for old, new in zip(*pair, strict=True)]
        for pair in zip(probe.before, probe.after, strict=True)
    ]


@pytest.mark.parametrize(("change", "noise"), [(0.01, 1e-6), (1e-4, 1e-6), (0.05, 0.05)])
def test_new_weights_pass_and_stale_or_half_loaded_ones_do_not(change: float, noise: float) -> None:
    probe = make_probe(change)
    fresh = judge(probe, mixed(probe, 1.0, noise))
    assert fresh.conclusive and fresh.share == pytest.approx(1.0, abs=4 * fresh.error + 1e-9)
    check(fresh, 0.2, "s")
    for share in (0.0, 0.5, 2.0):
        with pytest.raises(StaleWeights, match="stale weights"):
            check(judge(probe, mixed(probe, share, noise)), 0.2, "s")


def test_other_weights_altogether_are_refused_by_the_gap() -> None:
    probe = make_probe(0.01)
    with pytest.raises(StaleWeights, match=r"server x: answers with other weights: .* limit 0.2"):
        check(judge(probe, mixed(make_probe(1.0), 1.0, 0.5)), 0.2, "server x")


def test_an_update_below_the_noise_is_said_to_prove_nothing() -> None:
    probe = make_probe(1e-5)
    verdict = judge(probe, mixed(probe, 0.0, 0.05))
    assert not verdict.conclusive and "too small a change" in str(verdict)
    check(verdict, 0.2, "s")


def test_an_update_that_changed_nothing_is_judged_by_the_gap_alone() -> None:
    probe = make_probe(0.0)
    verdict = judge(probe, probe.after)
    assert verdict.gap == 0.0 and not verdict.conclusive
    check(verdict, 0.001, "s")


def test_limits_follow_the_numerics() -> None:
    assert max_gap(RolloutConfig()) < max_gap(RolloutConfig(dtype="bfloat16"))
    assert max_gap(RolloutConfig(quantization="fp8")) == 0.5
    assert max_gap(RolloutConfig(server=ServerConfig(max_probe_gap=0.03))) == 0.03


def test_probes_are_read_as_they_were_written() -> None:
    import json

    probe = make_probe(0.1)
    assert Probe.from_json(json.loads(probe.to_json())) == probe
    with pytest.raises(RecordError, match="bad field"):
        Probe.from_json({"prompts": []})
