"""What in a role's text is its answer, and what a checker decided.

The answer is what stands in the last closed `<answer>...</answer>`, without white space around it;
everything up to a closing `</think>` is dropped. A text without one, or with an empty or an
oversized one, has no answer.
"""

MAX_CHARACTERS = 40_000
"""Of a text; the end is read."""
MAX_ANSWER = 10_000
"""Characters of an answer."""
OPEN, CLOSE = "<answer>", "</answer>"
CONFIRMED = "<verdict>right</verdict>"


def find_answer(text: str) -> str | None:
    """The answer, as valid Unicode, or None."""
    plain = _plain(text)
    end = plain.rfind(CLOSE)
    start = plain.rfind(OPEN, 0, max(end, 0))
    if end < 0 or start < 0:
        return None
    answer = plain[start + len(OPEN) : end].strip()
    return answer if 0 < len(answer) <= MAX_ANSWER else None


def confirms(text: str) -> bool:
    """Whether a checker says that the answer it sees is right, after all that it answers itself."""
    plain = _plain(text)
    return plain.rfind(CONFIRMED) > plain.rfind(CLOSE)


def tagged(answer: str) -> str:
    """An answer as a role writes it."""
    return f"{OPEN}{answer}{CLOSE}"


def _plain(text: str) -> str:
    return text[-MAX_CHARACTERS:].encode("utf-8", "replace").decode().rpartition("</think>")[2]
