"""One Chromium for all tests that look at pages."""

from collections.abc import Iterator

import pytest

from tests.doubles.chromium import PROGRAM, Page, browser


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    """A tab of a real browser; the tests are skipped where none is installed."""
    if PROGRAM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with browser() as tab:
        yield tab
