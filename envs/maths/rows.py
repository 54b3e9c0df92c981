"""One problem as a row of a file: the question, its answer, where it comes from."""

from typing import Annotated

from pydantic import Field, field_validator

from envs.maths.grading_check import fault_of
from envs.problems import ProblemRow

MAX_QUESTION = 8_000


class MathsRow(ProblemRow):
    """A problem. Two rows with the same question (but for spaces) are duplicates."""

    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    answer: str
    source: Annotated[str, Field(min_length=1, max_length=80)]
    """The data set, e.g. `gsm8k`."""
    id: Annotated[str, Field(max_length=120)] = ""
    """Its name there."""

    @field_validator("question")
    @classmethod
    def _says_something(cls, question: str) -> str:
        if not question.strip():
            raise ValueError("a question; it is white space")
        return question

    @field_validator("answer")
    @classmethod
    def _can_be_right(cls, answer: str) -> str:
        fault = fault_of(answer, algebra=False)
        if fault:
            raise ValueError(f"an answer that can be graded; it {fault}")
        return answer

    def content(self) -> str:
        """The question in one spelling of spaces and letters."""
        return " ".join(self.question.split()).casefold()
