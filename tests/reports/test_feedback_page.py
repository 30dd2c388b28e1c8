"""A student's page: all there is to know, safe to open, readable by everyone, and nobody else's business."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.bulk.grades import ExerciseGrade, Lateness, StudentGrade
from autograder.bulk.overrides import Override
from autograder.bulk.submissions import AN_EARLIER_ONE, Submission
from autograder.reports.html import Comments, feedback_page
from autograder.reports.html._checks import target_views
from autograder.reports.html._environment import prose
from autograder.result import AFTER_A_FAILURE, Diagnosis, TargetResult
from tests.reports.made import HIDDEN_WORDS, MESSAGE, Page, check, exercise, run, student

EVIL = (
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title></head><body onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "<!-- --!><iframe src=//example.org>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;&#x3c;i&#x3e;",
    "<base href='//example.org'><form action='//example.org'>",
)


def evil_student(text: str) -> StudentGrade:
    """``text`` wherever a student, or a program that a student wrote, can put it."""
    checks = (check("a"), check("b", "fail", message=text), check("c", "skipped", message=AFTER_A_FAILURE))
    made = exercise(
        file=text,
        message=text,
        checks=checks,
        diagnosis=(Diagnosis("m", text, 0.0, None),),
        gpu_targets=tuple(replace(item, message=text, original=text) for item in exercise().gpu_targets),
        remarks=(text,),
    )
    submission = Submission("id", text, "canvas", "1", notes=(text,))
    result = run(made, error=text, notes=(f"read {text}",))
    item = ExerciseGrade(made, 1.0, Override("id", made.id, 1.0, text))
    return student(result, text, student=text, submission=submission, exercises=(item,))


def evil_page(text: str) -> Page:
    return Page(feedback_page(text, evil_student(text), Comments((text,), {"flash_attention": (text,)})))


PLAIN = evil_page("plain")


@pytest.mark.parametrize("text", EVIL)
def test_no_text_becomes_markup(text: str) -> None:
    page = evil_page(text)
    assert page.structure == PLAIN.structure
    assert page.text.count(" ".join(text.split())) >= 10


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.characters(exclude_characters="`-"), min_size=1, max_size=40).map(lambda text: f"x{text}y"))
def test_no_text_at_all_becomes_markup(text: str) -> None:
    assert evil_page(text).structure == PLAIN.structure


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200f", "\x1b", "\x07", "\x00", "\ud800", "\u2028"])
def test_what_reorders_or_hides_text_is_not_in_a_page(character: str) -> None:
    text = f"gpj{character}[31m.py"
    html = feedback_page("A Course", evil_student(text), Comments((text,)))
    assert character not in html
    assert "gpj\ufffd[31m.py" in html
    html.encode("utf-8")


def test_joiners_within_names_stay() -> None:
    name = "مریم\u200cسادات"
    assert name in feedback_page("A Course", student(name=name))


def test_a_page_asks_nothing_of_a_network_and_runs_nothing() -> None:
    html = feedback_page("A Course", student(), pictures={"flash_attention": "<svg><path d='M0 0'/></svg>"})
    page = Page(html)
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "link", "iframe", "object", "embed", "form", "base", "img", "video", "audio"})
    attributes = {name for _, found in page.elements for name in found}
    assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action", "style")]
    assert all(link.startswith("#") for link in page.links)
    assert not re.search(r"https?:|//|url\(|@import", re.sub(r"<!DOCTYPE[^>]*>", "", html))


def test_the_policy_stands_before_anything_that_it_is_about() -> None:
    html = feedback_page("A Course", student())
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    metas = [found for tag, found in Page(html).elements if tag == "meta" and found.get("content") == policy]
    assert [found["http-equiv"] for found in metas] == ["Content-Security-Policy"]
    assert html.index("Content-Security-Policy") < min(html.index("<title"), html.index("<style"))


def test_nothing_hidden_is_in_a_page() -> None:
    diagnosis = Diagnosis("acc", "acc is not rescaled.", 0.4142, 17.5)
    html = feedback_page("A Course", student(run(exercise(diagnosis=(diagnosis,)))))
    assert [word for word in HIDDEN_WORDS if word in html] == []
    assert "2 hidden checks: 1 passed, 0.4 of 0.8 points." in Page(html).text


def test_a_page_tells_the_whole_story() -> None:
    text = Page(feedback_page("A Course", student())).text
    for words in (
        "Feedback on A Course",
        "Jane Doe",
        "1 of 2 points",
        "◐ partly right",
        "in flash_attention.py , from line 8",
        "✓ passed What one_chunk proves. one_chunk error 2.4e-07, bar 9.5e-06 0.4 of 0.4",
        "✗ failed What two_chunks proves. two_chunks",
        MESSAGE,
        "Where o[5, 16] Got -2.4627 Expected 0.633269",
        "Wrong elements 992 of 1,024",
        "Largest error 3.1 Bar 9.5e-06, four times the error of unfused torch (2.4e-06)",
        "Over the bar 326,316 times",
        "Again on your machine: grade check flash_attention --seed 7 --device cpu",
        "1 public check not run What dead_rows proves. dead_rows 0 of 0.4 points.",
        "Not run, since an earlier check failed.",
        "T4 (sm_75) ✗ does not compile m_i changes its type. The compiler’s own words error: <loop> carried type",
        "A100 (sm_80) ✓ passed 38 of 163 KB shared memory",
        "Line 12: the print is left out.",
        "grade hint flash_attention",
    ):
        assert words in text, words
    assert "/srv" not in text


def test_rules_and_overrides_are_told_in_sentences() -> None:
    result = run(exercise(), exercise(id="score_mask", title="Score mask"))
    late = Lateness(7, 2, 0.8, "Lesson 7: handed in 1 d 3 h after the deadline. That costs 20% of its score.")
    grades = (
        ExerciseGrade(result.exercises[0], 0.8, None, late),
        ExerciseGrade(result.exercises[1], 1.75, Override("x", "score_mask", 1.75, "Oral exam.")),
    )
    submission = Submission("doe_jane_101", "Jane", "canvas", "1", attempts=3, notes=("a.py was read.",))
    text = Page(feedback_page("A Course", student(result, exercises=grades, submission=submission))).text
    assert "2.55 of 4 points" in text
    assert late.sentence in text
    assert "Handed in late: 80% of the score is left (as graded, 1 point)." in text
    assert "Set by your instructor to 1.75 points (as graded, 1 point): Oral exam." in text
    assert "You handed in 3 times; the latest was graded." in text
    assert "a.py was read." in text
    earlier = replace(submission, notes=(AN_EARLIER_ONE,))
    text = Page(feedback_page("A Course", student(result, exercises=grades, submission=earlier))).text
    assert AN_EARLIER_ONE in text
    assert "the latest was graded" not in text


def test_a_bonus_and_what_does_not_count_are_said() -> None:
    bonus = exercise(id="more", optional=True, counts=False)
    uncounted = exercise("skipped", 0.0, id="fast", counts=False, checks=())
    text = Page(feedback_page("A Course", student(run(exercise(), bonus, uncounted)))).text
    assert "1 of 2 points, and 1 point of bonus" in text
    assert "Optional: what is earned here is a bonus." in text
    assert "Left out of the total" in text


def test_follow_through_is_said() -> None:
    message = "Graded with the reference in place of score_mask, which did not pass."
    assert message in Page(feedback_page("A Course", student(run(exercise(message=message))))).text


def test_a_hand_in_that_could_not_be_read_is_said_once() -> None:
    error = "There is no readable .py in /srv/class/doe_jane_101. Hand in a .py."
    nothing = [exercise("not-started", 0.0, id=name, message=error, checks=()) for name in ("a", "b")]
    text = Page(feedback_page("A Course", student(run(*nothing, error=error)))).text
    assert text.count("There is no readable .py in your hand-in. Hand in a .py.") == 1


def test_comments_stand_where_they_belong() -> None:
    comments = Comments(("Well done.", "Two\n  lines."), {"flash_attention": ("Draw it.",)})
    html = feedback_page("A Course", student(), comments)
    assert html.index("Well done.") < html.index("Two\n  lines.") < html.index('id="flash_attention"')
    assert html.index("Draw it.") > html.index('id="flash_attention"')


def test_a_picture_is_put_into_its_exercise_and_nothing_else_is_taken() -> None:
    svg = "<?xml version='1.0'?><!DOCTYPE svg><svg viewBox='0 0 9 9'><title>where</title></svg>\n"
    html = feedback_page("A Course", student(), pictures={"flash_attention": svg})
    assert "<figure><svg viewBox='0 0 9 9'><title>where</title></svg></figure>" in html
    for bad in ("<p>no picture</p>", "<svg><SCRIPT>1</SCRIPT></svg>", "<svg><a href='javascript:1'/></svg>"):
        with pytest.raises(ValueError, match="a picture must be"):
            feedback_page("A Course", student(), pictures={"flash_attention": bad})


def test_everything_is_there_for_those_who_do_not_see_the_page() -> None:
    page = Page(feedback_page("A Course", student()))
    assert ("html", {"lang": "en"}) in page.elements
    tags = [tag for tag, _ in page.elements]
    assert tags.count("table") == tags.count("caption") == 3
    assert [tag for tag in tags if re.fullmatch(r"h\d", tag)][:2] == ["h1", "h2"]
    assert all(found.get("scope") in ("col", "row") for tag, found in page.elements if tag == "th")
    named = [found["aria-labelledby"] for _, found in page.elements if "aria-labelledby" in found]
    assert named
    assert set(named) <= page.ids
    assert {link.removeprefix("#") for link in page.links} <= page.ids


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_contrast_in_light_and_in_dark() -> None:
    css = (files("autograder.reports.html") / "templates" / "style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]
    assert len(blocks) == 2
    for block in blocks:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        assert len(colours) == 17
        pairs = [(name, ground) for name in ("ink", "quiet", "link") for ground in ("paper", "sheet", "faint")]
        tones = ("good", "part", "bad", "idle", "fault")
        pairs += [(tone, ground) for tone in tones for ground in ("paper", "faint", f"{tone}-bg")]
        pairs += [("quiet", f"{tone}-bg") for tone in tones] + [("ink", "fault-bg"), ("link", "fault-bg")]
        for text, ground in pairs:
            light, dark = sorted((_luminance(colours[text]), _luminance(colours[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)


def test_an_outcome_that_is_not_known_yet_is_shown_as_it_is() -> None:
    assert "? half-baked" in Page(feedback_page("A Course", student(run(exercise("half-baked"))))).text


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (TargetResult("sm_80", "pass", 0, ""), "no shared memory needed"),
        (TargetResult("sm_80", "pass", None, ""), "compiles; its shared memory was not measured"),
        (TargetResult("sm_80", "pass", 1024, ""), "1 of 163 KB shared memory"),
        (TargetResult("sm_80", "skipped", None, "No compiler here."), ""),
    ],
)
def test_what_a_target_used_is_never_left_blank_where_it_passed(target: TargetResult, words: str) -> None:
    assert target_views((target,))[0].used == words


def test_what_is_the_same_is_said_once_and_what_passed_is_folded_away() -> None:
    message = "Line 51: `and` and `or` join single truth values, and here is a tile of them."
    checks = tuple(check(name, "compile-error", message=message) for name in ("a", "b", "c"))
    broken = exercise(
        "compile-error", 0.0, checks=checks, closer=("grade check flash_attention --smallest --dir /srv/x",)
    )
    refused = TargetResult("sm_75", "compile-error", None, message, "the original")
    targets = (
        replace(refused, message=f"Does not compile for sm_75 (T4): {message}"),
        replace(refused, target="sm_90", message=f"Does not compile for sm_90 (H100): {message}"),
        TargetResult("sm_80", "pass", 0, ""),
    )
    seen = Page(feedback_page("A Course", student(run(replace(broken, gpu_targets=targets)))))
    assert seen.text.count("join single truth values") == 2  # in the checks, and in the table of GPUs
    assert seen.text.count("As a above.") == 2
    assert "T4 (sm_75), H100 (sm_90)" in seen.text
    assert "To look closer: grade check flash_attention --smallest Stuck?" in seen.text
    passed = Page(feedback_page("A Course", student(run(exercise("pass", 2.0, checks=(check("a"), check("b")))))))
    assert "2 public checks passed" in passed.text
    tags = [tag for tag, _ in passed.elements]
    assert tags.index("details") < tags.index("table", tags.index("section"))


def test_numbers_and_options_are_not_broken_in_two() -> None:
    assert prose("at most 1.1e-06 is") == 'at most <span class="whole">1.1e-06</span> is'
    assert prose("got -0.45, not rows 0-31") == 'got <span class="whole">-0.45</span>, not rows 0-31'
    assert prose("try `a --seed 7`") == 'try <code>a <span class="whole">--seed</span> 7</code>'
    assert prose("<b> & '-1") == "&lt;b&gt; &amp; &#39;-1"
