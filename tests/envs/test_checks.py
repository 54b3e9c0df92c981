"""check_env passes an honest environment and finds every lie by its own sentence."""

import pytest

from envs.checks import Recipe, check_env
from tests.envs import broken

LIES = {
    "GlobalGenerator": "tasks(train) differ between two calls with one seed.",
    "CursorIgnored": "is not the tail of tasks(train, start=0).",
    "SplitsShared": "Splits overlap: train and validation share a task.",
    "ForgetsLog": "decode_state(encode_state(state)) differs from the state after JSON.",
    "ChangesState": "step of speaker changes the state that it was given.",
    "Raises": "step of speaker on the illegal text '' raises ValueError",
    "LeavesBounds": "speaker's reward part close leaves its bounds [-1, 0].",
    "UndeclaredPart": "has the reward parts ['charm'], the preset dense declares ['close'].",
    "NotANumber": "speaker's reward part team leaves its bounds [0, 1].",
    "PaysForNonsense": "of speaker earns 0.5, above 0.",
    "TimeoutIsSuccess": "of speaker has the status solved.",
    "CountsTurns": "returns the status out_of_turns, which is the turn loop's.",
    "FailureWithFullReward": "full team reward with the status failed; only solved is success.",
    "Chatters": "observe of speaker differs between two calls.",
    "SaysNothing": "observe gives speaker no messages, or an empty one.",
    "Moody": "step of speaker gives two results for one text.",
    "ShortLexicon": "A prompt has words outside the lexicon",
    "WideBounds": "preset dense, team: bounds [0, 10] are not an interval inside [-1, 1].",
    "StrangeRole": "preset dense declares parts of unknown roles ['listener'].",
    "OneIdForAll": "task_id 'the task' is given to two different tasks.",
    "RunsDry": "tasks(train) gave 2 tasks, expected 24, and yet there are more behind them.",
    "EndlessStream": "beyond the end does not say how many there are: no more tasks.",
    "GivesTooMany": "tasks(train) gave 25 tasks, expected 24.",
    "NoTasks": "No split has a task.",
    "HashesText": "results of step differ in another process.",
    "OrderOfASet": "prompts differ in another process.",
    "DiesElsewhere": "Another process raises RuntimeError: it ended with exit status 1: ",
    "PatienceWins": "of speaker has the status solved.",
    "PaysForInvalidMoves": "Invalid move '7777' of speaker earns 0.3, above 0.",
    "BatchTurnsRound": "step_many differs from step, one by one.",
    "BatchLosesOne": "step_many differs from step, one by one.",
    "BatchNeverEmpty": "step_many of nothing is not an empty list.",
    "PictureOfNothing": "picture of a state (running) is empty.",
    "MovingPicture": "picture differs between two calls.",
    "PictureLeavesMark": "picture changes the state.",
    "PictureOfTheEndRaises": "raises IndexError: nothing to draw.",
    "RemembersObjects": "observe of speaker differs for a state that went through JSON.",
    "QuotesAnything": "A prompt has words outside the lexicon",
    "FickleTeacher": "demonstrate of speaker gives two texts for one generator.",
}
ELSEWHERE = {"Honest", "HashesText", "OrderOfASet", "DiesElsewhere"}
"""Looked at from another process too, which takes its time."""
HONEST = {"EndsSoon", "GivesWhatThereIs", "Honest", "Batched", "Pictured", "PicksSides"}


def checked(name, **values):
    """With all that the check offers; the environment's module is importable elsewhere too."""
    recipe = Recipe("tests.envs.broken_factories:make_broken", {"name": name}, "dense")
    return check_env(recipe.make(), invalid=lambda state, role: ["-1", "7777"], **values,
                     recipe=recipe if name in ELSEWHERE else None)  # fmt: skip


@pytest.mark.parametrize("name", sorted(HONEST))
def test_an_honest_environment_passes(name):
    assert checked(name) == []


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_is_found_by_its_own_sentence(lie):
    failures = checked(lie)
    assert any(LIES[lie] in failure for failure in failures), failures
    assert all("\n" not in failure and failure.endswith(".") for failure in failures)


def test_every_liar_is_tried():
    liars = {name for name, value in vars(broken).items()
             if isinstance(value, type) and issubclass(value, broken.Honest)}  # fmt: skip
    assert liars - HONEST == set(LIES)


def test_a_second_object_with_another_opinion_is_noticed():
    class Harsher(broken.Honest):
        def step(self, state, role, completion):
            result = super().step(state, role, completion)
            return result._replace(rewards=result.rewards._replace(local={"close": -1.0}))

    failures = check_env(broken.Honest(), again=Harsher)
    assert "step of speaker gives two results for one text." in failures


def test_texts_of_the_caller_are_played():
    class Trap(broken.Honest):
        demonstrate = None

        def step(self, state, role, completion):
            if completion == "please":
                raise RuntimeError("trapped")
            return super().step(state, role, completion)

    assert any("trapped" in failure for failure in check_env(Trap(), texts=["please"] * 50))
