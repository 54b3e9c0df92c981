"""Whom a pod may talk to, by the rules of NetworkPolicy: policies that select a pod and a direction
isolate it, and what any of them allows is allowed."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Labels = Mapping[str, str]
Direction = Literal["ingress", "egress"]


@dataclass(frozen=True)
class Peer:
    """A pod, or an address outside the cluster (`address` alone)."""

    labels: Labels
    namespace: str = ""
    address: str | None = None

    @staticmethod
    def outside(address: str) -> "Peer":
        """Something that is no pod."""
        return Peer({}, address=address)


def allowed(
    policies: Sequence[Any], source: Peer, target: Peer, port: int, protocol: str = "TCP"
) -> bool:
    """Whether a connection is made: the source may send it, and the target may take it."""
    return _passes(policies, "egress", source, target, port, protocol) and _passes(
        policies, "ingress", target, source, port, protocol
    )


def _passes(
    policies: Sequence[Any], direction: Direction, pod: Peer, other: Peer, port: int, protocol: str
) -> bool:
    mine = list(_selecting(policies, direction, pod))
    if not mine:
        return True
    return any(
        _matches_rule(rule, policy["metadata"]["namespace"], direction, other, port, protocol)
        for policy in mine
        for rule in policy["spec"].get(direction, [])
    )


def _selecting(policies: Sequence[Any], direction: Direction, pod: Peer) -> Iterator[Any]:
    for policy in policies:
        spec = policy["spec"]
        types = [item.lower() for item in spec["policyTypes"]]
        here = pod.address is None and pod.namespace == policy["metadata"]["namespace"]
        if here and direction in types and selects(spec["podSelector"], pod.labels):
            yield policy


def _matches_rule(
    rule: Any, namespace: str, direction: Direction, other: Peer, port: int, protocol: str
) -> bool:
    ports = rule.get("ports")
    if ports and not any((p["protocol"], p["port"]) == (protocol, port) for p in ports):
        return False
    peers = rule.get("to" if direction == "egress" else "from")
    return not peers or any(_matches_peer(peer, namespace, other) for peer in peers)


def _matches_peer(peer: Any, namespace: str, other: Peer) -> bool:
    if "ipBlock" in peer:
        block = peer["ipBlock"]
        inside = [block["cidr"], *block.get("except", [])]
        hits = [other.address is not None and _within(other.address, item) for item in inside]
        return hits[0] and not any(hits[1:])
    if other.address is not None or not selects(peer.get("podSelector", {}), other.labels):
        return False
    if "namespaceSelector" not in peer:
        return other.namespace == namespace
    return selects(peer["namespaceSelector"], {"kubernetes.io/metadata.name": other.namespace})


def _within(address: str, network: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(network)


def selects(selector: Any, labels: Labels) -> bool:
    """A label selector."""
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return equal and all(_holds(item, labels) for item in selector.get("matchExpressions", []))


def _holds(expression: Any, labels: Labels) -> bool:
    value, operator = labels.get(expression["key"]), expression["operator"]
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    if operator not in ("In", "NotIn"):
        raise ValueError(f"operator {operator!r}: expected In, NotIn, Exists or DoesNotExist")
    return (value in expression["values"]) == (operator == "In")
