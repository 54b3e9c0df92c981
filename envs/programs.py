"""The Python program in a model's text, for every role that writes one. Nothing is run here."""

import re

MAX_CHARACTERS = 40_000
"""Of a text; the end is read."""
_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE
)
_PYTHON = ("py", "py3", "python", "python3")


def find_program(text: str) -> str | None:
    """The last fenced block labelled Python, or the last without a label where none is labelled.

    None where there is neither; blank blocks do not count. Everything up to a closing `</think>`
    is dropped. A block that the length limit cut off counts to the end of the text.
    """
    answer = text[-MAX_CHARACTERS:].rpartition("</think>")[2]
    blocks = [(name.lower(), body) for _, name, body in _FENCE.findall(answer) if body.strip()]
    labelled = [body for name, body in blocks if name in _PYTHON]
    programs = labelled or [body for name, body in blocks if not name]
    return programs[-1].encode("utf-8", "replace").decode() if programs else None
