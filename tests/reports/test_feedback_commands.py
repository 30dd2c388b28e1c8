"""``course feedback`` and ``course report`` write what they say, whole, and the same each time."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from autograder.bulk.store import Store
from autograder.cli._feedback import feedback, report
from autograder.errors import UsageError
from autograder.reports.html import Comments, read_comments, write_feedback
from tests.reports.made import ROOT, run, write_class


def invoke(command: click.Command, *arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments), "--root", str(ROOT)])


def digests(out: Path) -> dict[str, str]:
    made = [out / "report.html", *(out / "feedback").iterdir()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made}


def test_pages_and_zips_are_written_and_told(tmp_path: Path) -> None:
    write_class(tmp_path)
    (tmp_path / "comments").mkdir()
    (tmp_path / "comments" / "abara_103.txt").write_text("See me.")
    made = invoke(feedback, tmp_path)
    assert made.exit_code == 0, made.exception
    names = ["abara_103", "doe_jane_101", "full_107", "none_106", "ours_105", "silva_104"]
    pages = [f"{name}.html" for name in names]
    assert sorted(path.name for path in (tmp_path / "feedback").iterdir()) == sorted(
        [*pages, "canvas.zip", "moodle.zip"]
    )
    assert f"Wrote 6 feedback pages to {tmp_path / 'feedback'}, 1 with comments of yours." in made.stdout
    assert f"Wrote {tmp_path / 'feedback' / 'canvas.zip'} with the pages of 2 students." in made.stdout
    assert f"Wrote {tmp_path / 'feedback' / 'moodle.zip'} with the pages of 1 student." in made.stdout
    assert "See me." in (tmp_path / "feedback" / "abara_103.html").read_text(encoding="utf-8")


def test_no_page_names_another_student(tmp_path: Path) -> None:
    students = write_class(tmp_path).students
    invoke(feedback, tmp_path)
    for student in students:
        page = (tmp_path / "feedback" / f"{student.student}.html").read_text(encoding="utf-8")
        others = [other for other in students if other is not student]
        assert student.name in page
        assert [other.name for other in others if other.name in page or other.student in page] == []


def test_the_report_is_written_and_misses_its_pages(tmp_path: Path) -> None:
    write_class(tmp_path)
    made = invoke(report, tmp_path)
    assert made.exit_code == 0, made.exception
    assert made.stdout == f"Wrote {tmp_path / 'report.html'} on 6 students.\n"
    assert "Note: the report links to feedback pages, and 6 of them are not there yet" in made.stderr
    invoke(feedback, tmp_path)
    assert invoke(report, tmp_path).stderr == ""


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_class(tmp_path / name)
        invoke(feedback, tmp_path / name)
        invoke(report, tmp_path / name)
    assert len(digests(tmp_path / "one")) == 9
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_one_student_alone(tmp_path: Path) -> None:
    write_class(tmp_path)
    made = invoke(feedback, tmp_path, "--student", "silva_104")
    assert made.exit_code == 0, made.exception
    assert [path.name for path in (tmp_path / "feedback").iterdir()] == ["silva_104.html"]
    assert "Wrote 1 feedback page" in made.stdout
    wrong = invoke(feedback, tmp_path, "--student", "nobody")
    assert isinstance(wrong.exception, UsageError)
    assert "There is no result of 'nobody'" in str(wrong.exception)


@pytest.mark.parametrize("command", [feedback, report])
def test_without_results_it_is_a_usage_error(command: click.Command, tmp_path: Path) -> None:
    for out in (tmp_path, tmp_path / "missing"):
        made = invoke(command, out)
        assert isinstance(made.exception, UsageError)
        assert made.exception.exit_code == 2
        assert "There are no results" in str(made.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_roster_gives_names_and_its_gaps_are_noted(tmp_path: Path) -> None:
    write_class(tmp_path)
    roster = tmp_path / "class.csv"
    roster.write_text("student_id,name\nfull_107,Petra Full\nx,Max Missing\n", encoding="utf-8")
    made = invoke(feedback, tmp_path, "--roster", roster)
    assert "Petra Full" in (tmp_path / "feedback" / "full_107.html").read_text(encoding="utf-8")
    assert "Note: In the roster, and without a hand-in: Max Missing." in made.stderr
    assert "Max Missing" not in made.stdout


def test_what_belongs_to_nobody_is_noted(tmp_path: Path) -> None:
    write_class(tmp_path)
    (tmp_path / "comments").mkdir()
    (tmp_path / "comments" / "abara_13.md").write_text("a slip of the pen")
    invoke(feedback, tmp_path)
    Store(tmp_path).path("full_107").unlink()
    made = invoke(feedback, tmp_path)
    assert "comments/abara_13.md belongs to no student" in made.stderr
    assert "full_107.html" in made.stderr
    assert (tmp_path / "feedback" / "full_107.html").exists()


def test_odd_ids_have_their_pages(tmp_path: Path) -> None:
    store = Store(tmp_path)
    names = ["a b", "50%", "#1", "javascript:alert(1)", "é", "a.b.html"]
    for name in names:
        store.write(name, run(student=name))
    assert invoke(feedback, tmp_path).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "feedback").iterdir()) == sorted(f"{name}.html" for name in names)


def test_comments_are_parted_by_headings_of_exercises(tmp_path: Path) -> None:
    (tmp_path / "comments").mkdir()
    text = "\ufeffGood.\n\n \nOn.\n## loads ##\nMind the\n  mask.\n## nonsense\n\n# Big\n##  mask\n\n"
    (tmp_path / "comments" / "s.md").write_bytes(text.replace("\n", "\r\n").encode())
    (tmp_path / "comments" / "s.txt").write_text("More.")
    found = read_comments(tmp_path, "s", {"loads", "mask"})
    assert found.general == ("Good.", "On.", "More.")
    assert found.exercises == {"loads": ("Mind the\n  mask.\n## nonsense", "# Big")}
    assert read_comments(tmp_path, "t", {"loads"}) == Comments()


def test_comments_that_cannot_be_read_stop_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "comments").mkdir()
    (tmp_path / "comments" / "s.md").write_bytes(b"caf\xe9")
    with pytest.raises(UsageError, match=r"s\.md are not UTF-8"):
        read_comments(tmp_path, "s", ())


def test_comments_of_one_that_cannot_be_read_cost_nobody_else_a_page(tmp_path: Path) -> None:
    write_class(tmp_path)
    (tmp_path / "comments").mkdir()
    (tmp_path / "comments" / "abara_103.md").write_bytes(b"caf\xe9")
    (tmp_path / "comments" / "silva_104.md").write_text("## flash_attn\nSee me.\n## Overall\nGood.\n")
    for more in ((), ("--student", "abara_103")):
        made = CliRunner().invoke(feedback, [str(tmp_path), *more, "--root", str(ROOT)], standalone_mode=False)
        assert made.return_value == 1, made.exception
        assert "abara_103.md are not UTF-8. Save them as UTF-8 and try again. The page of abara_103 is" in made.stderr
        assert (tmp_path / "feedback" / "silva_104.html").exists()
        if not more:
            said = "Note: comments/silva_104: ## {} is no exercise, and stands there as ordinary text."
            assert said.format("flash_attn") + " Did you mean flash_attention?\n" in made.stderr
            assert said.format("Overall") + "\n" in made.stderr
    assert "See me." in (tmp_path / "feedback" / "silva_104.html").read_text(encoding="utf-8")


def test_pictures_are_asked_for_a_student_at_a_time(tmp_path: Path) -> None:
    grades = write_class(tmp_path)
    write_feedback(
        "A Course", grades, Store(tmp_path), pictures=lambda item: {"flash_attention": f"<svg>{item.student}</svg>"}
    )
    assert "<svg>full_107</svg>" in (tmp_path / "feedback" / "full_107.html").read_text(encoding="utf-8")


def test_the_templates_are_in_the_wheel() -> None:
    import tomllib
    from importlib.resources import files

    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "package-data"
    ]["autograder.reports.html"]
    package = ROOT / "autograder" / "reports" / "html"
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    assert shipped == {path for path in (package / "templates").iterdir() if not path.name.startswith("__")}
    assert files("autograder.reports.html").joinpath("templates", "feedback.html").is_file()
