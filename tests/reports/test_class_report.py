"""The instructor's page: right numbers, links that lead somewhere, our own faults first."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from autograder.bulk.grades import ClassGrades, ExerciseGrade, Lateness
from autograder.bulk.roster import Roster
from autograder.reports.html import class_report
from autograder.reports.html._failures import commonest_failures, normalised
from autograder.reports.html._histogram import histogram
from autograder.result import Environment, Sandbox
from tests.reports.made import HIDDEN, MESSAGE, Page, check, exercise, run, student, write_class


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(class_report("A Course", write_class(tmp_path)))


def one_of_each(*students: object) -> ClassGrades:
    return ClassGrades(students, Roster())  # type: ignore[arg-type]


def test_numbers_of_the_class(page: Page) -> None:
    assert (
        "6 students with a result. Of 2 points the mean is 0.9 and the median 1, without 1 at whom the grader failed."
        in page.text
    )
    # Four outcomes of five graded students: the grader's own fault is nobody's.
    assert "FlashAttention (Part B) 2 20% 1 1 2 1 0.9" in page.text


def test_everyone_is_in_the_table_with_a_symbol_and_a_score(page: Page) -> None:
    start = page.text.index("by name; each cell leads")
    table = page.text[start:]
    for row in (
        "Chidi Abara ✗ not right yet, 0 0",
        "full_107 ✓ passed, 2 2",
        "Jane Doe ◐ partly right, 1 1",
        "João_Silva ✗ not right yet, 1.5 set 1.5",
        "none_106 ○ not started, 0 0",
        "ours_105 ! fault of the grader, 0 0",
    ):
        assert row in table, row
    assert table.index("Chidi") < table.index("full_107") < table.index("Jane")


def test_lateness_is_marked_with_its_sentence() -> None:
    late = Lateness(7, 1, 0.9, "Lesson 7: handed in 3 h after the deadline.")
    item = exercise()
    html = class_report("A Course", one_of_each(student(exercises=(ExerciseGrade(item, 0.9, None, late),))))
    assert '0.9</a> <span class="tag" title="Lesson 7: handed in 3 h after the deadline.">late</span>' in html


def test_what_this_machine_could_not_run_is_not_called_not_begun() -> None:
    late = exercise("skipped", 0.0, message="Runs only on a CUDA GPU.")
    grades = one_of_each(
        student(run(late, student="a")),
        student(run(exercise("not-started", 0.0), student="b"), student="b"),
    )
    text = Page(class_report("A Course", grades)).text
    assert "○ not begun – could not run here Mean" in text
    assert "FlashAttention (Part B) 2 0% 0 0 0 1 1 0" in text
    assert "Nothing that is started could run on this machine." in text
    alone = Page(class_report("A Course", one_of_each(student()))).text
    assert "could not run here" not in alone


def test_our_own_faults_come_first(page: Page) -> None:
    fault = page.text.index("The grader failed at 1 exercise. That is no fault of the students")
    assert fault < page.text.index("Total scores")
    assert fault < page.text.index("Sandbox layer missing while 1 hand-in ran: landlock: no kernel support.")
    assert "feedback/ours_105.html#flash_attention" in page.links


def test_who_handed_in_nothing_usable_is_listed(page: Page) -> None:
    assert "No usable hand-in 1 student none_106 : There is no readable .py" in page.text


def test_mixed_versions_and_notes_are_said() -> None:
    other = Environment("cuda", "NVIDIA H200", "3.6.0", "2.11.0", "2.3.0", "3.12.1")
    skew = "Packed with version 0.0.9 of the kit, graded with 0.1.0: checks may have changed in between."
    grades = ClassGrades(
        (
            student(run(student="a")),
            student(run(student="b"), student="b"),
            student(run(student="c", environment=other, notes=(skew,), hidden=False), student="c"),
        ),
        Roster(),
        ("In the roster, and without a hand-in: Max.",),
    )
    text = Page(class_report("A Course", grades)).text
    assert (
        "Not all were graded alike: kit 0.1.0, CPU, triton 3.9.0, torch 2.13.0, numpy 2.4.6, Python 3.11.7 "
        "(2 students); kit 0.1.0, NVIDIA H200, triton 3.6.0, torch 2.11.0, numpy 2.3.0, Python 3.12.1 (1 student)."
    ) in text
    assert skew in text
    assert "Graded without hidden checks: 1 result." in text
    assert "In the roster, and without a hand-in: Max." in text


def test_a_class_graded_alike_has_no_cautions() -> None:
    page = Page(class_report("A Course", one_of_each(student(), student(run(student="b"), student="b"))))
    assert not [found for _, found in page.elements if (found.get("class") or "").startswith("boxed")]


def test_failures_are_grouped_by_what_went_wrong(tmp_path: Path) -> None:
    failures = commonest_failures(write_class(tmp_path).students)
    assert [(item.kind, item.what, item.hidden, len(item.students)) for item in failures] == [
        ("check", "one_chunk", False, 2),
        ("mistake", "acc_not_rescaled", False, 1),
    ]
    assert failures[0].example == MESSAGE
    assert [item.student for item in failures[0].students] == ["abara_103", "silva_104"]


def test_a_hidden_check_is_named_to_the_instructor_and_marked() -> None:
    whole = run(exercise(checks=(check("one_chunk"), HIDDEN)))
    text = Page(class_report("A Course", one_of_each(student(whole)))).text
    assert "secret_lengths hidden row 41 of the secret case" in text


def test_at_most_five_students_are_linked() -> None:
    many = [student(run(student=f"s{i}"), f"Name {i}", student=f"s{i}") for i in range(8)]
    failure = commonest_failures(many)[0]
    assert len(failure.students) == 8
    assert [item.student for item in failure.shown] == ["s0", "s1", "s2", "s3", "s4"]
    assert "and 3 more" in Page(class_report("A Course", one_of_each(*many))).text


def test_students_of_one_name_are_told_apart_wherever_they_are_named() -> None:
    names = {"doejane_1000": "Doe, Jane", "doejane_1010": "jane doe", "poe_1": "Poe, Pat"}
    page = Page(
        class_report("A Course", one_of_each(*(student(run(student=i), n, student=i) for i, n in names.items())))
    )
    for one, name in names.items():
        shown = f"{name} ({one})"
        assert page.text.count(shown) == (0 if one == "poe_1" else page.text.count(name)), one
    assert page.text.count("Poe, Pat") == page.text.count("Doe, Jane") > 1


def test_a_missing_layer_is_one_sentence_with_one_full_stop() -> None:
    sandbox = Sandbox((), ("spare uid: a hand-in could read this user's files and programs.",))
    text = Page(class_report("A Course", one_of_each(student(run(sandbox=sandbox))))).text
    assert "this user's files and programs. " in text
    assert ".." not in text


def test_an_exercise_that_was_refused_is_a_failure_of_its_own() -> None:
    refused = exercise("refused", 0.0, message="Line 3: `import os` is not allowed.", checks=())
    failure = commonest_failures([student(run(refused))])[0]
    assert (failure.kind, failure.what) == ("outcome", "refused")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (MESSAGE, MESSAGE.replace("3.1", "2e+03").replace("row 5", "row 91"), True),
        (
            "q is nan where 0 belongs, at row 3; 7 of 9.",
            "q is nan where -1.5 belongs, at row 40; 1 of 2, in row 4.",
            True,
        ),
        ("Line 3: m_i is not defined.", "Line 30: m_i is not defined.", True),
        ("Line 3: m_i is not defined.", "Line 3: l_i is not defined.", False),
        ("o is off by up to 1.", "lse is off by up to 1.", False),
    ],
)
def test_messages_are_alike_but_for_their_numbers(one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same


def test_bins_hold_their_lower_end_and_the_last_one_everything_above() -> None:
    counts = [bar.count for bar in histogram([0, 0.0999, 0.1, 0.3, 0.99, 1, 1.4, -0.1]).bars]
    assert counts == [3, 1, 0, 1, 0, 0, 0, 0, 0, 3]
    assert max(bar.height for bar in histogram([0.5, 0.5, 0.1]).bars) == 1
    assert histogram([]).words == "nobody"


@pytest.mark.parametrize(
    "name", ["a b", "50%", "#1", "a?b=c", "javascript:alert(1)", '"><script>', "é", "a&b", "\udce9"]
)
def test_links_lead_to_the_page_of_any_id(name: str) -> None:
    grades = one_of_each(student(run(exercise(id="ex 1"), student=name), "N", student=name))
    html = class_report("A Course", grades)
    page = Page(html)
    assert len(page.links) >= 4
    for link in page.links:
        assert re.fullmatch(r"feedback/[A-Za-z0-9_.~%-]+\.html(#ex%201)?", link)
        assert unquote(link.partition("#")[0], errors="surrogateescape") == f"feedback/{name}.html"
    assert "script" not in {tag for tag, _ in page.elements}
    html.encode()


def test_names_and_messages_are_escaped() -> None:
    text = "</table><script>alert(1)</script>\u202e"
    made = exercise(checks=(check("a", "fail", message=text),), title=text)
    grades = replace(one_of_each(student(run(made, error=None), text, student="a")), notes=(text,))
    page = Page(class_report("A Course", grades))
    assert "script" not in {tag for tag, _ in page.elements}
    assert "\u202e" not in page.text
    assert page.text.count("<script>alert(1)</script>") >= 4


def test_the_report_needs_no_network_and_no_script(page: Page) -> None:
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "link", "iframe", "img", "form", "base"})
    policies = [found["content"] for tag, found in page.elements if tag == "meta" and "http-equiv" in found]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert all(link.startswith("feedback/") for link in page.links)
    assert all(found.get("aria-label") for tag, found in page.elements if tag == "svg")


def test_a_student_without_an_exercise_has_an_empty_cell() -> None:
    grades = one_of_each(
        student(run(exercise(), exercise(id="more"))), student(run(exercise(), student="b"), "Bo", student="b")
    )
    assert "Bo ◐ partly right, 1 no result 1" in Page(class_report("A Course", grades)).text
