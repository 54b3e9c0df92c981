"""Numbers that people write in names: iterations, turns, candidates, versions."""

MAX_DIGITS = 9


def is_number(text: str) -> bool:
    """Whether it is a whole number in decimal digits, and one that anything could be counted by.

    Longer ones are names at best: `int` refuses some thousands of digits, databases 20.
    """
    return text.isdecimal() and text.isascii() and len(text) <= MAX_DIGITS
