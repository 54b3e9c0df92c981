"""What the roles read. The questions are the package's own words."""

from envs.base import Message
from envs.quoting import quotable
from envs.reasoning_gym.answers import CLOSE, CONFIRMED, OPEN
from envs.reasoning_gym.grading import read
from envs.reasoning_gym.options import ReasoningGymOptions
from envs.reasoning_gym.state import GymState, Reply

MAX_ANSWER = 1_000
"""Characters of an answer that a prompt shows (the end of it)."""
_QUESTION = """\
Answer this question.

{question}
"""
_CHECK = """\
You check the answer of a reasoner to this question.

{question}

The reasoner wrote:
{text}

Its answer: {answer}
"""
_WRITE = f"""
Think briefly, then end with the answer alone between {OPEN} and {CLOSE}."""
_DECIDE = f"""
Think briefly. If the answer is right, end with {CONFIRMED}. If not, end with the right answer \
alone between {OPEN} and {CLOSE}."""
_NONE = "none was given"


def observe(options: ReasoningGymOptions, state: GymState, role: str) -> list[Message]:
    """One user message: question, what came of the turn before, how to answer."""
    question = read(state.entry)["question"]
    if role == "checker" and options.order == "serial":
        reply = state.proposal or Reply("reasoner", None)
        scene = _CHECK.format(
            question=question, text=reply.text or "(nothing)", answer=_shown(reply.answer)
        )
        return [{"role": "user", "content": scene + _before(state) + _DECIDE}]
    scene = _QUESTION.format(question=question)
    return [{"role": "user", "content": scene + _before(state) + _WRITE}]


def _before(state: GymState) -> str:
    """The answers of the turn before, none of which was right; nothing in the first turn."""
    lines = [f"The {reply.role}'s answer in the turn before was not right: {_shown(reply.answer)}\n"
             for reply in state.last]  # fmt: skip
    return "\n" + "".join(lines) if lines else ""


def _shown(answer: str | None) -> str:
    return _NONE if answer is None else quotable(answer, MAX_ANSWER)


def picture(state: GymState) -> str:
    """The question, and what was answered, for a person."""
    lines = [read(state.entry)["question"]]
    lines += [f"turn before, {reply.role}: {_shown(reply.answer)} (not right)"
              for reply in state.last]  # fmt: skip
    if state.proposal:
        lines.append(f"{state.proposal.role}: {_shown(state.proposal.answer)}")
    return "\n".join(lines)
