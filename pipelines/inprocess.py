"""Runs a compiled pipeline in this process: the same PipelineSpec that a cluster gets.

It interprets what our pipelines use: tasks, nested DAGs, conditions of equality, constants,
parameters and artifacts of other tasks. Anything else is an error that names it. Loops, exit
handlers, caching and retries are left out.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.errors import RolewiseError

_PLACEHOLDER = re.compile(r"\{\{\$\.inputs\.parameters\['([^']+)'\]\}\}")
_CONDITION = re.compile(
    r"inputs\.parameter_values\['([^']+)'\] == (true|false|'[^']*'|-?\d+(?:\.\d+)?)"
)
_TASK_KEYS = {
    "cachingOptions", "componentRef", "dependentTasks", "inputs", "retryPolicy", "taskInfo",
    "triggerPolicy",
}  # fmt: skip


class PipelineSpecError(RolewiseError):
    """The compiled pipeline uses something that this runner does not interpret."""


@dataclass(frozen=True)
class Values:
    """What flows into or out of a task: parameters and artifacts by name."""

    parameters: Mapping[str, Any]
    artifacts: Mapping[str, Any]


@dataclass(frozen=True)
class _Run:
    spec: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]]
    on_start: Callable[[str], None]


def run_pipeline(
    spec: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]],
    arguments: Mapping[str, Any],
    folder: str | Path,
    on_start: Callable[[str], None] = lambda task: None,
) -> Values:
    """Run all tasks of `spec` one after another; artifacts are written below `folder`.

    `functions` maps the name of a component's function to the function. `on_start` is called with
    each task's name. Errors of a step rise as they are.
    """
    run = _Run(spec, functions, on_start)
    parameters = _with_defaults("pipeline", spec["root"], arguments)
    return _run_dag(run, spec["root"], Values(parameters, {}), Path(folder).resolve())


def _run_dag(run: _Run, component: Mapping[str, Any], inputs: Values, folder: Path) -> Values:
    """The outputs of a DAG."""
    tasks = component["dag"]["tasks"]
    done: dict[str, Values] = {}
    for name in _order(tasks):
        task = tasks[name]
        _check_task(name, task)
        if any(before not in done for before in task.get("dependentTasks", [])):
            continue  # a task that was skipped by its condition skips those after it
        resolved = _inputs(name, task, inputs, done)
        if not _triggered(name, task, resolved):
            continue
        target = run.spec["components"][task["componentRef"]["name"]]
        run_one = _run_dag if "dag" in target else _run_step
        if run_one is _run_step:
            run.on_start(name)
        parameters = _with_defaults(name, target, resolved.parameters)
        done[name] = run_one(run, target, Values(parameters, resolved.artifacts), folder / name)
    return _dag_outputs(component["dag"].get("outputs", {}), done)


def _run_step(run: _Run, component: Mapping[str, Any], inputs: Values, folder: Path) -> Values:
    """Call a component's function with artifacts whose files lie in `folder`."""
    name = _function_name(run.spec, component["executorLabel"])
    if name not in run.functions:
        raise PipelineSpecError(f"step {name!r} is unknown; known: {sorted(run.functions)}")
    definitions = component.get("outputDefinitions", {})
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {
        key: _artifact(key, item["artifactType"]["schemaTitle"], folder)
        for key, item in definitions.get("artifacts", {}).items()
    }
    declared = component.get("inputDefinitions", {}).get("parameters", {})
    parameters = {key: value for key, value in inputs.parameters.items() if key in declared}
    returned = run.functions[name](**parameters, **inputs.artifacts, **outputs)
    keys = list(definitions.get("parameters", {}))
    if keys not in ([], ["Output"]):
        raise PipelineSpecError(f"step {name!r} returns {keys}; expected one unnamed value")
    return Values(dict.fromkeys(keys, returned), outputs)


def _function_name(spec: Mapping[str, Any], executor: str) -> str:
    container = spec["deploymentSpec"]["executors"][executor].get("container", {})
    arguments = container.get("args", [])
    if "--function_to_execute" not in arguments:
        raise PipelineSpecError(f"{executor} is not a lightweight Python component")
    return str(arguments[arguments.index("--function_to_execute") + 1])


def _artifact(name: str, schema_title: str, folder: Path) -> Any:
    from kfp import dsl

    kinds = (dsl.Artifact, dsl.Dataset, dsl.Metrics, dsl.HTML, dsl.Markdown, dsl.Model)
    for kind in kinds:
        if kind.schema_title == schema_title:
            return kind(name=name, uri=str(folder / name))
    raise PipelineSpecError(
        f"artifact {name!r} has type {schema_title!r}, which is not interpreted"
    )


