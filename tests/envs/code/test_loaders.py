"""Each data set's records to our problems; what cannot be one is left out with its reason."""

import base64
import pickle
import zlib

import pytest

from envs.base import Split
from envs.code.loaders.apps import read_apps
from envs.code.loaders.code_contests import read_code_contests
from envs.code.loaders.codeio import read_codeio
from envs.code.loaders.codeio import records as codeio_records
from envs.code.loaders.drafts import Draft, LeftOut
from envs.code.loaders.human_eval import CONTRADICTORY, load_human_eval, read_human_eval, records
from envs.code.loaders.live_code_bench import private_tests, read_live_code_bench
from envs.code.problem import CodeProblem
from envs.code.verification import verified
from envs.problems import load_problems
from envs.sandbox import SandboxOptions, open_sandbox
from tests.envs.code.records import apps_call, apps_stdin, code_contests, live_code_bench

SANDBOX = open_sandbox(SandboxOptions())


def pairs(tests):
    return [(test.input, test.output) for test in tests]


def problem_of(draft):
    """Of a draft whose own solution passes."""
    (found,) = verified([draft], SANDBOX)
    assert not isinstance(found, LeftOut), found.reason
    return found


def test_apps_functions():
    problem = problem_of(read_apps(apps_call(), Split.TRAIN, 4))
    assert problem.source == "apps/train/0"
    assert problem.entry_point == "has_close_elements"
    assert len(problem.golden_tests) == 4
    assert problem.golden_tests[0].output == "true"
    assert "for idx, elem in enumerate" in problem.solution


def test_apps_programs_whose_lines_are_lists():
    problem = problem_of(read_apps(apps_stdin(), Split.TEST, 64))
    assert problem.entry_point is None
    assert problem.split is Split.TEST
    assert pairs(problem.golden_tests) == [("1\n2\n", "3\n"), ("3\n4", "7")]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"input_output": ""}, "golden_tests"),
        ({"input_output": "{"}, "input_output is not JSON"),
        ({"input_output": "[1]"}, "object has no attribute"),
        ({"solutions": "x"}, "solutions is not JSON"),
        ({"question": ""}, "question"),
    ],
)
def test_apps_records_that_are_left_out(fields, reason):
    left_out = read_apps({**apps_stdin(), **fields}, Split.TRAIN, 64)
    assert isinstance(left_out, LeftOut)
    assert reason in left_out.reason


def test_code_contests():
    problem = problem_of(read_code_contests(code_contests(), Split.VALIDATION, 64))
    assert pairs(problem.public_tests) == [("1 2\n", "3\n")]
    assert pairs(problem.golden_tests) == [("3 4\n", "7\n"), ("5 6\n", "11\n")]
    assert problem.solution == "print(sum(map(int, input().split())))"
    files = read_code_contests(code_contests(input_file="in.txt"), Split.TRAIN, 64)
    assert files == LeftOut("code_contests/train/0_A. Sum", "it reads or writes files")


@pytest.mark.parametrize("functional", [False, True])
def test_live_code_bench(functional):
    problem = problem_of(
        read_live_code_bench(live_code_bench(functional=functional), Split.TEST, 64)
    )
    assert problem.solution is None
    assert problem.split is Split.TEST
    if functional:
        assert problem.entry_point == "add"
        assert pairs(problem.golden_tests) == [("[3, 4]", "7"), ("[5, 6]", "11")]
    else:
        assert pairs(problem.golden_tests) == [("3\n4", "7"), ("5\n6", "11")]


def test_live_code_bench_tests_may_be_plain_json():
    assert private_tests('[{"input": "1"}]') == [{"input": "1"}]


class Attack:
    def __reduce__(self):
        return (exec, ("raise RuntimeError('the pickle has run')",))


@pytest.mark.parametrize(
    ("pickled", "reason"),
    [
        (pickle.dumps(Attack()), "it names builtins.exec"),
        (pickle.dumps(pickle.loads), "it names _pickle.loads"),
        (pickle.dumps(["a", 1]), "hold list, expected a text"),
        (b"\x80", "cannot be unpacked"),
        (b"", "cannot be unpacked"),
        (pickle.dumps("no json"), "not JSON"),
    ],
)
def test_fault_9_a_pickle_runs_nothing(pickled, reason):
    text = base64.b64encode(zlib.compress(pickled)).decode()
    left_out = read_live_code_bench(live_code_bench(private_test_cases=text), Split.TEST, 64)
    assert isinstance(left_out, LeftOut)
    assert reason in left_out.reason


def test_packed_tests_that_are_cut_or_too_large(monkeypatch):
    monkeypatch.setattr("envs.code.loaders.live_code_bench.MAX_BYTES", 1000)
    for data in (zlib.compress(b"x" * 5000), zlib.compress(b"x" * 500)[:-3]):
        with pytest.raises(ValueError, match="are cut, or more than 1000 bytes"):
            private_tests(base64.b64encode(data).decode())
    for text in ("***", base64.b64encode(b"abc").decode()):
        with pytest.raises(ValueError, match="cannot be unpacked"):
            private_tests(text)


def test_human_eval_without_running_anything():
    drafts = load_human_eval()
    assert len(records()) == 164
    assert len(drafts) == 157
    by_name = {draft.problem.source: draft.problem for draft in drafts}
    first = by_name["human_eval/0"]
    assert pairs(first.public_tests)[0] == ("[[1.0, 2.0, 3.0], 0.5]", "false")
    assert len(first.golden_tests) == 7
    assert by_name["human_eval/4"].golden_tests, "abs(candidate(x) - y) < 1e-6"
    assert by_name["human_eval/56"].golden_tests, "assert candidate(x), assert not candidate(x)"


def test_codeio_gets_its_tests_from_the_reference():
    chosen = [record for record in codeio_records() if record["number"] in (2, 3, 10)]
    drafts = list(read_codeio(chosen, SANDBOX, 4))
    assert [type(draft) for draft in drafts] == [Draft, LeftOut, Draft]
    problem = problem_of(drafts[0])
    assert len(problem.public_tests) == 2
    assert 1 <= len(problem.golden_tests) <= 4
    assert "Example: `main_solution(" in problem.question
    assert drafts[1].reason == "it uses chance, time or the system"


def test_a_problem_whose_solutions_fail_is_left_out():
    record = apps_stdin()
    record["solutions"] = '["print(1)", "print(2)"]'
    (left_out,) = verified([read_apps(record, Split.TRAIN, 4)], SANDBOX)
    assert left_out == LeftOut("apps/train/100", "none of 2 solutions passes its tests")


def test_the_example_files_solutions_pass():
    rows = load_problems("envs/code/example.jsonl", CodeProblem).by_key.values()
    drafts = [Draft(row, (row.solution,)) for row in rows]
    assert list(verified(drafts, SANDBOX)) == list(rows)
    assert {row.split for row in rows} == set(Split)


@pytest.mark.full
def test_every_golden_solution_of_human_eval_passes_but_the_contradictory_ones():
    drafts = [read_human_eval(record) for record in records()]
    failing = [
        row.source
        for row in verified([draft for draft in drafts if isinstance(draft, Draft)], SANDBOX)
        if isinstance(row, LeftOut)
    ]
    assert failing == list(CONTRADICTORY)
