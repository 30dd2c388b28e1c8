"""Diagrams of boxes for the lessons: blocks, strides, tiles, trips to memory, slots. SVG in the page's colours."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence

INK, FAINT, ONE, TWO, THREE = (f"var(--pic-{name})" for name in ("ink", "faint", "one", "two", "three"))
_WIDTH = 720


class Canvas:
    """An SVG in the making; places and sizes in units of which the width has 720."""

    def __init__(self, height: float) -> None:
        self.height = height
        self.parts: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str = FAINT,
        text: str = "",
        fill: float = 0.25,
        size: float = 14,
        dashed: bool = False,
    ) -> None:
        """A box with its top left corner at (x, y), and words in its middle."""
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(
            f'<rect x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}" rx="4" fill="{colour}" '
            f'fill-opacity="{fill:g}" stroke="{colour}" stroke-width="1.3"{dashes}/>'
        )
        if text:
            self.text(x + width / 2, y + height / 2 + size * 0.35, text, size)

    def text(self, x: float, y: float, words: str, size: float = 14, anchor: str = "middle", colour: str = INK) -> None:
        """Words whose base line begins, ends or has its middle at (x, y)."""
        self.parts.append(
            f'<text x="{x:.4g}" y="{y:.4g}" font-size="{size:g}" text-anchor="{anchor}" fill="{colour}">'
            f"{html.escape(words)}</text>"
        )

    def arrow(self, x: float, y: float, to_x: float, to_y: float, colour: str = INK) -> None:
        """A straight arrow."""
        angle = math.atan2(to_y - y, to_x - x)
        wings = [(to_x - 8 * math.cos(angle + turn), to_y - 8 * math.sin(angle + turn)) for turn in (0.45, -0.45)]
        points = " ".join(f"{a:.4g},{b:.4g}" for a, b in (wings[0], (to_x, to_y), wings[1]))
        self.parts.append(
            f'<path d="M{x:.4g} {y:.4g}L{to_x:.4g} {to_y:.4g}" stroke="{colour}" stroke-width="1.6" fill="none"/>'
            f'<polygon points="{points}" fill="{colour}"/>'
        )

    def line(self, x: float, y: float, to_x: float, to_y: float, colour: str = FAINT) -> None:
        self.parts.append(
            f'<path d="M{x:.4g} {y:.4g}L{to_x:.4g} {to_y:.4g}" stroke="{colour}" stroke-width="1.3" fill="none"/>'
        )

    def cells(
        self, x: float, y: float, size: float, words: Sequence[str], colours: Sequence[str], font: float = 14
    ) -> None:
        """Boxes side by side; one without words is dashed and empty."""
        for place, (word, colour) in enumerate(zip(words, colours, strict=True)):
            self.box(x + place * size, y, size - 3, size - 3, colour, word, 0.25 if word else 0.05, font, not word)

    def svg(self) -> str:
        inner = "\n".join(self.parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {self.height:g}">\n{inner}\n</svg>'


def _blocks() -> str:
    """Ten elements, three programs of four lanes, and two lanes without an element."""
    picture = Canvas(196)
    colours = (ONE, TWO, THREE)
    picture.text(88, 34, "the vector", anchor="end")
    picture.cells(100, 12, 46, [str(n) for n in range(10)], [colours[n // 4] for n in range(10)])
    picture.cells(560, 12, 46, ["", ""], [FAINT, FAINT])
    picture.text(606, 76, "somebody else's", 12, colour=INK)
    for program in range(3):
        left = 100 + program * 184
        picture.arrow(left + 90, 62 if program < 2 else 84, left + 90, 106, colours[program])
        picture.text(left + 90, 128, f"program {program}", 14)
        lanes = [str(4 * program + lane) if 4 * program + lane < 10 else "" for lane in range(4)]
        picture.cells(left, 140, 46, lanes, [colours[program]] * 4)
    picture.text(88, 164, "lanes", anchor="end")
    return picture.svg()


def _two_passes() -> str:
    """Scale and shift as two kernels and as one: what crosses the line between memory and chip."""
    picture = Canvas(236)
    for left, title, steps in (
        (20, "two kernels", (("x", "x · scale"), ("x · scale", "y"))),
        (440, "one kernel", (("x", "y"),)),
    ):
        width = 400 if len(steps) == 2 else 260
        picture.text(left + width / 2, 20, title, 15)
        picture.line(left, 142, left + width, 142, INK)
        for place, (read, written) in enumerate(steps):
            x = left + 20 + place * 190
            words = "· scale, + shift" if len(steps) == 1 else ("· scale", "+ shift")[place]
            picture.box(x, 40, 170 if len(steps) == 2 else 210, 40, TWO, words)
            shift = 50 if len(steps) == 2 else 60
            picture.arrow(x + shift, 168, x + shift, 84, ONE)
            picture.arrow(x + shift + 70, 84, x + shift + 70, 168, THREE)
            picture.box(x + shift - 38, 172, 72, 34, ONE, read, size=13)
            picture.box(x + shift + 36, 172, 72, 34, THREE, written, size=13)
    picture.text(430, 118, "chip", 12, "end")
    picture.text(430, 134, "memory below", 12, "end")
    picture.text(360, 228, "up is read, down is written: four trips against two", 12)
    return picture.svg()


def _strides() -> str:
    """A slice of three columns out of rows of five, as a matrix and as it lies in memory."""
    picture = Canvas(214)
    picture.text(20, 22, "a 3 × 3 slice of rows that are five long", anchor="start")
    row_colours = (ONE, TWO, THREE)
    for i in range(3):
        words = [f"{5 * i + j}" for j in range(5)]
        picture.cells(40, 36 + 34 * i, 34, words, [row_colours[i] if j < 3 else FAINT for j in range(5)], 13)
        picture.text(30, 58 + 34 * i, f"i={i}", 12, "end")
    picture.arrow(230, 52, 230, 84)
    picture.text(240, 73, "stride_m = 5: next row", 13, "start")
    picture.arrow(40, 150, 74, 150)
    picture.text(82, 154, "stride_n = 1: next column", 13, "start")
    picture.text(470, 62, "element (2, 1) lies at", 14, "start")
    picture.text(470, 86, "2 · 5 + 1 · 1 = 11", 16, "start")
    for place in range(15):
        i, j = divmod(place, 5)
        picture.cells(20 + 45 * place, 168, 45, [str(place)], [row_colours[i] if j < 3 else FAINT], 13)
    return picture.svg()


def _broadcast() -> str:
    """A column of row offsets and a row of column offsets make a tile of places."""
    picture = Canvas(208)
    rows, columns = (10, 15), (0, 1, 2, 3)
    picture.text(110, 22, "i[:, None] * 5", 14)
    picture.text(110, 190, "(2, 1)", 13)
    for y, place in enumerate(rows):
        picture.cells(88, 62 + 46 * y, 46, [str(place)], [ONE], 15)
    picture.text(178, 112, "+", 22)
    picture.text(310, 22, "j[None, :]", 14)
    picture.text(310, 190, "(1, 4)", 13)
    picture.cells(218, 85, 46, [str(place) for place in columns], [TWO] * 4, 15)
    picture.text(430, 112, "=", 22)
    picture.text(560, 22, "a tile of places", 14)
    picture.text(560, 190, "(2, 4)", 13)
    for y, start in enumerate(rows):
        for x, place in enumerate(columns):
            ghost = y == 1 or x == 3
            picture.box(468 + 46 * x, 62 + 46 * y, 43, 43, FAINT if ghost else THREE, str(start + place), dashed=ghost)
    return picture.svg()


def _softmax_steps() -> str:
    """Three scores and a ghost: as they are, with the maximum off, exponentials, shares."""
    picture = Canvas(250)
    scores = (2.0, 1.0, 0.0)
    exps = [math.exp(s - 2) for s in scores]
    total = sum(exps)
    panels = (
        ("x", [f"{s:g}" for s in scores] + ["−∞"], None),
        ("x − m,  m = 2", [f"{s - 2:g}".replace("-", "−") for s in scores] + ["−∞"], None),
        ("p = exp(x − m)", [f"{e:.3f}" for e in exps] + ["0"], exps),
        (f"p / l,  l = {total:.3f}", [f"{e / total:.3f}" for e in exps] + ["0"], [e / total for e in exps]),
    )
    for place, (title, words, heights) in enumerate(panels):
        left = 12 + place * 178
        picture.text(left + 80, 22, title)
        for column, word in enumerate(words):
            ghost = column == 3
            x = left + column * 40
            picture.box(x, 196, 37, 30, FAINT if ghost else ONE, word, size=11.5, dashed=ghost)
            if heights and not ghost:
                picture.box(x + 4, 186 - 140 * heights[column], 29, 140 * heights[column], TWO, fill=0.55)
        if place:
            picture.arrow(left - 16, 211, left - 4, 211)
        picture.text(left + 138, 244, "ghost", 11)
    return picture.svg()


def _chunks() -> str:
    """A long row in chunks; m and l are carried over the borders."""
    picture = Canvas(190)
    data = (("1", "2"), ("4", "0"), ("3", "3"))
    m, l = -math.inf, 0.0
    picture.text(56, 40, "the row", anchor="end")
    picture.text(56, 146, "carried", anchor="end")
    picture.box(70, 116, 92, 56, FAINT, "m = −∞, l = 0", size=12)
    for place, chunk in enumerate(data):
        left = 196 + place * 182
        picture.cells(left + 8, 16, 46, chunk, [ONE] * 2, 15)
        numbers = [float(word) for word in chunk]
        new = max(m, *numbers)
        l = l * math.exp(m - new) + sum(math.exp(x - new) for x in numbers)
        m = new
        picture.arrow(left + 54, 66, left + 54, 112, ONE)
        picture.arrow(left - 32, 144, left - 4, 144, TWO)
        picture.box(left, 116, 146, 56, TWO, f"m = {m:g}, l = {l:.3f}", size=14)
    return picture.svg()


def _matmul() -> str:
    """A tile of C, and the strips of A and B that it needs, walked along K."""
    picture = Canvas(330)
    picture.box(30, 160, 200, 150, FAINT, fill=0.06)
    picture.text(130, 150, "A   (M × K)")
    picture.box(300, 20, 150, 110, FAINT, fill=0.06)
    picture.text(375, 14, "B   (K × N)", 13)
    picture.box(300, 160, 150, 150, FAINT, fill=0.06)
    picture.text(375, 326, "C   (M × N)", 13)
    for step in range(4):
        picture.box(30 + 50 * step, 210, 50, 50, ONE, str(step), 0.45 if step == 1 else 0.15)
        picture.box(350, 20 + 27.5 * step, 50, 27.5, TWO, str(step), 0.45 if step == 1 else 0.15)
    picture.box(350, 210, 50, 50, THREE, "acc", 0.6)
    picture.arrow(236, 235, 344, 235)
    picture.arrow(375, 134, 375, 204)
    for place, words in enumerate(
        (
            "One program owns one tile of C.",
            "Step 0, 1, 2, 3 along K:",
            "load the tile of A with that number,",
            "load the tile of B with that number,",
            "add their product to acc.",
            "After the last step, store acc once.",
        )
    ):
        picture.text(474, 176 + 24 * place, words, 12.5, "start")
    return picture.svg()


def _trips() -> str:
    """RMSNorm as five operations and as one kernel: every arrow is one row through memory."""
    picture = Canvas(262)
    steps = (("x + r", 2, 1), ("h · h", 1, 1), ("mean, rsqrt", 1, 0), ("h · s", 1, 1), ("· weight", 1, 1))
    picture.text(20, 22, "five operations: 6 rows read, 4 written", anchor="start")
    picture.text(540, 22, "fused: 2 read, 2 written", anchor="start")
    picture.line(20, 206, 700, 206, INK)
    picture.text(20, 228, "memory", 13, "start")
    for place, (words, read, written) in enumerate(steps):
        x = 20 + place * 98
        picture.box(x, 50, 88, 40, TWO, words, size=12.5)
        _rows(picture, x + 44, read, written)
    picture.box(560, 50, 120, 40, TWO, "all of it", size=13)
    _rows(picture, 620, 2, 2)
    picture.text(360, 254, "each arrow is one row: up is read, down is written", 12)
    return picture.svg()


def _rows(picture: Canvas, middle: float, read: int, written: int) -> None:
    count = read + written
    for place in range(count):
        x = middle + (place - (count - 1) / 2) * 22
        if place < read:
            picture.arrow(x, 204, x, 94, ONE)
        else:
            picture.arrow(x, 94, x, 204, THREE)


def _halves() -> str:
    """Two rows of gate and up in memory, and the rows of y."""
    picture = Canvas(196)
    picture.text(20, 24, "gate_up: rows of 2 · WIDTH, here WIDTH = 3", anchor="start")
    for row in range(2):
        words = [f"g{row}{c}" for c in range(3)] + [f"u{row}{c}" for c in range(3)]
        picture.cells(20 + row * 340, 40, 54, words, [ONE] * 3 + [TWO] * 3, 13)
    picture.text(180, 118, "row 0", 13)
    picture.text(520, 118, "row 1", 13)
    picture.text(20, 150, "y: rows of WIDTH", anchor="start")
    for row in range(2):
        picture.cells(200 + row * 168, 136, 54, [f"y{row}{c}" for c in range(3)], [THREE] * 3, 13)
    return picture.svg()


def _turns() -> str:
    """A pair turned by the angle of its position, for three positions and two pairs."""
    picture = Canvas(250)
    for pair, (step, name) in enumerate(((0.9, "pair 0 turns fast"), (0.25, "pair 1 turns slowly"))):
        middle = 130 + pair * 230
        picture.parts.append(f'<circle cx="{middle}" cy="118" r="82" fill="none" stroke="{FAINT}" stroke-width="1.3"/>')
        for position, colour in enumerate((ONE, TWO, THREE)):
            angle = 0.35 + step * position
            x, y = middle + 82 * math.cos(angle), 118 - 82 * math.sin(angle)
            picture.arrow(middle, 118, x, y, colour)
            picture.text(middle + 98 * math.cos(angle), 123 - 96 * math.sin(angle), f"{position}", 13)
        picture.text(middle, 236, name, 13)
    for place, (name, order) in enumerate((("interleaved", "abababab"), ("half-split", "aaaabbbb"))):
        top = 52 + place * 86
        picture.text(490, top, name, 13, "start")
        counts = {"a": 0, "b": 0}
        for column, letter in enumerate(order):
            colour = ONE if letter == "a" else TWO
            picture.cells(488 + 28 * column, top + 10, 28, [f"{letter}{counts[letter]}"], [colour], 11.5)
            counts[letter] += 1
    return picture.svg()


def _slots() -> str:
    """Tokens on their way to slots of a pool that others use too."""
    picture = Canvas(226)
    slots = (3, -1, 0, 4)
    for token, slot in enumerate(slots):
        x = 120 + token * 130
        words = f"k of token {token}" if slot >= 0 else "padding"
        picture.box(x, 14, 100, 34, ONE if slot >= 0 else FAINT, words, size=12.5, dashed=slot < 0)
        picture.text(x + 50, 68, f"slot {slot}".replace("-", "−") + (", stays" if slot < 0 else ""), 13)
        if slot >= 0:
            picture.arrow(x + 50, 78, 86 + slot * 130, 148, ONE)
    picture.text(20, 36, "the batch", 13, "start")
    for slot in range(5):
        mine = slot in slots
        words = f"token {slots.index(slot)}" if mine else "another's"
        picture.box(26 + slot * 130, 152, 120, 36, TWO if mine else FAINT, words, size=13)
        picture.text(86 + slot * 130, 208, f"slot {slot}", 12)
    return picture.svg()


def _splits() -> str:
    """W cut into tiles of rows and splits of columns; parts of sums; a second kernel."""
    picture = Canvas(250)
    colours = (ONE, TWO, THREE)
    picture.text(150, 20, "W   (N × K)")
    for split in range(3):
        for tile in range(3):
            width = 90 if split < 2 else 60
            picture.box(30 + split * 93, 70 + tile * 48, width, 45, colours[split], f"({tile}, {split})", size=13)
        picture.box(30 + split * 93, 34, 90 if split < 2 else 60, 24, colours[split], "x", size=12)
    picture.arrow(284, 140, 330, 140)
    picture.text(402, 20, "partial   (SPLITS × N)")
    for split in range(3):
        for tile in range(3):
            picture.box(344 + tile * 42, 70 + split * 48, 39, 45, colours[split], size=12)
    picture.arrow(480, 140, 530, 140)
    picture.text(604, 20, "y   (N)")
    for tile in range(3):
        picture.box(544 + tile * 42, 118, 39, 45, FAINT, "Σ", size=13)
    picture.text(150, 238, "gemv_split_kernel: one program a box", 13)
    picture.text(520, 238, "gemv_reduce_kernel adds down the columns", 13)
    return picture.svg()


DIAGRAMS: Mapping[str, Callable[[], str]] = {
    "blocks": _blocks,
    "two-passes": _two_passes,
    "strides": _strides,
    "broadcast": _broadcast,
    "softmax-steps": _softmax_steps,
    "chunks": _chunks,
    "matmul": _matmul,
    "trips": _trips,
    "halves": _halves,
    "turns": _turns,
    "slots": _slots,
    "splits": _splits,
}
