"""A cell's functions, constants and imports find their place in the stub file, and nothing else of it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.catalogue import Course, Exercise
from autograder.errors import UsageError
from autograder.handin import python_of_cell
from autograder.notebook._answer import put_into
from autograder.plan import lift_for

ROOT = Path(__file__).parents[2]

FILE = '''"""What the file is about."""

import triton
import triton.language as tl

LIMIT = tl.constexpr(4)


@triton.jit
def helper(x):
    return x


# About the update.
@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    """The stub."""
    # TODO: write it.
    return m_i, l_i, acc
    # the last comment of it


@triton.jit
def flash_attention_kernel(q_ptr):
    return q_ptr  # the other exercise
'''
BODY = "@triton.jit\ndef online_softmax_update(m_i, l_i, acc, s, v):\n    return 1\n"


@pytest.fixture(scope="module")
def update(course: Course) -> Exercise:
    return course.exercise("online_softmax_update")


def put(update: Exercise, cell: str, text: str = FILE) -> str:
    """The new text, after a check that the same cell changes it once and not twice."""
    answer = put_into(text, f"%%exercise x\n{cell}", update)
    assert put_into(answer.text, f"%%exercise x\n{cell}", update).text == answer.text
    return answer.text


def test_a_function_takes_the_place_of_its_own(update: Exercise) -> None:
    before, rest = FILE.split("@triton.jit\ndef online_softmax_update")
    after = rest[rest.index("\n\n\n@triton.jit\ndef flash") :]
    assert put(update, BODY) == f"{before}{BODY.rstrip()}{after}"


def test_the_answer_says_where_its_lines_are(update: Exercise) -> None:
    answer = put_into(FILE, f"%%exercise x\n\n\nNEW = 3\n{BODY}print('tried')\nfor i in range(3):\n    pass\n", update)
    rows = answer.text.split("\n")
    assert answer.cell_line == 5
    assert rows[answer.file_line - 1 : answer.file_line + 1] == BODY.split("\n")[:2]
    assert answer.left_out == (8, 9)
    assert "tried" not in answer.text


def test_helpers_constants_and_imports_come_along_once(update: Exercise) -> None:
    constants = "BIG = tl.constexpr(7)\nLIMIT = tl.constexpr(8)"
    helpers = "def helper(x):\n    return 2\ndef new(x):\n    return 3"
    cell = f"import triton\nimport math\n{constants}\n{helpers}\n{BODY}"
    text = put(update, cell)
    assert text.count("import triton\n") == 1
    assert "import triton.language as tl\nimport math\n" in text
    assert "LIMIT = tl.constexpr(8)" in text
    assert "constexpr(4)" not in text
    assert text.count("def helper(x):\n    return 2\n") == 1
    assert "return x\n" not in text
    assert text.index("BIG = ") < text.index("def new(x)") < text.index("def online_softmax_update")
    assert "return q_ptr  # the other exercise" in text
    compile(text, "x.py", "exec")


def test_comments_right_above_come_along_in_place_of_those_there(update: Exercise) -> None:
    assert "# About the update.\n@triton.jit" in put(update, BODY)
    text = put(update, f"# Mine.\n# And more.\n{BODY}")
    assert "\n\n# Mine.\n# And more.\n@triton.jit\ndef online_softmax_update" in text
    assert "# About the update." not in text


def test_of_a_function_that_is_there_twice_one_is_kept(update: Exercise) -> None:
    text = put(update, BODY, f"{FILE}\n\n{BODY.replace('1', '9')}")
    assert text.count("def online_softmax_update") == 1
    assert "return 9" not in text
    both = put(update, f"{BODY.replace('1', '8')}\n{BODY}")
    assert "return 8" not in both


def test_a_file_without_the_function_gets_it_at_its_end(update: Exercise) -> None:
    assert put(update, f"X = 1\n{BODY}", "import triton\n") == f"import triton\n\n\nX = 1\n\n\n{BODY}"


def test_a_file_that_does_not_parse_keeps_what_is_broken(update: Exercise) -> None:
    broken = FILE.replace("return q_ptr  #", "return (q_ptr #")
    text = put(update, f"import math\nLIMIT = 5\n{BODY}", broken)
    assert "return (q_ptr #" in text
    assert text.count("LIMIT = ") == 1
    assert "import math\n" in text
    assert text.count("def online_softmax_update") == 1


def test_magics_in_a_cell_are_no_part_of_it(update: Exercise) -> None:
    assert "%" not in put(update, f"%matplotlib inline\n{BODY}!ls\n")


def test_statements_that_share_a_line_are_taken_apart(update: Exercise) -> None:
    text = put(update, f"A = 1; B = 2; print(A)\n{BODY}")
    assert "A = 1\nB = 2\n" in text
    assert "print" not in text


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("x = 1", "defines no function online_softmax_update"),
        ("def online_softmx_update():\n    pass", "defines online_softmx_update, but online_softmax_update asks for"),
        ("x = 1\ndef f(:", r"Line 3 of the cell is no Python"),
        ("x = '\0'", "is no Python"),
        ("(" * 5000, "is no Python"),
    ],
)
def test_what_is_no_answer_is_a_sentence(update: Exercise, cell: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        put_into(FILE, f"%%exercise x\n{cell}\n", update)


def test_every_solution_put_into_its_stub_is_the_solution(course: Course) -> None:
    """Exercise by exercise, from the whole solution file's text as a cell: the kernels are then the solution's."""
    for exercise in course.exercises:
        stub = (ROOT / "assignments" / exercise.stub).read_text(encoding="utf-8")
        solution = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
        text = put_into(stub, f"%%exercise {exercise.id}\n{solution}", exercise).text
        owners = [other for other in course.exercises if other.stub == exercise.stub]
        got, expected = lift_for(owners, text), lift_for(owners, python_of_cell(solution))
        for function in exercise.functions:
            assert got.functions[function.name].fingerprint == expected.functions[function.name].fingerprint
