"""Hand-made problems and short ways to play them."""

from envs.base import Split, Task
from envs.registry import make_environment

RIGHT = r"So it is \boxed{204}."
WRONG = r"So it is \boxed{205}."
UNBOXED = "The answer is 204."
PROGRAM = "```python\nprint(204)\n```"
ALONE = {"reasoners": 1, "tools": 0}


def make_env(reward="dense", **options):
    """Maths with these options."""
    return make_environment("maths", options, reward)


def make_task(question="What is 200 + 4?", answer="204"):
    """One problem."""
    payload = {"question": question, "answer": answer, "source": "test", "id": ""}
    return Task("hand-made", Split.TEST, 0, payload)


def begin(reward="dense", answer="204", **options):
    """Environment and first state."""
    env = make_env(reward, **options)
    return env, env.reset(make_task(answer=answer))


def boxed(answer):
    """A text that ends with this answer."""
    return f"I think.\n\\boxed{{{answer}}}"


def printing(answer):
    """A program that prints this answer."""
    return f"```python\nprint({str(answer)!r})\n```"


def play_turn(env, state, *texts):
    """One text per role, in order; the last result."""
    for role, text in zip(env.roles, texts, strict=True):
        result = env.step(state, role, text)
        state = result.state
    return result


def earned(env, state, role, text):
    """(team, local parts that are not 0)."""
    rewards = env.step(state, role, text).rewards
    return rewards.team, {part: value for part, value in rewards.local.items() if value}
