"""What holds for every play, whatever the texts, rewards, endings and rules."""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from components.env_execution.rules import Rules
from components.records import Scored
from envs.base import Order, Status
from tests.doubles.environments import Tracer
from tests.doubles.rows import make_rules, play_texts

TEXTS = st.lists(st.sampled_from(["0", "1", "2", "3", None]), min_size=3, max_size=3)
ENDINGS = st.dictionaries(
    st.sampled_from(["A0", "A1", "B1", "B2", "C0"]),
    st.sampled_from([Status.SOLVED, Status.FAILED, Status.ERROR]),
)
Play = tuple[Tracer, Rules, list[Scored], list[object]]


@st.composite
def plays(draw: st.DrawFn) -> Play:
    roles = draw(st.sampled_from(["A", "AB", "ABC"]))
    order = draw(st.sampled_from(list(Order)))
    sampling = draw(st.sampled_from(["tree", "parallel"]))
    wide = sampling == "tree" and (order == Order.SERIAL or len(roles) == 1)
    rules = make_rules(
        roles,
        num_candidates=3,
        num_turns=draw(st.integers(1, 2)),
        beam=draw(st.integers(1, 3)) if wide else 1,
        pick=draw(st.sampled_from(["greedy", "sample"])),
        sampling=sampling,
    )
    env = Tracer(roles=tuple(roles), order=order, endings=draw(ENDINGS))
    texts = {role: draw(TEXTS) for role in roles}
    scored, frontier = play_texts(env, rules, texts, num_tasks=2)
    return env, rules, scored, list(frontier.ended)


def grouped(scored: list[Scored]) -> dict[tuple[str, str, int, str], list[Scored]]:
    rows: dict[tuple[str, str, int, str], list[Scored]] = defaultdict(list)
    for row in scored:
        turn = row.candidate.turn
        rows[turn.episode_id, turn.node, turn.turn, turn.role].append(row)
    return rows


@settings(max_examples=120, deadline=None)
@given(plays())
def test_every_row_is_unique(play: Play) -> None:
    _, _, scored, _ = play
    turns = [row.candidate.turn for row in scored]
    keys = [
        (turn.task_id, turn.node, turn.turn, turn.role, row.candidate.candidate)
        for turn, row in zip(turns, scored, strict=True)
    ]
    assert len(set(keys)) == len(keys)


@settings(max_examples=120, deadline=None)
@given(plays())
def test_rows_of_a_node_share_their_prompt(play: Play) -> None:
    prompts = defaultdict(set)
    for row in play[2]:
        turn = row.candidate.turn
        key = (turn.task_id, turn.node, turn.turn, turn.role)
        prompts[key].add(turn.messages[0]["content"])
    assert all(len(contents) == 1 for contents in prompts.values())


@settings(max_examples=120, deadline=None)
@given(plays())
def test_the_chosen_are_the_best_and_at_most_beam(play: Play) -> None:
    _, rules, scored, _ = play
    for rows in grouped(scored).values():
        chosen = [row for row in rows if row.chosen]
        judged = [row.reward for row in rows if row.reward is not None]
        assert len(chosen) <= min(rules.beam, len(judged))
        assert all(row.reward is not None for row in chosen)
        if rules.pick == "greedy" and chosen:
            best = sorted(judged, reverse=True)[: len(chosen)]
            assert sorted((row.reward for row in chosen), reverse=True) == best


@settings(max_examples=120, deadline=None)
@given(plays())
def test_every_episode_ends_once_and_never_running(play: Play) -> None:
    _, rules, scored, ended = play
    ids = [episode.episode_id for episode in ended]  # type: ignore[attr-defined]
    assert sorted(ids) == sorted({row.candidate.turn.episode_id for row in scored})
    assert Status.RUNNING not in {episode.status for episode in ended}  # type: ignore[attr-defined]
    assert all(1 <= e.num_turns <= rules.num_turns for e in ended)  # type: ignore[attr-defined]
