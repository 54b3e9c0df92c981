"""Which program counts where a text holds several blocks, none, or half of one."""

import time

import pytest

from envs.programs import find_program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("so:\n```python\nprint(1)\n```\nand\n```js\nlet a\n```\n", "print(1)\n"),
        ("```python\na\n```\nbetter:\n```py\nb\n```", "b\n"),
        ("```\nx = 1\ny = 2", "x = 1\ny = 2"),
        ("<think>\n```python\nwrong\n```\n</think>\n```python\nright\n```", "right\n"),
        ("<think>\n```python\nwrong\n```\n</think> nothing", None),
        ("```python\nfirst\n```\n```python\n\n```", "first\n"),
        ("print(1)", None),
        ("```python\nprint(1)\n```\nexample output:\n```\n1\n```\n", "print(1)\n"),
        ("```\nan example\n```\n```Python\nprint(1)\n```\n```text\n1\n```", "print(1)\n"),
        ("```\na = 1\n```\nor\n```\nb = 1\n```\n```python\n\n```", "b = 1\n"),
        ("~~~python\nx = 1\n```\n~~~\n```\n1\n```", "x = 1\n```\n"),
        ("~~~\nx = 1\n~~~", "x = 1\n"),
        ("````python\nx = 1\n```\n````\nso", "x = 1\n```\n"),
        ("```js\nlet a\n```", None),
        ("", None),
    ],
)
def test_the_last_python_block_counts(text: str, program: str | None) -> None:
    assert find_program(text) == program


def test_odd_fences_take_no_time() -> None:
    started = time.process_time()
    for text in (
        "`" * 40_000,
        "```\n" * 10_000,
        "~" * 20_000 + "\n" + "~" * 19_999,
        " \n" * 20_000,
    ):
        find_program(text)
    assert time.process_time() - started < 2


def test_lone_surrogates_become_text_that_can_be_written() -> None:
    found = find_program("```python\nprint('\ud800')\n```")
    assert found is not None and found.encode() == b"print('?')\n"
