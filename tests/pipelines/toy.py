"""A small pipeline with all that ours use: lists of outputs, artifacts, a condition, nesting."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from kfp import compiler, dsl

from pipelines.compiling import read_spec


class Inner(NamedTuple):
    """Outputs of the nested pipeline."""

    grown: dsl.Dataset


@dsl.component(base_image="python:toy", install_kfp_package=False)
def start(text: str, count: int, made: dsl.Output[dsl.Artifact]) -> None:
    """Write the text `count` times."""
    with open(made.path, "w") as out:
        out.write(text * count)


@dsl.component(base_image="python:toy", install_kfp_package=False)
def grow(source: dsl.Input[dsl.Artifact], word: str, grown: dsl.Output[dsl.Dataset]) -> str:
    """Append a word and return it in capitals."""
    with open(source.path) as given, open(grown.path, "w") as out:
        out.write(given.read() + word)
    return word.upper()


@dsl.component(base_image="python:toy", install_kfp_package=False)
def join(
    words: list[str],
    source: dsl.Input[dsl.Dataset],
    target: str,
    joined: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Write source and words to the artifact, and outside of the pipeline's folder."""
    with open(source.path) as given:
        text = given.read() + "+".join(words)
    if "bad" in words:
        raise RuntimeError("a bad word")
    metrics.log_metric("length", len(text))
    for path in (joined.path, target):
        with open(path, "w") as out:
            out.write(text)


@dsl.component(base_image="python:toy", install_kfp_package=False)
def close(source: dsl.Input[dsl.Dataset], target: str, page: dsl.Output[dsl.HTML]) -> None:
    """Mark the end in the file outside."""
    with open(source.path) as given, open(page.path, "w") as out:
        out.write(f"<p>{given.read()}</p>")
    with open(target, "a") as out:
        out.write("!closed")


STEPS = {step.python_func.__name__: step for step in (start, grow, join, close)}
FUNCTIONS = {name: step.python_func for name, step in STEPS.items()}


@dsl.pipeline(name="inner")
def inner(word: str, source: dsl.Input[dsl.Artifact]) -> Inner:
    """Grow twice."""
    first = grow(source=source, word=word)
    return Inner(grown=grow(source=first.outputs["grown"], word="-").outputs["grown"])


@dsl.pipeline(name="toy")
def toy(target: str, word: str, count: int = 2, finish: bool = False) -> None:
    """start -> inner -> grow x 2 -> join -> if finish: close."""
    made = start(text="ab", count=count).outputs["made"]
    nested = inner(word=word, source=made).outputs["grown"]
    words = [grow(source=made, word=part) for part in (word, "z")]
    joined = join(
        words=[task.outputs["Output"] for task in words], source=nested, target=target
    ).outputs["joined"]
    with dsl.If(finish == True):  # noqa: E712
        close(source=joined, target=target)


def compiled(pipeline: Any = toy) -> tuple[Path, dict[str, Any]]:
    """The YAML file of a pipeline and its PipelineSpec."""
    path = Path(tempfile.mkdtemp(prefix="rolewise-toy-")) / "toy.yaml"
    compiler.Compiler().compile(pipeline, str(path))
    return path, read_spec(path)
