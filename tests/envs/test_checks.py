"""check_env passes an honest environment and finds every lie by its own sentence."""

import pytest

from envs.checks import check_env
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
    "RunsDry": "tasks(train) gave 2 tasks, expected",
}


def test_an_honest_environment_passes():
    assert check_env(broken.Honest(), again=broken.Honest) == []


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_is_found_by_its_own_sentence(lie):
    failures = check_env(getattr(broken, lie)())
    assert any(LIES[lie] in failure for failure in failures), failures
    assert all("\n" not in failure and failure.endswith(".") for failure in failures)


def test_every_liar_is_tried():
    liars = {name for name, value in vars(broken).items()
             if isinstance(value, type) and issubclass(value, broken.Honest)}  # fmt: skip
    assert liars - {"Honest"} == set(LIES)


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
