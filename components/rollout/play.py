"""Playing whole episodes: the one function behind training, evaluation and both placements.

All live episodes of a phase are answered in one engine call. No model library is imported here.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from components.engine import Completion, Engine, Request, Sampling
from components.env_execution.boards import Board, advance_boards, board_prompts, ended
from components.env_execution.frontier import num_phases, start
from components.env_execution.rules import Rules, candidate_indices
from components.env_execution.selection import place
from components.errors import RolewiseError
from components.progress import progress
from components.records import Candidate, Episode, Scored, Turn
from components.seeds import candidate_seed
from envs.base import Environment, Task

JUDGING_IS_SLOW_S = 1.0
"""From here on the progress says how many answers of a phase are judged."""


@dataclass(frozen=True)
class Played:
    """What was played, and how long both sides of the loop took."""

    scored: list[Scored]
    episodes: list[Episode]
    generate_s: float
    environment_s: float
    num_tokens: int
    """Generated, over all candidates."""

    @property
    def timings(self) -> dict[str, float]:
        """`num_tokens`, `tokens_per_s`, `generate_s`, `environment_s`."""
        rate = self.num_tokens / self.generate_s if self.generate_s > 0.0 else 0.0
        return {
            "num_tokens": float(self.num_tokens),
            "tokens_per_s": rate,
            "generate_s": self.generate_s,
            "environment_s": self.environment_s,
        }


def play(
    engine: Engine,
    env: Environment,
    tasks: Sequence[Task],
    rules: Rules,
    sampling: Sampling,
    benchmark: str = "train",
    step: str = "rollout",
) -> Played:
    """Play every task of one environment to its end. `benchmark` names the episodes."""
    board = Board(env, rules, start(env, tasks, rules, benchmark))
    return play_boards(engine, [board], sampling, step)


def play_boards(
    engine: Engine, boards: Sequence[Board], sampling: Sampling, step: str = "rollout"
) -> Played:
    """Play the episodes of all boards to their end, in one batch per phase.

    Everything but roles and turns is the same in the rules of all. `step` names the progress lines.
    """
    begun = time.perf_counter()
    rules, scored = boards[0].rules, list[Scored]()
    telling = _Telling(boards, step)
    num_tokens, generate_s = 0, 0.0
    while turns := board_prompts(boards):
        asked = time.perf_counter()
        candidates = answer(engine, turns, rules, sampling)
        generate_s += time.perf_counter() - asked
        num_tokens += sum(len(item.completion_ids) for item in candidates)
        telling.begin(num_tokens / max(generate_s, 1e-9))
        made, boards = advance_boards(boards, candidates, telling.judged)
        scored += made
        telling.turns(boards)
    environment_s = time.perf_counter() - begun - generate_s
    return Played(scored, ended(boards), generate_s, environment_s, num_tokens)


def answer(
    engine: Engine, turns: Sequence[Turn], rules: Rules, sampling: Sampling
) -> list[Candidate]:
    """The candidates of every prompt, in prompt order, then candidate order.

    A request is named by task, turn, role and node, so the engine's complaint about a prompt over
    its limit names them. RolewiseError if the engine answers other requests than it was given.
    """
    if not turns:
        return []
    requests = [_request(turn, rules) for turn in turns]
    completions = engine.generate(requests, n=len(requests[0].seeds), sampling=sampling)
    expected = [
        (turn, request, index, position)
        for turn, request in zip(turns, requests, strict=True)
        for position, index in enumerate(candidate_indices(turn, rules))
    ]
    if len(completions) != len(expected):
        raise RolewiseError(
            f"engine {engine.name}: {len(completions)} completions for {len(requests)} prompts, "
            f"expected {len(expected)}"
        )
    candidates = []
    for completion, (turn, request, index, position) in zip(completions, expected, strict=True):
        _check(engine, completion, request, position)
        candidates.append(_candidate(turn, index, completion, sampling))
    return candidates


def _request(turn: Turn, rules: Rules) -> Request:
    seeds = tuple(
        candidate_seed(
            rules.run_seed, rules.iteration, turn.task_id, turn.node, turn.turn, turn.role, index
        )
        for index in candidate_indices(turn, rules)
    )
    return Request(place(turn), turn.policy, turn.messages, seeds)


def _check(engine: Engine, completion: Completion, request: Request, position: int) -> None:
    """An answer belongs to the request, seed and policy at its place in the batch."""
    found = (completion.request_id, completion.candidate, completion.seed, completion.policy)
    expected = (request.request_id, position, request.seeds[position], request.policy)
    if found != expected:
        raise RolewiseError(
            f"engine {engine.name}: completion (request, candidate, seed, policy) is {found}, "
            f"expected {expected}"
        )


def _candidate(turn: Turn, index: int, completion: Completion, sampling: Sampling) -> Candidate:
    return Candidate(
        turn=turn,
        candidate=index,
        seed=completion.seed,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        max_new_tokens=sampling.max_new_tokens,
        policy_version=completion.policy_version,
        prompt_ids=completion.prompt_ids,
        completion_ids=completion.completion_ids,
        logprobs=completion.logprobs,
        text=completion.text,
        finish_reason=completion.finish_reason,
        error=completion.error,
    )


class _Telling:
    """Progress of one play, in role turns; those that an early end made unnecessary are done."""

    def __init__(self, boards: Sequence[Board], step: str) -> None:
        self._step, self._before = step, boards
        self._total = sum(
            _left(board.rules.num_turns * num_phases(board.env), board) for board in boards
        )
        self._since, self._rate = 0.0, 0

    def begin(self, tokens_per_s: float) -> None:
        """The answers to the boards' prompts are there and will be judged."""
        self._rate, self._since = round(tokens_per_s), time.perf_counter()

    def judged(self, done: int, total: int) -> None:
        """Part of them is judged; said only where that takes its time (programs, proofs)."""
        if time.perf_counter() - self._since > JUDGING_IS_SLOW_S:
            self.turns(self._before, judged=f"{done}/{total}")

    def turns(self, boards: Sequence[Board], **rates: str) -> None:
        """How many role turns are over."""
        self._before, left = boards, 0
        for board in boards:
            frontier, phases = board.frontier, num_phases(board.env)
            to_play = (board.rules.num_turns - frontier.turn) * phases - frontier.phase
            left += _left(to_play, board)
        done = self._total - left
        progress(self._step, done, self._total, "turns", tokens_per_s=self._rate, **rates)


def _left(phases: int, board: Board) -> int:
    """Role turns in so many phases, if all live episodes go on."""
    live = sum(node.spine for node in board.frontier.nodes)
    return live * phases * (len(board.env.roles) // num_phases(board.env))
