"""An interrupt comes once and is not lost, wherever Python is when it comes."""

import gc
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.interrupts import STOPS, interruptible


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Begun with handlers that nobody left behind: after an interrupted command they stay."""
    hook = sys.unraisablehook
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOPS}
    yield
    assert sys.unraisablehook is hook
    for number, handler in before.items():
        signal.signal(number, handler)


def strike(*_: object) -> None:
    """A signal whose handler runs before this returns."""
    os.kill(os.getpid(), signal.SIGTERM)
    end = time.monotonic() + 1
    while signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN and time.monotonic() < end:
        pass


class Thing:
    """Something that can be referred to weakly."""


class Finalised:
    """Struck while it is finalised."""

    def __del__(self) -> None:
        strike()


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_is_an_interrupt_once(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        os.kill(os.getpid(), number)
        time.sleep(5)
    for stop in STOPS:
        os.kill(os.getpid(), stop)  # without effect
        assert signal.getsignal(stop) is signal.SIG_IGN


def test_an_interrupt_in_a_finaliser_comes_again() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        thing = Finalised()
        del thing
        time.sleep(5)


def test_an_interrupt_in_the_callback_of_a_weak_reference_comes_again() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        thing = Thing()
        thing.itself = thing  # type: ignore[attr-defined]
        reference = weakref.ref(thing, strike)
        del thing
        gc.collect()
        assert reference() is None
        time.sleep(5)


IN_A_STRING = """
import sys
from pipelines.interrupts import interruptible

try:
    with interruptible():
        exec("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)")
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_interrupt_in_code_from_a_string_leaves_the_exit_code_alone(tmp_path: Path) -> None:
    (tmp_path / "struck.py").write_text(IN_A_STRING)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path)])
    child = subprocess.run(
        [sys.executable, "-m", "struck"], env=os.environ | {"PYTHONPATH": paths}, timeout=60
    )
    assert child.returncode == 130


def test_other_faults_of_finalisers_are_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("no luck")

    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(sys, "unraisablehook", lambda found: told.append(str(found.exc_value)))
        with interruptible():
            thing = Broken()
            del thing
    assert told == ["no luck"]


def test_without_a_signal_nothing_is_changed() -> None:
    before = [signal.getsignal(number) for number in STOPS]
    with interruptible():
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in STOPS] == before


AT_AN_IMPORT = """
import builtins, os, signal
real = builtins.__import__

def struck(name, *rest, **more):
    if name == "components.errors":
        builtins.__import__ = real
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest, **more)

builtins.__import__ = struck
"""


def test_an_interrupt_while_the_command_is_imported_just_ends_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(AT_AN_IMPORT)
    child = subprocess.run(
        [sys.executable, "-m", "pipelines", "status"], cwd=Path(__file__).parents[2], timeout=60,
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (child.returncode, child.stdout, child.stderr) == (130, "", "")
