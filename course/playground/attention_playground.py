"""The attention playground in a notebook: ``playground()`` shows it below the cell.

Where anywidget is installed it is a widget, and what the reader changes can be read from Python as ``state``.  Without
anywidget the same JavaScript module is put into the page, and works as well, for itself.
"""

import html
from pathlib import Path

MODULE = Path(__file__).with_name("attention-playground.js")
_ATTRIBUTES = ("preset", "view")


def playground(**chosen):
    """The playground; ``preset`` (copy, ragged, far) and ``view`` (one-shot, online) say how it begins.

    Raises:
        TypeError: another word than these.
    """
    if unknown := sorted(set(chosen) - set(_ATTRIBUTES)):
        raise TypeError(f"The playground knows no {unknown[0]}; it can be given {' and '.join(_ATTRIBUTES)}.")
    try:
        widget = _widget()
    except ImportError:
        return _page(chosen)
    return widget(**chosen)


def _widget():
    import anywidget
    from traitlets import Dict, Unicode

    class AttentionPlayground(anywidget.AnyWidget):
        """``state`` is what the playground holds: q, k, v, the scale, masks and sizes, once the reader changed it."""

        _esm = MODULE.read_text(encoding="utf-8")
        preset = Unicode("").tag(sync=True)
        view = Unicode("").tag(sync=True)
        state = Dict().tag(sync=True)

    return AttentionPlayground


def _page(chosen):
    from IPython.display import HTML

    attributes = "".join(f' {name}="{html.escape(str(value))}"' for name, value in chosen.items())
    module = MODULE.read_text(encoding="utf-8").replace("</script", "<\\/script")
    return HTML(f'<attention-playground{attributes}></attention-playground>\n<script type="module">\n{module}</script>')
