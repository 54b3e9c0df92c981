"""Environments and states of hand-made questions for the tests."""

from envs.base import Split, Task
from envs.reasoning_gym import entries
from envs.registry import make_environment

RIGHT = "<verdict>right</verdict>"
LETTERS = {
    "question": "Reverse this word: desserts",
    "answer": "stressed",
    "metadata": {"word": "desserts"},
}
"""An entry of spell_backward, whose grader counts the letters that are in their place."""


def make_env(task="spell_backward", reward="dense", **options):
    """The adapter of one generator."""
    return make_environment("reasoning_gym", {"task": task, **options}, reward)


def begin(task="spell_backward", entry=LETTERS, reward="dense", **options):
    """Environment and first state for an entry."""
    env = make_env(task, reward, **options)
    payload = {"task": task, "config": options.get("config", {}), "entry": entries.to_json(entry)}
    return env, env.reset(Task("hand-made", Split.TEST, 0, payload))


def tag(answer):
    """As a role writes it."""
    return f"Let me see. <answer>{answer}</answer>"


def prompt(env, state, role="reasoner"):
    """The text of the only message."""
    (message,) = env.observe(state, role)
    return message["content"]
