"""Which program counts where a text holds several blocks, none, or half of one."""

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
        ("", None),
    ],
)
def test_the_last_python_block_counts(text: str, program: str | None) -> None:
    assert find_program(text) == program


def test_lone_surrogates_become_text_that_can_be_written() -> None:
    found = find_program("```python\nprint('\ud800')\n```")
    assert found is not None and found.encode() == b"print('?')\n"
