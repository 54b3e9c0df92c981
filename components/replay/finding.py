"""Which play of an episode is meant: its iteration, and training or an evaluation.

What a run does not have is answered with some of what it has, and the command that shows all.
"""

from collections.abc import Callable, Sequence

from components.errors import ConfigError
from components.replay.plays import Play, plays
from components.state import latest_iteration
from components.storage import Store
from envs.base import Split

NOT_KEPT = (
    "Held-out answers are kept of greedy play by `rollout` and `evaluate`, not of runs that older "
    "versions made, nor of `compare --evaluate`"
)
_SHOWN = 3
"""Ids in a message: of thousands the form is what helps."""


def find_iteration(store: Store, run: str, episode: str, play: str | None = None) -> int:
    """The last iteration that played this episode. ConfigError names what was played last."""
    last = latest_iteration(store, run) or 0
    names: dict[str, None] = {}
    others: list[str] = []
    newest: tuple[int | None, list[Play]] = None, []
    for iteration in range(last + 1, -1, -1):  # one may be under way
        every = list(plays(store, run, iteration))
        having = [it.name for it in every if episode in it.episodes]
        if play in having or (having and play is None):
            return iteration
        others = others or having
        names |= dict.fromkeys(it.name for it in every)
        newest = newest if newest[1] else (iteration, every)
    where = f"run {run!r}"
    if play is not None:
        _check_play(play, where, list(names))
    if others:
        raise _not_in(where, episode, play, others)
    raise _unknown(store, run, where, episode, *newest)


def find_play(
    store: Store, run: str, iteration: int, episode: str, name: str | None,
    say: Callable[[str], None],
) -> Play:  # fmt: skip
    """The play that is asked for. ConfigError says what the iteration has instead."""
    every = list(plays(store, run, iteration))
    where = f"run {run!r}, iteration {iteration}"
    if name is not None:
        _check_play(name, where, [play.name for play in every])
    having = [play for play in every if episode in play.episodes]
    if not having:
        raise _unknown(store, run, where, episode, iteration, every)
    chosen = next((play for play in having if name in (None, play.name)), None)
    if chosen is None:
        raise _not_in(where, episode, name, [play.name for play in having])
    if len(having) > 1 and name is None:
        others = ", ".join(repr(play.name) for play in having if play is not chosen)
        say(f"as played in {chosen.name!r}; --play chooses another: {others}")
    return chosen


def _check_play(name: str, where: str, known: Sequence[str]) -> None:
    if name not in known:
        has = ", ".join(map(repr, known)) or "none with stored answers"
        raise ConfigError(f"--play {name!r}: {where} has no such play; it has {has}")


def _not_in(where: str, episode: str, play: str | None, having: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"{where}: no stored answers of episode {episode!r} in {play!r}; it was played in "
        f"{', '.join(map(repr, having))}: expected --play with one of these"
    )


def _unknown(
    store: Store, run: str, where: str, episode: str, iteration: int | None, every: Sequence[Play]
) -> ConfigError:
    """Shows ids of the play that the id's own form points to."""
    held_out = any(split in episode.split("/") for split in (Split.VALIDATION, Split.TEST))
    fitting = [play for play in every if (play.benchmark is not None) == held_out]
    text = f"{where}: no stored answers of episode {episode!r}"
    if fitting:
        play = _nearest(fitting, episode)
        more = f" and {len(play.episodes) - _SHOWN} more" if len(play.episodes) > _SHOWN else ""
        text += (
            f"; {play.name} of iteration {iteration} has {', '.join(play.episodes[:_SHOWN])}{more}:"
            f" `python -m pipelines episodes {run} --iteration {iteration} --store {store.uri}` "
            "shows all"
        )
    elif every:
        names = ", ".join(repr(play.name) for play in every)
        text += f"; of iteration {iteration} only {names} is kept"
    else:
        text += f", nor of any other in {store.uri}"
    return ConfigError(f"{text}. {NOT_KEPT}" if held_out else text)


def _nearest(every: Sequence[Play], episode: str) -> Play:
    """The first play whose ids begin as this one does, up to its number; else the first."""
    begin = episode.rpartition("/")[0] + "/"
    near = (play for play in every if any(other.startswith(begin) for other in play.episodes))
    return next(near, every[0])
