"""What the lessons' Markdown may say beyond MyST: kernels with blanks, pictures, checked numbers, links to homework."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.logging import getLogger
from sphinx.util.osutil import ensuredir

from autograder.catalogue import Course, Exercise, load_course
from autograder.errors import MarkerError, UsageError
from making import facts, homework, sources, surgery
from making.listing import Note, Row, annotated, kernel_parts, revealed, whole_kernel

_log = getLogger(__name__)


def _raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def _up(docname: str) -> str:
    return "../" * docname.count("/")


class KernelListing(SphinxDirective):
    """``{kernel} lesson7/file.py function``; in it, lines ``anchor | lesson | words``."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        course: Course = self.env.app.course  # type: ignore[attr-defined]
        stub, function = self.arguments
        path = course.root / "solutions" / stub
        self.env.note_dependency(str(path))
        owner = next(
            (ex for ex in course.exercises for item in ex.functions if (ex.stub, item.name) == (stub, function)), None
        )
        if owner is None:
            raise self.error(f"No exercise of the course asks for {function} in {stub}.")
        lesson = next(item for item in course.lessons if item.number == owner.lesson)
        notes = []
        for line in self.content:
            anchor, number, words = (piece.strip() for piece in line.split("|"))
            notes.append(Note(anchor, tuple(map(int, number.split())), words))
        try:
            parts = kernel_parts(path.read_text(encoding="utf-8"), function, str(path), revealed(course, lesson))
            rows = annotated(parts, notes)
        except (OSError, ValueError, MarkerError) as error:
            raise self.error(str(error)) from error
        return [_raw(_listing(rows, owner, self.env.docname, function, course))]


def _listing(rows: tuple[Row, ...], owner: Exercise, docname: str, function: str, course: Course) -> str:
    link = f"{_up(docname)}{homework.page_name(owner)}.html"
    numbers = {lesson.number for lesson in course.lessons}
    pieces = [f'<div class="kernel" role="group" aria-label="The function {function}">']
    for row in rows:
        if row.note is not None:
            chips = []
            for place, number in enumerate(row.note.lessons):
                name = f"{'' if place else 'Lesson '}{number}"
                if number in numbers:
                    name = f'<a href="{_up(docname)}lessons/lesson{number}.html">{name}</a>'
                chips.append(f"<b>{name}</b>")
            pieces.append(_note(row, chips))
        if row.part.lines:
            pieces.append(_code(row.part.lines, " revealed" if row.part.asked else ""))
        elif row.part.asked:
            asked = "<br>".join(html.escape(line) for line in row.part.asked)
            pieces.append(
                f'<p class="kernel-blank"><span class="kernel-yours">yours</span> <span>{asked} '
                f'<a href="{link}">The homework</a></span></p>'
            )
    return "\n".join([*pieces, "</div>"])


def _note(row: Row, chips: Sequence[str]) -> str:
    """The words above a row; ``chips`` stand before them."""
    if row.note is None:
        return ""
    return f'<p class="kernel-note">{" ".join([*chips, html.escape(row.note.words)])}</p>'


