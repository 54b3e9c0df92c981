"""tests/README.md lists every test of a known fault, and only tests that exist."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
APPLY = set(range(1, 12))


def test_the_list_is_complete() -> None:
    defined = {
        (str(path.relative_to(TESTS)), name)
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_fault_\d+_\w+)", path.read_text(), re.M)
    }
    listed = {
        (line.split("`")[1], name)
        for line in (TESTS / "README.md").read_text().splitlines()
        for name in re.findall(r"`(test_fault_\w+)`", line)
    }
    assert listed == defined
    assert {int(name.split("_")[2]) for _, name in defined} == APPLY
