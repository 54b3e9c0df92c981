"""The parts of the report's page, one function each; a part without content is empty text."""

from collections.abc import Mapping, Sequence
from html import escape
from statistics import fmean
from typing import Any

from components.config import OPEN_ENDED
from components.reporting.budget import Hardware
from components.reporting.charts import interval_note
from components.reporting.experiments import Experiment, differences
from components.reporting.markup import card, counted, link, section, table
from components.reporting.results import (
    before_and_after,
    cost_table,
    costs,
    methods_table,
    signal_table,
)
from components.reporting.spread import success_over_seeds
from components.reporting.summary import Result, RunSummary
from components.reporting.table import MISSING, header, interval, line, number, percent

NAMES = {
    "validation": "trained team, validation",
    "validation/reference": "reference team, validation",
    "validation/swapped": "policies swapped, validation",
    "test": "trained team, test",
}


def facts(found: Sequence[Experiment]) -> str:
    """What was trained, in a sentence or two."""
    if len(found) != 1:
        return "; ".join(f"{item.label}: {_seeds(item)}" for item in found)
    config = found[0].config
    rollout = config.rollout
    roles = ", ".join(f"{role} → {policy}" for role, policy in config.roles.items())
    return (
        f"{config.env_names}, {roles}. {counted(rollout.num_tasks, 'task')}, "
        f"{counted(rollout.num_candidates, 'candidate')}, at most "
        f"{counted(rollout.num_turns, 'turn')}; {rollout.sampling} sampling, {_seeds(found[0])}."
    )


def headline(found: Sequence[Experiment], hardware: Hardware) -> str:
    """The numbers that a reader looks for first; of several experiments the tables say them."""
    if not any(run.rows for item in found for run in item.runs):
        return "<p>This run has no committed iteration yet.</p>"
    if len(found) != 1:
        return ""
    item = found[0]
    ends = [both for run in item.runs if (both := before_and_after(run)) is not None]
    if not ends:
        return "<p>No team of this run was evaluated.</p>"
    first, last = (success_over_seeds(end, item.confidence) for end in zip(*ends, strict=True))
    cards = [
        card("success on held-out tasks", f"{100 * first.estimate:.1f} → {percent(last.estimate)}",
             f"interval {interval(last.low, last.high)} %"),
        *_turn_card(item),
        *_swapped_card(item),
        *_spent_cards(item, hardware),
    ]  # fmt: skip
    return f"<div class=cards>{''.join(cards)}</div>"


def verdict(summary: RunSummary) -> str:
    """What the gate said."""
    answer = summary.verdict
    if answer is None:
        return "<h2>Promotion <span class='pill idle'>not asked</span></h2>"
    words = {True: ("good", "promoted"), False: ("bad", "refused"), None: ("idle", "unknown")}
    kind, word = words[answer.get("promoted")]
    reasons = "".join(f"<p>{escape(str(reason))}</p>" for reason in answer.get("reasons", []))
    return f"<h2>Promotion <span class='pill {kind}'>{word}</span></h2>{reasons}{_asked(answer)}"


def _asked(answer: Mapping[str, Any]) -> str:
    """When, and against whom: the gate may be asked again, when another team is the champion."""
    if not {"to", "from", "when"} <= set(answer):
        return ""
    against = (
        f"the champion {answer['from']}" if answer["from"] else "the team that the run began with"
    )
    said = f"{answer['to']} against {against}, asked on {answer['when']}."
    return f"<p class=note>{escape(said)}</p>"


def methods(found: Sequence[Experiment]) -> str:
    """Method by environment."""
    head, body = methods_table(found)
    note = f"Solved held-out tasks in %, {interval_note(found)}. Test tasks never choose a team."
    return section("Results", table(head, body, caption="Method by environment") if body else "",
                   note=note)  # fmt: skip


def cost(found: Sequence[Experiment], hardware: Hardware) -> str:
    """What it took."""
    head, body = cost_table(found, hardware)
    note = (
        "Of one run, mean over seeds, without the closing evaluation. Candidates are the sampling "
        "budget. GPU-hours are the steps' seconds times the GPUs that the profile books; a laptop "
        "has CPU-hours. Per point: for each percentage point of held-out success gained."
    )
    known = any(run.rows for item in found for run in item.runs)
    return section("Cost", table(head, body, caption="Cost") if known else "", note=note)


def final_evaluation(summary: RunSummary) -> str:
    """The closing evaluation's benchmarks."""

    def cells(name: str, result: Result) -> list[str]:
        return [
            NAMES.get(name, name), percent(result.success), interval(result.low, result.high),
            number(result.turns_mean, 2), str(result.num_tasks),
        ]  # fmt: skip

    order = [name for name in NAMES if name in summary.final]
    order += [name for name in summary.final if name not in NAMES]
    head = ["benchmark", "success", "interval, %", "turns", "tasks"]
    body = [cells(name, summary.final[name]) for name in order]
    note = "Greedy play. Test tasks are played once, here, and never choose a team."
    if summary.overtaken:
        note = f"Of iteration {summary.final_iteration}'s team; the run went on since. {note}"
    content = table(head, body, caption="Final evaluation") if body else ""
    return section("Final evaluation", content, note=note)


