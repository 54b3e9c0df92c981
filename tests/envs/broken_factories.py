"""Factories that build no environment."""


def make_bare(options, reward):
    """Anything but an environment."""
    return object()


def make_liar(options, reward):
    """An environment that fails its check."""
    from tests.envs.broken import SaysNothing

    return SaysNothing()


def make_broken(options, reward):
    """The class of tests/envs/broken.py that the option `name` names."""
    from tests.envs import broken

    return getattr(broken, options["name"])()
