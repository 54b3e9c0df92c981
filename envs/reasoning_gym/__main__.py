"""`python -m envs.reasoning_gym`: audit the generators of the installed package.

Prints a row for each as it is done. With `--output` it also writes the findings, which decide
what the environment accepts.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from envs.reasoning_gym import generators, verdicts
from envs.reasoning_gym.auditing import Finding, findings


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 for a name that is no generator."""
    parser = argparse.ArgumentParser(prog="python -m envs.reasoning_gym", description=__doc__)
    parser.add_argument("tasks", nargs="*", help="generators; default: all")
    parser.add_argument("--output", nargs="?", const=str(verdicts.PATH), metavar="FILE",
                        help=f"of all generators, write the findings (default {verdicts.PATH.name} "
                        "of this folder)")  # fmt: skip
    options = parser.parse_args(arguments)
    names = generators.names()
    unknown = sorted(set(options.tasks) - set(names))
    if unknown or (options.tasks and options.output):
        print(
            f"error: {unknown or '--output'}: expected one of {names}"
            if unknown
            else "error: --output needs the findings on all generators; name none",
            file=sys.stderr,
        )
        return 2
    print("comparing the entries that two processes make ...", flush=True)
    done = []
    for finding in findings(options.tasks or names):
        done.append(finding)
        print(f"{len(done):3}/{len(options.tasks or names)} {row(finding)}", flush=True)
    refused = [finding for finding in done if finding.verdict.refused]
    print(f"{len(done)} generators, {len(refused)} refused")
    if options.output:
        version = generators.installed_version()
        content = verdicts.dump(version, {finding.task: finding.verdict for finding in done})
        Path(options.output).write_text(content)
        print(f"written: {options.output}")
    return 0


def row(finding: Finding) -> str:
    """`name  verdict  what was seen`."""
    verdict, trial = finding.verdict, finding.trial
    notes = [f"refused: {verdict.refused}"] if verdict.refused else ["ok"]
    notes += ["needs a pool"] * verdict.needs_pool
    notes += ["no partial credit"] * (not verdict.pays_partial)
    if trial is None:
        return f"{finding.task:26} {'; '.join(notes)}"
    notes += [f"reference right on {trial.right:.0%}"] * (trial.right < 1)
    notes += [f"nonsense right on {trial.nonsense:.0%}"] * (trial.nonsense > 0)
    notes += ["grader raises"] * trial.raises
    notes += [f"{trial.distinct:.0%} of its questions differ"] * (trial.distinct < 1)
    notes += [f"{trial.entry_s:.2f} CPU s an entry"] * (trial.entry_s >= 0.05)
    return f"{finding.task:26} {'; '.join(notes)}"


if __name__ == "__main__":
    sys.exit(main())