def _code(lines: Sequence[str], kind: str = "") -> str:
    code = highlight("\n".join(lines), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return f'<div class="highlight kernel-lines{kind}"><pre tabindex="0">{code}</pre></div>'


class WorkedKernel(SphinxDirective):
    """``{worked} experiments/file.py function``: a whole kernel; in it, lines ``anchor | words``."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        name, function = self.arguments
        path = sources.ROOT / "course" / "lessons" / name
        self.env.note_dependency(str(path))
        notes = []
        for line in self.content:
            anchor, words = (piece.strip() for piece in line.split("|"))
            notes.append(Note(anchor, (), words))
        try:
            rows = annotated((whole_kernel(path.read_text(encoding="utf-8"), function, name),), notes)
        except (OSError, ValueError) as error:
            raise self.error(str(error)) from error
        head = f'<div class="kernel" role="group" aria-label="The function {function}">'
        pieces = [piece for row in rows for piece in (_note(row, ()), _code(row.part.lines))]
        return [_raw("\n".join([head, *pieces, "</div>"]))]


class Picture(SphinxDirective):
    """``{picture} name``: a drawing of `making/figures`, put into the page; its caption is the content."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        from making.figures import draw

        caption = nodes.container(classes=["picture-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        svg = draw(self.arguments[0], self.options["alt"])
        return [_raw(f'<div class="picture" tabindex="0">{svg}'), caption, _raw("</div>")]


class HomeworkList(SphinxDirective):
    """``{homework-list} 7``: a lesson's exercises in order, with points and what they build on."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        course: Course = self.env.app.course  # type: ignore[attr-defined]
        lesson = next(item for item in course.lessons if item.number == int(self.arguments[0]))
        lines: list[str] = []
        for exercise in lesson.exercises:
            names = ", ".join(f"`{function.name}`" for function in exercise.functions)
            lines += [":::::{div} task", ""]
            lines.append(f"{{homework}}`{exercise.id}` [{homework.points(exercise)}]{{.points}}")
            lines.append("")
            facts = [f"{names} in `{exercise.stub}`", f"`grade check {exercise.id}`", *homework.builds_on(exercise)]
            lines += [" · ".join(facts), "", *homework.hints(exercise)]
            lines += [":::::", ""]
        return self.parse_text_to_nodes("\n".join(lines))


class SurgeryMap(SphinxDirective):
    """``{surgery-map}``: the rows of one decode step, with what unlocks them."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(surgery.DATA))
        course: Course = self.env.app.course  # type: ignore[attr-defined]
        return [_raw(_surgery(course, self.env.docname))]


def _surgery(course: Course, docname: str) -> str:
    up = _up(docname)
    _, parts = surgery.load()
    known = {exercise.id: exercise for exercise in course.exercises}
    lessons = {lesson.number for lesson in course.lessons}
    most = max(part.bytes for part in parts)
    rows = []
    for part in parts:
        links = []
        for name in part.exercises:
            shown = f"<code>{name}</code>"
            if name in known:
                shown = f'<a href="{up}{homework.page_name(known[name])}.html">{shown}</a>'
            links.append(shown)
        lesson = f"Lesson {part.lesson}"
        if part.lesson in lessons:
            lesson = f'<a href="{up}lessons/lesson{part.lesson}.html">{lesson}</a>'
        width = max(0.4, 100 * part.bytes / most)
        times = f'<span class="times">{part.times} layers</span>' if part.times > 1 else ""
        rows.append(
            f'<tr id="surgery-{part.id}"><th scope="row">{part.title} {times}'
            f'<span class="what">{html.escape(part.what)}</span></th>'
            f'<td data-label="bytes"><span class="amount">{surgery.amount(part.bytes, "B")}</span>'
            f'<span class="bar" style="--w:{width:.1f}%" aria-hidden="true"></span></td>'
            f'<td data-label="operations"><span class="amount">{surgery.amount(part.flops, "flop")}</span></td>'
            f'<td data-label="unlocked by">{lesson}<br>{" ".join(links)}</td></tr>'
        )
    moved = surgery.amount(sum(part.bytes for part in parts), "B")
    flops = surgery.amount(sum(part.flops for part in parts), "flop")
    return (
        '<div class="surgery-scroll" role="region" aria-label="One decode step, row by row" tabindex="0">'
        '<table class="surgery"><thead><tr><th scope="col">Part</th><th scope="col">Bytes moved</th>'
        '<th scope="col">Computed</th><th scope="col">Unlocked by</th></tr></thead><tbody>'
        + "".join(rows)
        + f'</tbody><tfoot><tr><th scope="row">One token, all of it</th><td data-label="bytes">{moved}</td>'
        f'<td data-label="operations">{flops}</td><td></td></tr></tfoot></table></div>'
    )


class Journey(SphinxDirective):
    """``{journey}``: lines ``lesson | title | what it gave | where that is in the last kernel``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        course: Course = self.env.app.course  # type: ignore[attr-defined]
        lessons = {lesson.number for lesson in course.lessons}
        stations = []
        for line in self.content:
            number, title, gave, becomes = (html.escape(piece.strip()) for piece in line.split("|"))
            if int(number) in lessons:
                title = f'<a href="{_up(self.env.docname)}lessons/lesson{number}.html">{title}</a>'
            stations.append(
                f'<li><span class="station" aria-hidden="true">{number}</span>'
                f"<div><b>{title}</b><span>{gave}</span></div><code>{becomes}</code></li>"
            )
        return [_raw(f'<ol class="journey">{"".join(stations)}</ol>')]


class LessonCards(SphinxDirective):
    """``{lesson-cards}``: where to begin, and the course's lessons, with how much homework each has."""

    def run(self) -> list[nodes.Node]:
        course: Course = self.env.app.course  # type: ignore[attr-defined]
        cards = []
        for lesson in course.lessons:
            points = sum(exercise.points for exercise in lesson.exercises if not exercise.optional)
            count = len(lesson.exercises)
            homework_of_it = f"{count} exercise{'' if count == 1 else 's'}, {points:g} points"
            cards.append(
                f'<li><a href="{_up(self.env.docname)}lessons/lesson{lesson.number}.html">'
                f'<span class="station" aria-hidden="true">{lesson.number}</span>'
                f"<span><b>{html.escape(lesson.title)}</b><small>{homework_of_it}</small></span></a></li>"
            )
        total = sum(exercise.points for exercise in course.exercises if not exercise.optional)
        work = f"<p>{len(course.exercises)} exercises, {total:g} points in all.</p>"
        up, first = _up(self.env.docname), course.lessons[0].number
        buttons = (
            f'<p class="buttons"><a class="button" href="{up}lessons/lesson{first}.html">Begin with lesson {first}</a>'
            f' <a class="button quiet" href="{up}playground.html">Try the playground</a></p>'
        )
        return [_raw(f'{buttons}<ul class="lesson-cards">{"".join(cards)}</ul>{work}')]


class Playground(SphinxDirective):
    """``{playground}``: the attention playground; ``:preset:`` and ``:view:`` choose how it begins."""

    option_spec: ClassVar[dict[str, Any]] = {"preset": directives.unchanged, "view": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        chosen = "".join(f' {name}="{html.escape(value)}"' for name, value in self.options.items())
        script = f'<script defer src="{_up(self.env.docname)}_static/attention-playground.js"></script>'
        return [
            _raw(
                f"<attention-playground{chosen}><p>The playground needs JavaScript, which is switched off here."
                f"</p></attention-playground>{script}"
            )
        ]


class HomeworkRole(SphinxRole):
    """``{homework}`score_mask```: a link to an exercise's page; its name alone if the course does not have it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        course: Course = self.env.app.course  # type: ignore[attr-defined]
        try:
            exercise = course.exercise(self.text)
        except UsageError:
            return [nodes.literal(self.text, self.text)], []
        reference = addnodes.pending_xref(
            "",
            refdoc=self.env.docname,
            refdomain="std",
            reftype="doc",
            reftarget=f"/{homework.page_name(exercise)}",
            refexplicit=True,
        )
        reference += nodes.inline(exercise.title, exercise.title)
        return [reference], []


class NumberRole(SphinxRole):
    """``{n}`64 MiB <scores_one_head>```: a number in the text, which has to be what `making/facts.py` computes."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        shown, _, name = self.text.rstrip(">").rpartition("<")
        shown = shown.strip()
        computed = facts.FACTS.get(name)
        if computed != shown:
            _log.warning("The text says %r, and %s is %r.", shown, name, computed, location=self.get_location())
        return [nodes.Text(shown)], []


def _write_downloads(app: Sphinx, exception: Exception | None) -> None:
    if exception is None:
        for name, data in sources.downloads(app.course).items():  # type: ignore[attr-defined]
            path = app.outdir / name
            ensuredir(path.parent)
            path.write_bytes(data)


def _begin(app: Sphinx) -> None:
    app.course = load_course(sources.ROOT)  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", _begin)
    app.connect("build-finished", _write_downloads)
    for name, directive in {
        "kernel": KernelListing,
        "worked": WorkedKernel,
        "picture": Picture,
        "homework-list": HomeworkList,
        "surgery-map": SurgeryMap,
        "journey": Journey,
        "lesson-cards": LessonCards,
        "playground": Playground,
    }.items():
        app.add_directive(name, directive)
    app.add_role("homework", HomeworkRole())
    app.add_role("n", NumberRole())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