def _order(tasks: Mapping[str, Any]) -> Iterator[str]:
    """Task names, each after those it depends on; by name where that leaves a choice."""
    waiting = {name: set(task.get("dependentTasks", [])) for name, task in sorted(tasks.items())}
    while waiting:
        ready = next((name for name, before in waiting.items() if not before & set(waiting)), None)
        if ready is None:
            raise PipelineSpecError(f"tasks {sorted(waiting)} depend on each other in a circle")
        del waiting[ready]
        yield ready


def _check_task(name: str, task: Mapping[str, Any]) -> None:
    unknown = sorted(set(task) - _TASK_KEYS)
    strategy = task.get("triggerPolicy", {}).get("strategy")
    if unknown or strategy:
        found = unknown or f"trigger strategy {strategy}"
        raise PipelineSpecError(f"task {name!r} uses {found}, which is not interpreted")


def _inputs(
    name: str, task: Mapping[str, Any], outer: Values, done: Mapping[str, Values]
) -> Values:
    """A task's inputs from constants, from the DAG's own inputs and from earlier tasks."""
    given = task.get("inputs", {})
    parameters = {
        key: _parameter(name, key, source, outer, done)
        for key, source in given.get("parameters", {}).items()
    }
    artifacts = {
        key: _input_artifact(name, key, source, outer, done)
        for key, source in given.get("artifacts", {}).items()
    }
    filled = {key: _fill(value, parameters) for key, value in parameters.items()}
    return Values(filled, artifacts)


def _parameter(task: str, key: str, source: Any, outer: Values, done: Mapping[str, Values]) -> Any:
    match source:
        case {"runtimeValue": {"constant": value}, **rest} if not rest:
            return value
        case {"componentInputParameter": name, **rest} if not rest:
            return outer.parameters[name]
        case {"taskOutputParameter": {"producerTask": producer, "outputParameterKey": name}, **rest} if not rest:  # fmt: skip # noqa: E501
            return done[producer].parameters[name]
    raise PipelineSpecError(f"task {task!r}: input {key!r} is {source}, which is not interpreted")


def _input_artifact(
    task: str, key: str, source: Any, outer: Values, done: Mapping[str, Values]
) -> Any:
    match source:
        case {"componentInputArtifact": name, **rest} if not rest:
            return outer.artifacts[name]
        case {"taskOutputArtifact": {"producerTask": producer, "outputArtifactKey": name}, **rest} if not rest:  # fmt: skip # noqa: E501
            return done[producer].artifacts[name]
    raise PipelineSpecError(f"task {task!r}: input {key!r} is {source}, which is not interpreted")


def _fill(value: Any, parameters: Mapping[str, Any]) -> Any:
    """Replace `{{$.inputs.parameters['x']}}` in a value, also inside lists and mappings."""
    if isinstance(value, list):
        return [_fill(item, parameters) for item in value]
    if isinstance(value, dict):
        return {key: _fill(item, parameters) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    whole = _PLACEHOLDER.fullmatch(value)
    if whole:
        return parameters[whole.group(1)]
    return _PLACEHOLDER.sub(lambda found: str(parameters[found.group(1)]), value)


def _triggered(name: str, task: Mapping[str, Any], inputs: Values) -> bool:
    condition = task.get("triggerPolicy", {}).get("condition")
    if condition is None:
        return True
    parsed = _CONDITION.fullmatch(condition)
    if parsed is None:
        raise PipelineSpecError(
            f"task {name!r}: condition {condition!r} is not interpreted; "
            "expected one parameter == true, false, a number or a text"
        )
    literal = parsed.group(2)
    expected = literal[1:-1] if literal.startswith("'") else json.loads(literal)
    return bool(inputs.parameters[parsed.group(1)] == expected)


def _with_defaults(
    name: str, component: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The given parameters, and defaults for the rest; integers as integers (JSON has floats)."""
    declared = component.get("inputDefinitions", {}).get("parameters", {})
    values: dict[str, Any] = {}
    for key, definition in declared.items():
        if key not in given and not definition.get("isOptional"):
            raise PipelineSpecError(f"{name}: parameter {key!r} is missing; got {sorted(given)}")
        value = given.get(key, definition.get("defaultValue"))
        whole = definition["parameterType"] == "NUMBER_INTEGER" and value is not None
        values[key] = int(value) if whole else value
    return values


def _dag_outputs(outputs: Mapping[str, Any], done: Mapping[str, Values]) -> Values:
    """A DAG's outputs, each from one task of its own."""
    artifacts = {}
    for key, source in outputs.get("artifacts", {}).items():
        (selector,) = source["artifactSelectors"]
        produced = done[selector["producerSubtask"]]
        artifacts[key] = produced.artifacts[selector["outputArtifactKey"]]
    parameters = {}
    for key, source in outputs.get("parameters", {}).items():
        if "valueFromParameter" not in source:
            raise PipelineSpecError(f"output {key!r} is {source}, which is not interpreted")
        selector = source["valueFromParameter"]
        produced = done[selector["producerSubtask"]]
        parameters[key] = produced.parameters[selector["outputParameterKey"]]
    return Values(parameters, artifacts)
