"""What holds for all tests."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _no_web_framework_left() -> Iterator[None]:
    """vLLM looks at every value of every loaded module, and flask's proxies raise at a look."""
    yield
    for name in [name for name in sys.modules if name.startswith(("flask", "moto"))]:
        del sys.modules[name]
