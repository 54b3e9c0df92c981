"""No cheat escapes; each harmless one is shown to succeed outside the sandbox, by the same eyes.

Cheats against a guarantee that this machine lacks are skipped by name, and printed.
"""

import platform
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from envs.sandbox import (
    GUARANTEES,
    Outcome,
    Result,
    Run,
    Sandbox,
    SandboxOptions,
    judged,
)
from tests.envs.sandbox.cheats import ANSWER, FILES, KERNEL, NETWORK, PROCESSES, SIGNALS, Cheat
from tests.envs.sandbox.cheats_across_runs import HANDOVERS, Handover
from tests.envs.sandbox.cheats_at_grading import ENDS, LIMITS, STATE
from tests.envs.sandbox.host import Host
from tests.envs.sandbox.machine import MISSING

CHEATS = [*FILES, *NETWORK, *PROCESSES, *SIGNALS, *KERNEL, *LIMITS, *ENDS, *STATE]
PRIVILEGED = ("a thread in a namespace of its own", "watch the processor's counters")
CAP_SYS_ADMIN = 21
X86_ONLY = ("a 32-bit system call", "an x32 system call", "raw vfork")


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[bool, Sandbox]]:
    """A hasty and a patient one for all: what one run leaves behind would harm the next."""
    if MISSING:
        print(f"guarantees missing on this machine: {', '.join(MISSING)}")
    patient = SandboxOptions(cpu_s=2, wall_s=20, memory_mib=256, accept_missing=MISSING)
    hasty = patient.model_copy(update={"cpu_s": 0.2, "wall_s": 0.8})
    opened = {True: Sandbox(hasty), False: Sandbox(patient)}
    yield opened
    for sandbox in opened.values():
        sandbox.close()


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with Host(tmp_path_factory.mktemp("host")) as made:
        yield made


@pytest.fixture
def host(targets: Host) -> Iterator[Host]:
    """Targets that nobody has harmed."""
    yield targets
    if targets.damage(""):
        targets.renew()


def by_name(cheat: Cheat | Handover) -> str:
    return cheat.name.replace(" ", "-")


@pytest.mark.parametrize("cheat", CHEATS, ids=by_name)
def test_escape(cheat: Cheat, sandboxes: dict[bool, Sandbox], host: Host) -> None:
    sandbox = sandboxes[cheat.outcome is Outcome.TIMEOUT]
    skip_if_missing(cheat, sandbox)
    result = sandbox.run(Run(with_targets(cheat, host), cheat.stdin))
    assert host.damage(result.stdout, result.stderr) == []
    assert judged(result, ANSWER) is not Outcome.OK
    assert result.outcome is not Outcome.SANDBOX_ERROR, result
    if cheat.outcome:
        assert result.outcome is cheat.outcome, result
    assert survivors(sandbox) == leftovers(sandbox) == []


@pytest.mark.parametrize("cheat", [c for c in CHEATS if c.control], ids=by_name)
def test_control(cheat: Cheat, host: Host, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same attack in a plain interpreter gets through, or our eyes are shut."""
    if cheat.name in X86_ONLY and platform.machine() != "x86_64":
        pytest.skip("another instruction set")
    if cheat.name in PRIVILEGED and not privileged():
        pytest.skip(f"only for root, even outside: {cheat.name}")
    done = plainly(with_targets(cheat, host), tmp_path_factory.mktemp("scratch"), host.secret)
    naive = Outcome.OK if done.returncode == 0 else Outcome.RUNTIME_ERROR
    passed = judged(Result(naive, done.stdout, done.stderr, 0, 0), ANSWER) is Outcome.OK
    if not passed and not host.damage(done.stdout, done.stderr):
        time.sleep(0.5)  # a signal on its way, a daemon that begins
        assert host.damage(done.stdout, done.stderr), done


@pytest.mark.parametrize("cheat", HANDOVERS, ids=by_name)
def test_nothing_passes_from_run_to_run(cheat: Handover, sandboxes: dict[bool, Sandbox]) -> None:
    sandbox, word = sandboxes[False], new_word()
    skip_if_missing(cheat, sandbox)
    sandbox.run(Run("pass"))  # no lane is new
    runs = [Run(f"W = {word!r}\n{cheat.leave}"), Run(cheat.look), Run("print(42)")]
    results = sandbox.run_many(runs, workers=2 if cheat.together else 1)
    assert seen(word, results[1].stdout) == []
    assert judged(results[2], ANSWER) is Outcome.OK, results[2]
    assert leftovers(sandbox) == []


@pytest.mark.parametrize("cheat", [c for c in HANDOVERS if c.control], ids=by_name)
def test_control_of_what_passes(
    cheat: Handover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two plain interpreters in one folder everything passes."""
    folder, word = tmp_path / "lane" / "scratch", new_word()
    folder.mkdir(parents=True)
    programs = [f"W = {word!r}\n{cheat.leave}", cheat.look]
    with ThreadPoolExecutor(2 if cheat.together else 1) as pool:
        _, looked = pool.map(lambda program: plainly(program, folder), programs)
    if "Operation not supported" in looked.stderr:
        pytest.skip(f"not on this file system: {cheat.name}")
    assert seen(word, looked.stdout), looked


def new_word() -> str:
    """Nine digits: a time, too."""
    return str(10**8 + secrets.randbelow(9 * 10**8))


def seen(word: str, said: str) -> list[str]:
    return [found for found in (word, "ESCAPED") if found in said]


def plainly(program: str, folder: Path, secret: str = "") -> subprocess.CompletedProcess[str]:
    """Run it in an interpreter that nobody guards."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, cwd=folder,
        env={"SECRET": secret}, timeout=20,
    )  # fmt: skip


def privileged() -> bool:
    """May this process make namespaces?"""
    (effective,) = re.findall(r"CapEff:\s+(\w+)", Path("/proc/self/status").read_text())
    return bool(int(effective, 16) >> CAP_SYS_ADMIN & 1)


def with_targets(cheat: Cheat, host: Host) -> str:
    return f"import json\nT = json.loads({host.targets()!r})\n{cheat.program}"


def skip_if_missing(cheat: Cheat | Handover, sandbox: Sandbox) -> None:
    if cheat.guarantee in sandbox.guarantees.missing:
        pytest.skip(f"this machine does not guarantee {cheat.guarantee}: {cheat.name}")
    if cheat.name in X86_ONLY and platform.machine() != "x86_64":
        pytest.skip("another instruction set")


def survivors(sandbox: Sandbox) -> list[psutil.Process]:
    """Processes below a lane: none may be there between two runs."""
    assert sandbox._started
    server = psutil.Process(sandbox._started[0].process.pid)
    return [below for lane in server.children() for below in lane.children(recursive=True)]


def leftovers(sandbox: Sandbox) -> list[Path]:
    """All that lies in or beside the lanes' folders, which are empty between two runs."""
    assert sandbox._started
    folder = Path(sandbox._started[0].folder)
    return [path for path in folder.rglob("*") if path.parent != folder or not path.is_dir()]


def test_readme_names_every_cheat() -> None:
    readme = (Path(__file__).parents[3] / "envs" / "sandbox" / "README.md").read_text()
    named = [*CHEATS, *HANDOVERS]
    assert [cheat.name for cheat in named if cheat.name not in readme] == []
    assert f"0 of {len(named)} escape" in readme
    assert f"harmless ({sum(cheat.control for cheat in named)})" in readme
    assert [name for name in GUARANTEES if f"| `{name}` |" not in readme] == []
