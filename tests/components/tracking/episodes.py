"""Samples and episodes without an engine: every turn has K answers, the best is played."""

from collections.abc import Sequence

import pyarrow as pa

from components.engine import FinishReason
from components.records import Candidate, Episode, Sample, Scored, Turn, to_table
from envs.base import Status

K = 4


def make_turn(
    episode: str, turn: int, role: str, group: int, status: Status, first: int = 0, num: int = K
) -> list[Sample]:
    """`num` answers to one prompt, candidates from `first` on; the last one is played."""
    prompt = ({"role": "user", "content": f"{role}, turn {turn}: where to?"},)
    task = episode.partition("#")[0]
    asked = Turn(episode, task, "tracer", str(turn), turn, role, role.lower(), prompt)
    rows = []
    for index in range(first, first + num):
        version = f"{role.lower()}@0-0123456789ab"
        answer = Candidate(
            asked, index, index, 1.0, 1.0, 0, 8, version, (1, 2, 3), (4, 5), (-0.5, -0.5),
            f"answer {index}", FinishReason.STOP, None,
        )  # fmt: skip
        reward = 0.25 * index
        parts = {"team": reward / 2, "local/format": reward / 2}
        played = index == first + num - 1
        scored = Scored(answer, reward, parts, played, status if played else Status.RUNNING)
        rows.append(Sample(scored, group, reward - 0.375, 1.0))
    return rows


def make_tables(solved: Sequence[bool], num_turns: int = 2) -> tuple[pa.Table, pa.Table]:
    """(samples, episodes) of one episode per entry, two roles A and B."""
    samples: list[Sample] = []
    episodes = []
    for number, success in enumerate(solved):
        status = Status.SOLVED if success else Status.OUT_OF_TURNS
        name = f"tracer/train/0/{number}"
        for turn in range(num_turns):
            for role in ("A", "B"):
                samples += make_turn(name, turn, role, len(samples) // K, status)
        episodes.append(
            Episode(name, name, "tracer", "train", 0, num_turns, status, float(success))
        )
    return to_table(Sample, samples), to_table(Episode, episodes)
