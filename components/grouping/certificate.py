"""The group certificate: what each advantage was computed from, and whether it may be trained on.

`build` makes plain JSON, by columns to stay small; the update refuses one with violations.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from components.grouping.groups import COLUMN, Groups
from components.grouping.purity import SAMPLING, inspect, prompt_digests
from components.settings import KEYS, GroupingConfig, RolloutConfig

SCHEMA_VERSION = 1
Certificate = dict[str, Any]


def build(
    table: pa.Table, groups: Groups, grouping: GroupingConfig, rollout: RolloutConfig
) -> Certificate:
    """The certificate of one iteration's groups.

    `violations` holds readable sentences, none if all is well. `impure` is true for a key that
    mixes prompts on purpose. `totals` has one entry per role. `groups` holds one list per column,
    all `[num_groups]`; `policy_version` and `sampling` there are positions in the lists
    `policy_versions` and `samplings`.
    """
    violations, impurities = inspect(table, groups, grouping, rollout)
    facts = table.select(["env", *COLUMN.values(), "policy_version", *SAMPLING]).take(groups.first)
    versions = facts["policy_version"].combine_chunks().dictionary_encode()
    samplings = facts.select(SAMPLING).group_by([*SAMPLING], use_threads=False).aggregate([])
    return {
        "schema_version": SCHEMA_VERSION,
        "key": list(grouping.key),
        "sampling": rollout.sampling,
        "num_candidates": rollout.num_candidates,
        "std_ddof": grouping.std_ddof,
        "eps": grouping.eps,
        "allow_impure": grouping.allow_impure,
        "impure": bool(impurities) or not set(grouping.key) >= set(KEYS),
        "violations": violations,
        "impurities": impurities,
        "totals": totals(facts["role"].to_numpy(), groups),
        **totals_by_environment(facts, groups),
        "policy_versions": versions.dictionary.to_pylist(),
        "samplings": samplings.to_pylist(),
        "groups": {
            **{part: facts[name].to_pylist() for part, name in COLUMN.items()},
            "size": groups.size.tolist(),
            "num_failed": groups.failed.tolist(),
            "prompt_sha256": prompt_digests(table, groups.first),
            "policy_version": versions.indices.to_pylist(),
            "sampling": _positions(facts, samplings),
            **statistics(groups),
        },
    }


def statistics(groups: Groups) -> dict[str, list[Any]]:
    """Rewards of each group's survivors; mean is null and std 0 where none survived."""
    mean = np.where(groups.survivors > 0, groups.moments.mean, 0.0).round(9).tolist()
    empty = (groups.survivors == 0).tolist()
    return {
        "reward_mean": [None if gone else value for value, gone in zip(mean, empty, strict=True)],
        "reward_std": groups.moments.std.round(9).tolist(),
        "zero_variance": groups.silent.astype(int).tolist(),
    }


def totals_by_environment(facts: pa.Table, groups: Groups) -> dict[str, Any]:
    """`totals_by_environment`: environment -> `totals` of its groups; nothing where there is one.

    `facts` has a row for each group.
    """
    envs = [str(env) for env in facts["env"].to_pylist()]
    if len(set(envs)) == 1:
        return {}
    pairs = [f"{env}\n{role}" for env, role in zip(envs, facts["role"].to_pylist(), strict=True)]
    found: dict[str, dict[str, dict[str, float]]] = {env: {} for env in envs}
    for pair, item in totals(np.array(pairs), groups).items():
        env, _, role = pair.partition("\n")
        found[env][role] = item
    return {"totals_by_environment": found}


def totals(role_of: Any, groups: Groups) -> dict[str, dict[str, float]]:
    """Counts per role, in order of appearance. `role_of` is `[num_groups]`.

    `frac_reward_zero_std` is the share of groups without a signal: equal rewards, or fewer than
    two survivors. `num_singletons` had one sample to begin with; `num_starved` lost theirs to
    failed generations.
    """
    result = {}
    for role in dict.fromkeys(role_of.tolist()):
        mine = role_of == role
        survivors = groups.survivors[mine]
        rewards = groups.moments.mean[mine][survivors > 0] * survivors[survivors > 0]
        result[role] = {
            "num_groups": int(mine.sum()),
            "num_samples": int(groups.size[mine].sum()),
            "num_failed": int(groups.failed[mine].sum()),
            "num_zero_variance": int(groups.silent[mine].sum()),
            "num_singletons": int((groups.size[mine] == 1).sum()),
            "num_starved": int(groups.starved[mine].sum()),
            "frac_reward_zero_std": float(groups.silent[mine].mean()),
            "reward_mean": float(rewards.sum() / max(survivors.sum(), 1)),
        }
    return result


def rows(certificate: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The groups one by one, with policy version and sampling settings spelled out."""
    columns = certificate["groups"]
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        row["policy_version"] = certificate["policy_versions"][row["policy_version"]]
        row["sampling"] = certificate["samplings"][row["sampling"]]
        yield row


def _positions(facts: pa.Table, samplings: pa.Table) -> list[int]:
    """For each group the index of its sampling settings in the list of distinct ones."""
    index = {tuple(row.values()): i for i, row in enumerate(samplings.to_pylist())}
    columns = [facts[name].to_pylist() for name in SAMPLING]
    return [index[values] for values in zip(*columns, strict=True)]
