"""Do the samples of each group belong together? One environment, prompt, role, turn, policy,
sampler.

Failed generations are not compared: they move no baseline and train nothing.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from components.grouping.advantages import Ids
from components.grouping.groups import Groups, codes_of, describe, group_ids
from components.settings import KEYS, GroupingConfig, RolloutConfig

SAMPLING = ("temperature", "top_p", "top_k", "max_new_tokens")
NAMED = 10
"""Groups named in full for each kind of fault; the rest are counted."""


class Findings(NamedTuple):
    """Readable sentences."""

    violations: list[str]
    """Faults: the update must not start."""
    impurities: list[str]
    """Mixtures that `grouping.allow_impure` permits: the team cannot be promoted."""


def inspect(
    table: pa.Table, groups: Groups, grouping: GroupingConfig, rollout: RolloutConfig
) -> Findings:
    """Compare every surviving sample with the first of its group, and every size with K."""
    facts = {
        "prompts": prompt_codes(table),
        "environments": codes_of(table["env"]),
        "roles": codes_of(table["role"]),
        "turns": codes_of(table["turn"]),
        "policy versions": codes_of(table["policy_version"]),
        "sampling settings": group_ids(table, SAMPLING),
    }
    allowed = permitted(grouping)
    findings = Findings([], [])
    for name, codes in facts.items():
        target = findings.impurities if name in allowed else findings.violations
        target += _sentences(table, groups, mixed(groups, codes), f"mixes {name}")
    for sizes, text in wrong_sizes(groups, grouping, rollout):
        findings.violations.extend(_sentences(table, groups, sizes, text, show_size=True))
    return findings


def permitted(grouping: GroupingConfig) -> set[str]:
    """The mixtures that a coarser key makes on purpose, if `allow_impure` is set."""
    if not grouping.allow_impure:
        return set()
    missing = set(KEYS) - set(grouping.key)
    tolerated = {"turn": {"turns"}, "role": {"roles", "policy versions"}}
    return {"prompts"}.union(*(tolerated.get(part, set()) for part in missing))


def mixed(groups: Groups, codes: Ids) -> Ids:
    """Groups whose surviving samples differ in a column of codes."""
    differs = groups.alive & (codes != codes[groups.first][groups.ids])
    return np.unique(groups.ids[differs])


def wrong_sizes(
    groups: Groups, grouping: GroupingConfig, rollout: RolloutConfig
) -> list[tuple[Ids, str]]:
    """Groups that lost or gained rows. In tree sampling each prompt has exactly K candidates."""
    k = rollout.num_candidates
    if rollout.sampling != "tree":
        return []
    found = [(np.flatnonzero(groups.size < k), f"is too small, expected {k} samples")]
    if set(grouping.key) >= set(KEYS):
        found.append((np.flatnonzero(groups.size > k), f"is too large, expected {k} samples"))
    return found


def prompt_codes(table: pa.Table) -> Ids:
    """[num_samples] a small integer for each distinct prompt, compared token by token."""
    return codes_of(_prompt_bytes(table))


def prompt_digests(table: pa.Table, rows: Ids) -> list[str]:
    """First 16 hex digits of the sha256 of each row's prompt ids (int32, little endian)."""
    prompts = _prompt_bytes(table.select(["prompt_ids"]).take(rows))
    return [hashlib.sha256(prompt).hexdigest()[:16] for prompt in prompts.to_pylist()]


def _prompt_bytes(table: pa.Table) -> Any:
    """The prompt ids of each row as bytes, so that whole prompts are hashed at once."""
    lists: Any = table["prompt_ids"].combine_chunks()
    offsets = lists.offsets.to_numpy().astype(np.int64) * 4
    values = np.ascontiguousarray(lists.values.to_numpy(), dtype="<i4")
    buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(values.data)]
    return pa.Array.from_buffers(pa.large_binary(), len(lists), buffers)


def _sentences(
    table: pa.Table, groups: Groups, which: Ids, fault: str, show_size: bool = False
) -> list[str]:
    """One sentence for each of the first groups, and one that counts the others."""
    lines = []
    for group in which[:NAMED].tolist():
        got = f", got {groups.size[group]}" if show_size else ""
        lines.append(f"group {group} ({describe(table, groups, group)}) {fault}{got}")
    if which.size > NAMED:
        lines.append(f"{which.size - NAMED} more groups: {fault}")
    return lines
