"""Hand-made problems and answers for the tests; golden tests carry marks that nobody may see."""

from envs.base import Split, Task
from envs.code.problem import CodeProblem
from envs.problems import write_problems
from envs.registry import make_environment

INPUT_MARK, OUTPUT_MARK = "7770777", "8880888"
DOUBLE = "n = int(input())\nprint(2 * n)"
FAST = {"cpu_s": 0.2}
"""Options of a sandbox that soon gives up."""
ADD = "def add(a, b):\n    return a + b"


def double(number=0, split=Split.TRAIN, golden=5, **fields):
    """Read a number, print its double; the last golden tests are marked."""
    pairs = [(str(n), str(2 * n)) for n in range(10, 9 + golden)]
    pairs.append((INPUT_MARK, str(2 * int(INPUT_MARK))))
    values = {
        "source": f"made/{number}",
        "question": f"Read a number and print its double. ({number})",
        "public_tests": cases(("1", "2"), ("2", "4")),
        "golden_tests": cases(*pairs),
        "solution": DOUBLE,
        "split": split,
    }
    return CodeProblem(**{**values, **fields})


def add(**fields):
    """A function of two numbers."""
    values = {
        "source": "made/add",
        "question": "Write add(a, b), the sum of two numbers.",
        "entry_point": "add",
        "public_tests": cases(("[1, 2]", "3")),
        "golden_tests": cases(("[2, 3]", "5"), ('{"a": 1, "b": 5}', "6"), ("[0.1, 0.2]", "0.3")),
        "solution": ADD,
        "split": Split.TRAIN,
    }
    return CodeProblem(**{**values, **fields})


def cases(*pairs):
    """Test cases as rows have them."""
    return [{"input": given, "output": expected} for given, expected in pairs]


def env_of(folder, *problems, reward="dense", **options):
    """The environment on a file of these problems."""
    uri = str(folder / "problems.jsonl")
    write_problems(uri, problems)
    return make_environment("code", {"problems": uri, **options}, reward)


def begin(folder, problem, reward="dense", **options):
    """Environment and first state of one problem."""
    env = env_of(folder, problem, reward=reward, **options)
    return env, env.reset(Task("made", Split.TRAIN, 0, {"problem": problem.key}))


def program(text):
    """An answer of the coder."""
    return f"Here it is.\n```python\n{text}\n```"


def written(*pairs):
    """An answer of the tester."""
    blocks = [f"```input\n{given}\n```\n```output\n{expected}\n```" for given, expected in pairs]
    return "Some tests.\n" + "\n".join(blocks)


def turn(env, state, coder, tester):
    """Results of both roles in one turn."""
    one = env.step(state, "coder", coder)
    return one, env.step(one.state, "tester", tester)
