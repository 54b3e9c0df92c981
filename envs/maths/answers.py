"""The answer in a text: the last box of a writer, the last printed line of a program.

A number in free prose is no answer. Whether an answer is right is `grading.py`'s question.
"""

import re

MAX_ANSWER = 400
"""Characters of an answer; anything longer is not one."""
_BOX = re.compile(r"\\boxed\s{0,8}\{")
_NOT_VALUES = re.compile(
    r"[-+]?(nan|inf|infinity|none|null|undefined|error)|traceback .*|\w*(error|exception)\b.*",
    re.IGNORECASE | re.DOTALL,
)


def extract_boxed(text: str) -> str | None:
    r"""What stands in the last `\boxed{...}` after a closing `</think>`.

    None if there is none, or if the last one is never closed: it was cut off, and an earlier box
    is no longer what the writer meant. Escaped braces (`\{`) do not count. Linear in the text.
    """
    answer = text.rpartition("</think>")[2]
    opening, begin = None, len(answer)
    while opening is None and (begin := answer.rfind("\\boxed", 0, begin)) >= 0:
        opening = _BOX.match(answer, begin)
    if opening is None:
        return None
    end = _closing(answer, opening.end())
    return None if end is None else answer[opening.end() : end].strip()


def boxed_answer(text: str) -> str | None:
    """The answer of a role that writes: its last box, if that can be an answer at all."""
    return _answer(extract_boxed(text))


def printed_answer(stdout: str) -> str | None:
    """The answer of a program that ended well: the last line that is not blank.

    A box around it is taken off; a traceback or an error's message is none, whoever printed it.
    """
    lines = stdout.strip().rsplit("\n", 1)
    line = lines[-1].strip()
    return _answer(extract_boxed(line) if "\\boxed" in line else line)


def is_value(answer: str) -> bool:
    """False for what can never be right: empty, too long, nan, inf, the name of an error."""
    plain = answer.strip().strip("$").strip()
    if len(plain) > MAX_ANSWER or not any(letter.isalnum() for letter in plain):
        return False
    return _NOT_VALUES.fullmatch(plain) is None


def _answer(text: str | None) -> str | None:
    if text is None or not is_value(text):
        return None
    return text.encode("utf-8", "replace").decode()


def _closing(text: str, start: int) -> int | None:
    """Where the brace opened just before `start` is closed."""
    depth, at = 1, start
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return None
