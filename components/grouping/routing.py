"""Which samples train which policy: B_m is the union of D_i with sigma(i) = m (Algorithm 1)."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from components.errors import RecordError


def samples_of(table: pa.Table, policy: str) -> pa.Table:
    """The rows that a policy generated, in their order; no row if it played no role."""
    return table.filter(pc.field("policy") == policy)


def check_routing(table: pa.Table, roles: Mapping[str, str]) -> None:
    """RecordError unless every row's policy is the one that plays its role."""
    pairs = table.select(["role", "policy"]).group_by(["role", "policy"]).aggregate([])
    for pair in pairs.to_pylist():
        role, policy = pair["role"], pair["policy"]
        if roles.get(role) != policy:
            raise RecordError(
                f"samples of role {role!r} name policy {policy!r}; expected "
                f"{roles.get(role, 'no such role')!r} of roles {dict(roles)}"
            )
