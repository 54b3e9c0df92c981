"""How far the prompts of training play are from those of greedy play of the same team.

Training follows the pick among K candidates, evaluation the likeliest answer: a pick that always
takes the best leads through states that the team by itself seldom sees. Compared is only who
writes in which turn, not what the prompts say.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from components.records import Scored

KeyT = TypeVar("KeyT")
Visit = tuple[str, int]
"""(role, turn)."""


def total_variation(first: Mapping[KeyT, int], second: Mapping[KeyT, int]) -> float:
    """Half of the sum of |p - q| over all keys, of the counts' shares p and q: in [0, 1].

    The share of one that would have to move to make it the other. ValueError if one is empty.
    """
    totals = first_total, second_total = sum(first.values()), sum(second.values())
    if min(totals) <= 0:
        raise ValueError(f"counts sum to {totals}, expected something in both")
    keys = first.keys() | second.keys()
    # Over one denominator in whole numbers, so that the order of the keys does not matter.
    apart = sum(
        abs(first.get(key, 0) * second_total - second.get(key, 0) * first_total) for key in keys
    )
    return apart / (2 * first_total * second_total)


def visits(scored: Sequence[Scored], env: str) -> Counter[Visit]:
    """Prompts of one environment by (role, turn); each once, however many candidates answer it.

    A prompt is a node of an episode: every branch of a beam and every replica of parallel sampling
    counts.
    """
    turns = (row.candidate.turn for row in scored)
    nodes = {(it.episode_id, it.node, it.role, it.turn) for it in turns if it.env == env}
    return Counter((role, turn) for _, _, role, turn in nodes)


def visit_metrics(
    envs: Sequence[str], training: Sequence[Scored], evaluation: Sequence[Scored], prefix: str
) -> dict[str, float]:
    """`<prefix>/visits_distance`; of several environments the mean over them, and that of each.

    An environment that is not played in both is left out.
    """
    counts = {env: (visits(training, env), visits(evaluation, env)) for env in envs}
    found = {env: total_variation(*both) for env, both in counts.items() if all(both)}
    if not found:
        return {}
    metrics = {f"{prefix}/visits_distance": sum(found.values()) / len(found)}
    if len(envs) > 1:
        metrics |= {f"{prefix}/{env}/visits_distance": value for env, value in found.items()}
    return metrics