def signal(found: Sequence[Experiment]) -> str:
    """Groups by role and turn."""
    head, body = signal_table(found)
    note = "By the group certificates: a group without variance teaches nothing."
    content = table(head, body, caption="Groups by role and turn") if body else ""
    return section("Signal by role and turn", content, note=note)


def setting_differences(found: Sequence[Experiment]) -> str:
    """What the experiments do not share."""
    if len(found) < 2:
        return ""
    rows = differences([item.config for item in found])
    body = [[key, *values] for key, values in rows.items()]
    head = ["setting", *(item.label for item in found)]
    return section("Settings that differ", table(head, body, caption="Settings that differ"))


def run_list(runs: Sequence[RunSummary], links: Mapping[str, str]) -> str:
    """Every run with its seed, its last success and a link to its episodes."""
    lines = []
    for run in runs:
        rows = run.evaluated
        last = f"success {percent(rows[-1].success)}" if rows else "not evaluated"
        made = run.rows[-1].iteration if run.rows else 0
        total = counted(max(made, run.config.iterations), "iteration")
        ended = run.config.iterations == OPEN_ENDED
        done = counted(made, "iteration") if ended else f"{made} of {total}"
        episodes = f", {link(links[run.run], 'its episodes')}" if run.run in links else ""
        lines.append(
            f"<li><b>{escape(run.run)}</b>, seed {run.config.seed}, {done}, {last}{episodes}</li>"
        )
    return section("Runs", f"<ul class=card>{''.join(lines)}</ul>")


def iteration_table(summary: RunSummary) -> str:
    """The text table's rows."""
    body = [line(row, summary) for row in summary.rows]
    content = table(header(summary), body, "last", "Iterations") if body else ""
    return section("Iterations", content)


def certificates(summary: RunSummary) -> str:
    """Totals of the group certificates."""
    names = ("num_groups", "num_samples", "num_failed", "num_starved", "num_violations")
    body = [
        [
            str(row.iteration),
            *(number(row.metrics.get(f"grouping/{name}"), 0) for name in names),
            " ".join(
                f"{role} {row.metrics.get(f'grouping/{role}/frac_reward_zero_std', 0.0):.0%}"
                for role in summary.roles
            )
            or MISSING,
        ]
        for row in summary.rows
        if "grouping/num_groups" in row.metrics
    ]
    head = ["iteration", "groups", "samples", "failed", "starved", "violations", "without signal"]
    note = "Groups that advantages were computed in, by the group certificates."
    content = table(head, body, "last", "Groups by iteration") if body else ""
    return section("Groups", content, note=note)


def _seeds(item: Experiment) -> str:
    """`seed 0`, `seeds 0, 1`."""
    named = ", ".join(str(run.config.seed) for run in item.runs)
    return f"seed {named}" if len(item.runs) == 1 else f"seeds {named}"


def _turn_card(item: Experiment) -> list[str]:
    pairs = [(run.evaluated[0].turns_mean, run.evaluated[-1].turns_mean)
             for run in item.runs if run.evaluated]  # fmt: skip
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known:
        return []
    before, after = (fmean(values) for values in zip(*known, strict=True))
    return [card("turns per episode", f"{before:.2f} → {after:.2f}", "mean of held-out tasks")]


def _swapped_card(item: Experiment) -> list[str]:
    results = [run.final["validation/swapped"] for run in item.runs
               if "validation/swapped" in run.final]  # fmt: skip
    if not results:
        return []
    value, low, high = success_over_seeds(results, item.confidence)
    note = f"interval {interval(low, high)} %"
    return [card("the same team, policies swapped", percent(value), note)]


def _spent_cards(item: Experiment, hardware: Hardware) -> list[str]:
    each, gain = costs(item, hardware)
    candidates = fmean(one.candidates for one in each)
    tokens = fmean(one.tokens for one in each)
    uses_gpus = any(one.gpu_h for one in each)
    hours = fmean(one.gpu_h if uses_gpus else one.cpu_h for one in each)
    unit = "GPU-hours" if uses_gpus else "CPU-hours"
    each_point = (
        f"{hours / gain:.2g} for a point of success" if gain and gain > 0 else "no point gained"
    )
    return [
        card("sampling budget", f"{candidates:,.0f}", f"candidates, {tokens:,.0f} tokens"),
        card(unit, f"{hours:.3g}", each_point),
    ]
