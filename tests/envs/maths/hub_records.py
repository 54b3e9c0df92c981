"""Records in the formats of the public data sets; the problems are made up here."""

GSM8K = [
    {"question": "Ann has 3 boxes of 6 pens. How many pens?",
     "answer": "Each box has 6.\n3 * 6 = <<3*6=18>>18 pens\n#### 18"},
    {"question": "A car costs 1,200 dollars a year. In 10 years?",
     "answer": "1,200 * 10 = <<1200*10=12000>>12,000\n#### 12,000"},
    {"question": "How many are left of 5 after 7 are taken?", "answer": "5-7\n#### -2"},
    {"question": "No final line.", "answer": "It is 5."},
]  # fmt: skip
POLARIS = [
    {"problem": "Compute $\\frac12+\\frac14$.", "answer": "\\frac{3}{4}", "difficulty": "3/8"},
    {"problem": "Find $x$ with $x+1=6$.", "answer": "x = 5", "difficulty": "8/8"},
    {"problem": "Prove that it is so.", "answer": "see the proof above for all cases",
     "difficulty": "0/8"},
    {"problem": "What is 2+2?", "answer": 4, "difficulty": "7/8"},
    {"problem": "What is the limit?", "answer": "\\infty", "difficulty": "7/8"},
    {"problem": "What is  2+2?", "answer": "4", "difficulty": "7/8"},
]  # fmt: skip
AIME24 = [
    {"id": 60, "problem": "Find $m+n$.", "solution": "...", "answer": "204", "url": "u",
     "year": "2024"},
    {"ID": "2024-I-2", "Problem": "Find $xy$.", "Solution": "...", "Answer": 25},
]  # fmt: skip
AIME25 = [{"problem": "Sum of the bases?", "answer": "70", "id": "0"},
          {"question": "Area?", "answer": "588"}]  # fmt: skip


def olympiad(number, final_answer, **values):
    """One record with all fields of the set."""
    return {
        "id": number, "question": f"Question {number}?", "solution": ["..."],
        "final_answer": final_answer, "context": None, "image_1": None, "modality": "Text-only",
        "difficulty": "Competition", "is_multiple_answer": False, "unit": None,
        "answer_type": "Numerical", "error": None, "question_type": "Open-ended",
        "subfield": "Algebra", "subject": "Math", "language": "English", **values,
    }  # fmt: skip


OLYMPIAD = [
    olympiad(1, ["2"]),
    olympiad(2, ["$\\frac{\\sqrt{3}}{2}$"], answer_type="Expression"),
    olympiad(3, ["$3,1,2$"], is_multiple_answer=True),
    olympiad(4, ["$(1,2)$"], answer_type="Tuple"),
    olympiad(5, ["$[0, \\infty)$"], answer_type="Interval"),
    olympiad(6, ["1.5"], unit="cm", context="A wheel is given."),
    olympiad(7, None, question_type="Theorem proof"),
    olympiad(8, ["3,4"], is_multiple_answer=True, unit="cm"),
    olympiad(9, ["2.5"], error="1e-1"),
    olympiad(10, ["5"], modality="Multimodal"),
    olympiad(11, ["5"], subject="Physics"),
    olympiad(12, ["5", "6"], is_multiple_answer=True),
    olympiad(13, ["all n for which the sum is an integer"]),
]
