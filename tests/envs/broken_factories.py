"""Factories that build no environment."""


def make_bare(options, reward):
    """Anything but an environment."""
    return object()


def make_liar(options, reward):
    """An environment that fails its check."""
    from tests.envs.broken import SaysNothing

    return SaysNothing()
