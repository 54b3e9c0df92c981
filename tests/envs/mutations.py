"""Real answers, damaged: what a model writes that has seen the format and lost its way."""

from collections.abc import Callable, Sequence
from random import Random

LONGEST = 100_000
"""Characters of a mutated answer."""
INSERTS = (
    "日本語", "\u202e", "\u200b", "\x00", "\ud800", "é", "🚀", "\r\n", "\t", "1e999", "nan", "-1",
    "٣", "½", "<|im_end|>", "<|im_start|>assistant\n", "</think>", "<think>", "</s>", "[INST]",
    "\\boxed{", "}", "```", "```python\n", "\n```\n", "[", "]", "(", "'", '"', "\\", "%s", "{0}",
    "$", "#", "None", "__import__('os')._exit(0)", "9" * 5_000, "\u2028", "-" * 50, "**",
    ", ", "; ", "import os",
)  # fmt: skip
Mutation = Callable[[str, Random], str]


def mutate(texts: Sequence[str], rng: Random) -> str:
    """One of the texts after one to four mutations."""
    text = rng.choice(texts)
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(MUTATIONS)(text, rng)
        if rng.random() < 0.1:
            text += rng.choice(["", "\n", " "]) + rng.choice(texts)
        text = text[:LONGEST]
    return text


def _cut(text: str, rng: Random) -> tuple[int, int]:
    first, second = sorted(rng.randint(0, len(text)) for _ in range(2))
    return first, second


def truncate(text: str, rng: Random) -> str:
    first, second = _cut(text, rng)
    return rng.choice([text[:second], text[first:]])


def delete(text: str, rng: Random) -> str:
    first, second = _cut(text, rng)
    return text[:first] + text[second:]


def duplicate(text: str, rng: Random) -> str:
    first, second = _cut(text, rng)
    return text[:second] + text[first:]


def repeat(text: str, rng: Random) -> str:
    first, second = _cut(text, rng)
    return text[:first] + text[first:second] * rng.choice([3, 50, 5_000])


def swap_words(text: str, rng: Random) -> str:
    words = text.split(" ")
    first, second = rng.randrange(len(words)), rng.randrange(len(words))
    words[first], words[second] = words[second], words[first]
    return " ".join(words)


def shuffle_lines(text: str, rng: Random) -> str:
    lines = text.split("\n")
    rng.shuffle(lines)
    return "\n".join(lines)


def replace_character(text: str, rng: Random) -> str:
    if not text:
        return rng.choice(INSERTS)
    position = rng.randrange(len(text))
    return text[:position] + rng.choice(text + "0123456789UDLR[](){}") + text[position + 1 :]


def insert(text: str, rng: Random) -> str:
    position = rng.randint(0, len(text))
    return text[:position] + rng.choice(INSERTS) + text[position:]


def nest(text: str, rng: Random) -> str:
    left, right = rng.choice(["[]", "()", "{}", "\"'", "  "])
    depth = rng.choice([1, 2, 50, 5_000])
    return left * depth + text + right * rng.choice([depth, 0, depth - 1])


def fence(text: str, rng: Random) -> str:
    language = rng.choice(["", "python", "py", "text", "PYTHON3"])
    return f"```{language}\n{text}" + rng.choice(["\n```", "", "\n``", "\n```\n```"])


def wrap(text: str, rng: Random) -> str:
    before, after = rng.choice(
        [
            ("<think>", "</think>"), ("<think>hm</think>\n", ""), ("", "</think>"), ("**", "**"),
            ("\\boxed{", "}"), ("The answer is ", "."), ('{"answer": "', '"}'),
            ("<|im_start|>assistant\n", "<|im_end|>"),
        ]
    )  # fmt: skip
    return before + text + after


def change_case(text: str, rng: Random) -> str:
    return rng.choice([text.upper(), text.lower(), text.swapcase(), text[::-1]])


MUTATIONS: Sequence[Mutation] = (
    truncate, delete, duplicate, repeat, swap_words, shuffle_lines, replace_character, insert, nest,
    fence, wrap, change_case,
)  # fmt: skip
