"""`python -m envs.sandbox`: what this machine guarantees, or one program run within it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from envs.options import parse_options
from envs.sandbox import (
    GUARANTEES,
    Guarantees,
    Outcome,
    Run,
    SandboxOptions,
    SandboxUnavailable,
    open_sandbox,
    probe,
)

_EPILOG = """\
examples:
  python -m envs.sandbox                          which guarantees hold here, tried by attacks
  python -m envs.sandbox program.py < input.txt   run a program; its output goes to stdout
  python -m envs.sandbox - --cpu 5 < program.py   the program itself from stdin, without input
  python -m envs.sandbox program.py --accept filesystem
                                                  on a kernel without Landlock, at your own risk

A program ends well only by reaching its last line: sys.exit(0) counts as a runtime error. The
same limits are set in an experiment's YAML under env.options.sandbox (cpu_s, wall_s, memory_mib,
output_kib, packages, accept_missing).

exit status: 0 all guarantees hold, or the program ended well; 1 otherwise; 2 the command cannot be
understood, or the sandbox refuses to run on this machine
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: see `--help`."""
    chosen = _parser().parse_args(arguments)
    try:
        if chosen.program is None:
            return _show(probe())
        return _run(chosen)
    except (SandboxUnavailable, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m envs.sandbox",
        description="Run a Python program that nobody has read: without files, network, other "
        "processes or more than its share of time and memory.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    defaults = SandboxOptions()
    parser.add_argument("program", nargs="?", help="a Python file, or -; none: show the guarantees")
    parser.add_argument("--cpu", type=float, default=defaults.cpu_s, metavar="SECONDS",
                        help="CPU seconds of all threads (default %(default)s)")  # fmt: skip
    parser.add_argument("--wall", type=float, default=defaults.wall_s, metavar="SECONDS",
                        help="seconds by the clock (default %(default)s)")  # fmt: skip
    parser.add_argument("--memory", type=int, default=defaults.memory_mib, metavar="MIB",
                        help="address space (default %(default)s)")  # fmt: skip
    parser.add_argument("--output", type=int, default=defaults.output_kib, metavar="KIB",
                        help="of stdout, and of stderr (default %(default)s)")  # fmt: skip
    parser.add_argument("--package", action="append", default=[], metavar="NAME",
                        help="a third-party package that may be imported, e.g. numpy")  # fmt: skip
    parser.add_argument("--accept", action="append", default=[], metavar="GUARANTEE",
                        help="run without it where it is missing: "
                        + ", ".join(GUARANTEES))  # fmt: skip
    return parser


def _show(found: Guarantees) -> int:
    print(f"layers in force: {', '.join(found.layers) or 'none'}, and limits of the process")
    for name, promise in GUARANTEES.items():
        print(f"  {'MISSING' if name in found.missing else 'holds':8} {name:11} {promise}")
    if found.missing:
        print(found.why(found.missing))
    return int(bool(found.missing))


def _run(chosen: argparse.Namespace) -> int:
    options = parse_options(
        SandboxOptions,
        "sandbox",
        {
            "cpu_s": chosen.cpu, "wall_s": chosen.wall, "memory_mib": chosen.memory,
            "output_kib": chosen.output, "packages": chosen.package,
            "accept_missing": chosen.accept,
        },
    )  # fmt: skip
    if chosen.program == "-":
        run = Run(sys.stdin.read())
    else:
        text = Path(chosen.program).read_text()
        run = Run(text, "" if sys.stdin.isatty() else sys.stdin.read())
    result = open_sandbox(options).run(run)
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr + "\n" * bool(result.stderr))
    print(f"{result.outcome}: {result.cpu_s:.3f} s CPU, {result.wall_s:.3f} s", file=sys.stderr)
    return int(result.outcome is not Outcome.OK)


if __name__ == "__main__":
    sys.exit(main())
