"""Solution markers: what is cut, what stands in its place, and which mistakes with them are named."""

from __future__ import annotations

import ast

import pytest

from autograder.errors import MarkerError
from autograder.release.markers import find_regions, make_stub, refuse_given_away

SOLUTION = '''def f(x):
    """Doc."""
    ### BEGIN SOLUTION
    #: # TODO: add one.
    #:
    #:   indented text
    y = x + 1  # the answer
    # a hidden remark
    ### END SOLUTION
    return y
'''


def test_a_region_is_replaced_by_its_stub_lines() -> None:
    assert make_stub(SOLUTION, "f.py") == (
        'def f(x):\n    """Doc."""\n    # TODO: add one.\n\n      indented text\n    return y\n'
    )


def test_what_lies_outside_the_regions_stays_as_it_is() -> None:
    text = "# a\n\n\tx = '### BEGIN SOLUTION'\n# : not a stub line\n"
    assert make_stub(text, "f.py") == text


def test_regions_know_their_lines_and_what_is_hidden() -> None:
    (region,) = find_regions(SOLUTION, "f.py")
    assert (region.first, region.last) == (3, 9)
    assert region.hidden == ("    y = x + 1  # the answer", "    # a hidden remark")


def test_a_file_may_have_many_regions_and_none() -> None:
    assert len(find_regions(SOLUTION * 3, "f.py")) == 3
    assert find_regions("x = 1\n", "f.py") == ()


def test_a_stub_parses_where_its_solution_does() -> None:
    ast.parse(make_stub(SOLUTION.replace("#:   indented text", "#: # a remark"), "f.py"))


BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{BEGIN}\n#: # TODO\n", "line 1: this region never ends"),
        (f"x\n{END}\n", "line 2: a region ends that never began"),
        (f"{BEGIN}\n{BEGIN}\n{END}\n", "line 2: a region begins inside the one of line 1"),
        ("x = 1\n#: # TODO\n", "line 2: a '#:' line stands outside the solution regions"),
        ("x = 1\n  ## begin solution\n", "line 2: '## begin solution' is no marker"),
        ("#### END SOLUTION\n", "line 1: '#### END SOLUTION' is no marker"),
        (f"a\n{BEGIN}\nx = 1\n{END}\n", "line 2: the region has no '#: # TODO' line"),
    ],
)
def test_markers_that_do_not_pair_up_are_named_with_their_line(text: str, message: str) -> None:
    with pytest.raises(MarkerError, match=message):
        make_stub(text, "f.py")


def without_markers(text: str) -> str:
    kept = [line for line in text.split("\n") if line.strip() not in (BEGIN, END) and "#:" not in line]
    return "\n".join(kept)


def test_a_function_with_a_region_may_be_handed_out() -> None:
    refuse_given_away(SOLUTION, make_stub(SOLUTION, "f.py"), ["f"], "f.py")


def test_a_function_without_a_region_is_handed_out_only_if_nobody_is_to_write_it() -> None:
    text = f"{without_markers(SOLUTION)}\n{SOLUTION.replace('def f', 'def g')}"
    stub = make_stub(text, "f.py")
    refuse_given_away(text, stub, ["g"], "f.py")
    with pytest.raises(MarkerError, match=r"f\.py, line 1: f has no solution region"):
        refuse_given_away(text, stub, ["f", "g"], "f.py")


def test_every_definition_of_a_function_needs_a_region() -> None:
    text = f"{without_markers(SOLUTION)}\n{SOLUTION}"
    with pytest.raises(MarkerError, match="line 1: f has no solution region"):
        refuse_given_away(text, make_stub(text, "f.py"), ["f"], "f.py")


def test_a_region_that_hides_nothing_is_refused() -> None:
    text = f"def f(x):\n    {BEGIN}\n    #: # TODO: add one.\n    {END}\n    return x + 1\n"
    with pytest.raises(MarkerError, match="line 1: f is the same in the stub as in the solution"):
        refuse_given_away(text, make_stub(text, "f.py"), ["f"], "f.py")


def test_a_solution_that_does_not_parse_is_refused() -> None:
    with pytest.raises(MarkerError, match="line 1: the solution does not parse"):
        refuse_given_away("def f(:\n", "", ["f"], "f.py")
