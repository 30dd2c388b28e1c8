"""Whatever would give a solution, a hidden case or the secret away is found, in every carrier and disguise."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.errors import LeakError
from autograder.release import _hidden
from autograder.release._hidden import Hidden
from autograder.release.leaks import find_leaks, refuse_leaks

from .making import (
    DISGUISES,
    ROOT,
    SECRET,
    all_regions,
    make_course,
    make_notebook,
    make_wheel,
    make_zip,
    regions,
    renamed,
)

UPDATE = regions("lesson7/flash_attention.py")[0]
EXERCISE = "course/exercises/lesson7/online_softmax_update"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def hidden(released: Course) -> Hidden:
    return _hidden.load(released)


def leaks(hidden: Hidden, name: str, data: bytes | str) -> list[str]:
    content = data.encode() if isinstance(data, str) else data
    return [str(leak) for leak in find_leaks(hidden, {name: content})]


def real(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("number", range(len(all_regions())))
def test_every_region_is_found_in_every_disguise(hidden: Hidden, number: int, disguise: str) -> None:
    code = DISGUISES[disguise](all_regions()[number])
    if not code.strip():
        pytest.skip("nothing of this region fits on one line")
    assert leaks(hidden, "course/companions/more.py", f"import triton.language as tl\n\n{code}\n")
    assert leaks(hidden, f"{EXERCISE}/handout.md", f"# Title\n\nSome words, then:\n\n```python\n{code}\n```\n")


CARRIERS = {
    "handout": (f"{EXERCISE}/handout.md", lambda code: f"{real(f'{EXERCISE}/handout.md')}\n```python\n{code}\n```\n"),
    "hints": (
        f"{EXERCISE}/hints.md",
        lambda code: real(f"{EXERCISE}/hints.md") + "\n    " + code.replace("\n", "\n    ") + "\n",
    ),
    "harness": (f"{EXERCISE}/launch.py", lambda code: f"{real(f'{EXERCISE}/launch.py')}\n\n{code}\n"),
    "companion": ("course/companions/lesson7.py", lambda code: f"def f():\n    '''Doc.'''\n\n{code}\n"),
    "docstring": ("course/companions/lesson7.py", lambda code: f'"""Words.\n\n{code}\n"""\n'),
    "stub": (
        "assignments/lesson7/flash_attention.py",
        lambda code: real("assignments/lesson7/flash_attention.py") + code,
    ),
    "pristine copy": (
        "course/pristine/lesson7/flash_attention.py",
        lambda code: real("assignments/lesson7/flash_attention.py") + code,
    ),
    "notebook cell": ("course/notebooks/lesson7.ipynb", lambda code: make_notebook(f"%%time\n{code}")),
    "notebook output": ("course/notebooks/lesson7.ipynb", lambda code: make_notebook("1", f"Traceback:\n{code}\n")),
    "wheel": ("wheels/kit.whl", lambda code: make_wheel({"autograder/more.py": code}, sources="autograder/re*.py")),
    "nested zip": ("course/lessons/more.zip", lambda code: make_zip({"in.zip": make_zip({"notes.txt": code})})),
    "json": ("course/playground/state.json", lambda code: json.dumps({"a": [{"text": code}]})),
    "javascript": ("course/playground/play.js", lambda code: f"export const text = {json.dumps(code)};\n"),
    "page": ("course/lessons/page.html", lambda code: f"<pre>{html.escape(code)}</pre>"),
    "UTF-16": ("course/lessons/notes.txt", lambda code: code.encode("utf-16")),
}


@pytest.mark.parametrize("change", ["as it is", "renamed"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_region_is_found_in_every_carrier(hidden: Hidden, carrier: str, change: str) -> None:
    name, plant = CARRIERS[carrier]
    found = leaks(hidden, name, plant(DISGUISES[change](UPDATE)))
    assert found
    assert found[0].startswith(name)
    assert any("solutions/lesson7/flash_attention.py, lines" in leak for leak in found)


def test_the_place_is_named(hidden: Hidden) -> None:
    text = "# Title\n\nWords.\n\n```\n" + renamed(UPDATE) + "\n```\n"
    assert any(leak.startswith("x/handout.md, line 6 ") for leak in leaks(hidden, "x/handout.md", text))
    assert any(", cell 1, line 2 " in leak for leak in leaks(hidden, "x.ipynb", make_notebook("%%time\n" + UPDATE)))
    assert any(", cell 1, output 1, line 1 " in leak for leak in leaks(hidden, "x.ipynb", make_notebook("", UPDATE)))
    inner = leaks(hidden, "a.whl", make_zip({"b/c.zip": make_zip({"d.py": UPDATE})}))
    assert any(leak.startswith("a.whl!b/c.zip!d.py, line ") for leak in inner)


def test_a_region_with_lines_between_and_in_another_order_is_found(hidden: Hidden) -> None:
    lines = renamed(UPDATE).split("\n")
    shuffled = "\nprint('between')\n".join(reversed(lines))
    assert leaks(hidden, f"{EXERCISE}/launch.py", shuffled)


def test_a_single_telling_statement_is_found_and_a_trivial_one_is_not(hidden: Hidden) -> None:
    telling = "running = running * shrink[:, None] + tl.dot(w, values, input_precision='ieee')"
    assert leaks(hidden, "x/handout.md", f"Use `{telling}` here.")
    assert leaks(hidden, "x/handout.md", f"Use\n\n    {telling}\n")
    for trivial in ("m = tl.max(s, 1)", "return m_i, l_i, acc", "l = tl.sum(p, 1)", "m_i = m_new", "q, k, v = x"):
        assert not leaks(hidden, "x/handout.md", f"Use `{trivial}` here.\n\n    {trivial}\n")


def test_lines_that_the_course_shows_anyway_are_no_leak(hidden: Hidden) -> None:
    """The harness of ghost_row_pin has three statements in common with attention_kernel."""
    shown = "p = tl.exp(s - m[:, None])\nl = tl.sum(p, 1)\nl = tl.where(l == 0.0, 1.0, l)\n"
    assert shown.split("\n")[0] in real("course/exercises/lesson7/ghost_row_pin/launch.py")
    assert not leaks(hidden, "course/lessons/lesson7.md", f"The harness does\n\n```python\n{shown}```\n")


def test_statements_that_the_instructor_allows_are_no_leak(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    code = "q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=offs_m[:, None] < seqlen_q, other=0.0)\n"
    assert leaks(_hidden.load(course), "x.py", code)
    (course.root / "solutions" / "public.py").write_text(f'"""Every lesson loads a tile like this."""\n\n{code}')
    assert not leaks(_hidden.load(course), "x.py", code)
    assert leaks(_hidden.load(course), "x.py", UPDATE)


def test_hidden_remarks_are_found(hidden: Hidden) -> None:
    remark = next(line.strip() for line in UPDATE.split("\n") if line.strip().startswith("#"))
    assert leaks(hidden, "x/hints.md", f"Remember: {remark.strip('# ')}")


def test_solution_markers_are_found_where_they_mark_something(hidden: Hidden) -> None:
    text = "x = 1\n    ### BEGIN SOLUTION\ny = 2\n    ### END SOLUTION\n"
    assert leaks(hidden, "x.py", text)
    assert leaks(hidden, "x.ipynb", make_notebook(text))
    assert not leaks(hidden, "x.md", "A region runs from ``### BEGIN SOLUTION`` to ``### END SOLUTION``.")


def test_the_secret_is_found_in_every_spelling(hidden: Hidden) -> None:
    spellings = [
        SECRET,
        SECRET.hex(),
        SECRET.hex().upper(),
        base64.b64encode(SECRET),
        str(int.from_bytes(SECRET, "big")),
        repr(SECRET),
    ]
    for spelling in spellings:
        text = spelling.encode() if isinstance(spelling, str) else spelling
        assert any("secret" in leak for leak in leaks(hidden, "x.json", b'{"a": "' + text + b'"}')), spelling
    for between in ("\n", '"\n    "', "\\n", '",\n"', " "):
        cut = f"{SECRET.hex()[:11]}{between}{SECRET.hex()[11:]}"
        assert any("secret" in leak for leak in leaks(hidden, "x.ipynb", cut.encode())), between
    assert any("secret" in leak for leak in leaks(hidden, "x.whl", make_zip({"a/b.json": SECRET.hex()})))
    assert any("secret" in leak for leak in leaks(hidden, "picture.png", b"\x89PNG" + SECRET))


def test_a_secret_that_is_kept_as_hexadecimal_text_is_found_too(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    (course.root / "solutions" / ".secret").write_text(SECRET.hex() + "\n")
    assert any("secret" in leak for leak in leaks(_hidden.load(course), "x.bin", b"\x89PNG" + SECRET))
    assert any("secret" in leak for leak in leaks(_hidden.load(course), "x.txt", SECRET.hex()))


def test_hidden_cases_are_found_by_file_id_sentence_and_values(hidden: Hidden) -> None:
    text = real("solutions/hidden.toml")
    assert any("solutions/hidden.toml" in leak for leak in leaks(hidden, "course/notes.txt", text))
    assert leaks(hidden, "course/hidden.toml", "")
    assert leaks(hidden, "x.md", "It fails in hidden_lengths, I hear.")
    assert leaks(hidden, "x.toml", '[[checks]]\nid = "hidden_chunks"\n')
    assert leaks(hidden, "x.md", "Ghosts are masked for lengths\nthat were not announced.")
    values = {"block_n": 32, "nseq": 77, "head": 64, "block_m": 64}
    assert leaks(hidden, "x.json", json.dumps({"cases": [values]}, indent=2))
    assert leaks(hidden, "x.py", f"CASES = [dict({', '.join(f'{k}={v}' for k, v in values.items())})]")
    assert leaks(hidden, "x.md", "Try nseq = 77, block_n = 32, block_m = 64, head = 64.0 as well.")
    assert leaks(hidden, "x.ipynb", make_notebook(f"case = {values}"))
    assert not leaks(hidden, "x.md", "Try nseq = 77, block_n = 16, block_m = 64, head = 64 as well.")


def test_what_has_no_place_in_a_release_is_found_by_its_path(hidden: Hidden) -> None:
    for name in (
        "solutions/lesson7/x.py",
        "course/.secret",
        "tests/test_x.py",
        "tests/mistakes/flash_attention/causal_strict.py",
        "autograder/__pycache__/x.cpython-311.pyc",
    ):
        assert leaks(hidden, name, "")
        assert leaks(hidden, "wheels/x.whl", make_zip({name: ""}))


def test_known_wrong_kernels_are_found_by_their_text(hidden: Hidden) -> None:
    """Most of a wrong kernel is the right one."""
    text = real("tests/mistakes/flash_attention/acc_not_rescaled.py")
    assert leaks(hidden, "course/lessons/x.py", text)


def test_what_cannot_be_looked_into_is_refused(hidden: Hidden) -> None:
    encrypted = bytearray(make_zip({"a.txt": "text"}))
    for place in (6, encrypted.index(b"PK\x01\x02") + 8):
        encrypted[place] |= 1
    for data in (b"\x1f\x8b\x08abc", b"Rar!\x1a", b"7z\xbc\xaf'", b"\xff\xfe\x00\xff\x01", b"a\0b", bytes(encrypted)):
        assert any("cannot be checked" in leak for leak in leaks(hidden, "x.dat", data))


def test_the_error_names_file_and_place_and_ends_with_3(released: Course) -> None:
    with pytest.raises(LeakError) as error:
        refuse_leaks(released, {"course/lessons/lesson7.md": b"# A\n\n" + UPDATE.encode()})
    assert error.value.exit_code == 3
    assert "course/lessons/lesson7.md, line 3" in str(error.value)
