"""A team on warm servers: what is loaded, what is unloaded, and that stale weights are caught."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import RolewiseError
from components.policies import PolicyRef, Team
from components.probes import Probe, write_probe
from components.rollout.server_client import ServerGone
from components.rollout.warm.layout import layout
from components.rollout.warm.lease import Door, NotAnnounced, write_door
from components.rollout.warm.probe import StaleWeights
from components.rollout.warm.team import WarmServers
from components.storage import open_store
from tests.components.rollout_server.serving import (
    ADAPTED,
    POLICY,
    announce,
    fake_server,
    make_config,
)
from tests.doubles.warm_server import logprob

BASE = PolicyRef("base", 0, "uri", "b" * 64, 1)


def full(name: str, digit: str, version: int = 0) -> PolicyRef:
    return PolicyRef(name, version, "uri", digit * 64, 1)


def adapter(name: str, digit: str, version: int = 0) -> PolicyRef:
    return replace(full(name, digit, version), base=BASE)


def make_team(*refs: PolicyRef) -> Team:
    return Team({ref.name: ref for ref in refs}, {ref.name: ref.name for ref in refs})


def probe_of(ref: PolicyRef, before: str) -> Probe:
    """As an update would have written it, for the stand-in's made-up log-probs."""
    prompt, completion = (3, 4), tuple(range(5, 25))

    def values(voice: str) -> tuple[float, ...]:
        ids = [*prompt, *completion]
        return tuple(logprob(voice, ids[: at + 1]) for at in range(len(prompt), len(ids)))

    return Probe((prompt,), (completion,), (values(before),), (values(ref.sha256),))


def test_one_server_per_base_and_one_per_policy_of_full_weights(tmp_path: Path) -> None:
    frozen = {"base": "pkg://some-model", "trainable": False}
    config = make_config(
        tmp_path,
        {"tool": POLICY, "left": ADAPTED, "right": ADAPTED, "judge": frozen, "plan": POLICY},
    )
    refs = {
        "tool": full("tool", "1"), "plan": full("plan", "2"), "judge": replace(BASE, name="judge"),
        "left": adapter("left", "3"), "right": adapter("right", "4"),
    }  # fmt: skip
    servers = layout(config, "r", refs)
    assert [server.policies for server in servers] == [
        ("tool",), ("left", "right", "judge"), ("plan",),
    ]  # fmt: skip
    assert [server.ranks for server in servers] == [(), (4, 4), ()]
    assert servers[1].folder == BASE.folder and servers[0].folder == refs["tool"].folder
    later = layout(config, "r", {**refs, "tool": full("tool", "9", 7)})
    assert [server.name for server in later] == [server.name for server in servers]


def test_full_weights_are_replaced_in_place_once_and_probed_always(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, new = make_config(tmp_path, {"solo": POLICY}), full("solo", "2", 1)
    store = open_store(config.storage)
    write_probe(store, new.sha256, probe_of(new, "1" * 64))
    with fake_server(weights="1" * 64) as fake:
        announce(config, {"solo": new}, fake)
        servers = WarmServers(store, "r", config)
        endpoint = servers.arrange(make_team(new))["solo"]
        assert fake.weights == new.sha256 and fake.calls.count("/warm/weights") == 1
        assert endpoint.headers == {"x-warm-weights": new.sha256}
        servers.arrange(make_team(new))
        assert fake.calls.count("/warm/weights") == 1
        told = capsys.readouterr().out.splitlines()
        assert len(told) == 2 and all("100.0% of the update's change" in line for line in told)
        fake.weights = "3" * 64  # somebody else loads others: requests for ours are refused
        with pytest.raises(ServerGone, match="409"):
            endpoint.client.logprobs("weights", [3, 4], endpoint.headers)


def test_stale_weights_are_caught(tmp_path: Path) -> None:
    config, new = make_config(tmp_path, {"solo": POLICY}, max_probe_gap=5.0), full("solo", "2", 1)
    store = open_store(config.storage)
    write_probe(store, new.sha256, probe_of(new, "1" * 64))
    with fake_server(weights="1" * 64, stale=True) as fake:
        announce(config, {"solo": new}, fake)
        with pytest.raises(
            StaleWeights, match=r"policy solo@1-2{12}: answers with stale weights: 0"
        ):
            WarmServers(store, "r", config).arrange(make_team(new))


def test_weights_that_nobody_probed_must_at_least_answer_otherwise(tmp_path: Path) -> None:
    config, new = make_config(tmp_path, {"solo": POLICY}), full("solo", "2")
    for stale in (False, True):
        with fake_server(weights="1" * 64, stale=stale) as fake:
            announce(config, {"solo": new}, fake)
            servers = WarmServers(open_store(config.storage), "r", config)
            if stale:
                with pytest.raises(StaleWeights, match="exactly as the weights before it"):
                    servers.arrange(make_team(new))
            else:
                servers.arrange(make_team(new))


def test_adapters_come_and_go_under_names_that_hold_their_digest(tmp_path: Path) -> None:
    config = make_config(tmp_path, {"left": ADAPTED, "right": ADAPTED})
    store = open_store(config.storage)
    first = [adapter("left", "1"), adapter("right", "2")]
    second = [adapter("left", "3", 1), first[1]]
    write_probe(store, second[0].sha256, probe_of(second[0], "1" * 64))
    with fake_server(weights=BASE.sha256) as fake:
        announce(config, make_team(*first).policies, fake)  # type: ignore[arg-type]
        servers = WarmServers(store, "r", config)
        servers.arrange(make_team(*first))
        assert fake.adapters == [f"left-{'1' * 64}", f"right-{'2' * 64}"]
        found = servers.arrange(make_team(*second))
        assert fake.adapters == [f"right-{'2' * 64}", f"left-{'3' * 64}"]
        assert found["left"].model == f"left-{'3' * 64}"
        assert fake.calls.count("/warm/fetch") == 3 and "/warm/weights" not in fake.calls


def test_a_server_that_was_started_again_has_another_key_and_is_arranged_anew(
    tmp_path: Path,
) -> None:
    config, ref = make_config(tmp_path, {"solo": POLICY}, patience_s=5), full("solo", "1")
    store = open_store(config.storage)
    with fake_server(weights=ref.sha256) as fake:
        announce(config, {"solo": ref}, fake)
        servers = WarmServers(store, "r", config)
        servers.arrange(make_team(ref))
        fake.key = "new"
        name = layout(config, "r", {"solo": ref})[0].name
        write_door(store, "r", name, Door("new", "boot 2"))
        assert servers.arrange(make_team(ref))["solo"].client.models() == ["weights"]


def test_no_server_is_one_sentence_whether_it_is_gone_or_was_never_there(tmp_path: Path) -> None:
    config, ref = make_config(tmp_path, {"solo": POLICY}), full("solo", "1")
    servers = WarmServers(open_store(config.storage), "r", config)
    with pytest.raises(NotAnnounced, match="run 'r': no warm server 'warm-r-solo-"):
        servers.arrange(make_team(ref))
    with fake_server(weights=ref.sha256) as fake:
        announce(config, {"solo": ref}, fake)
    with pytest.raises(RolewiseError, match="has not come back for 1 s .*patience_s.*no answer"):
        servers.arrange(make_team(ref))
