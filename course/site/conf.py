"""Sphinx's settings for the course's pages.  Run by `build.py`, which makes the folder of sources first."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from sphinxcontrib import katex  # noqa: E402

from autograder.catalogue import load_course  # noqa: E402

_course = load_course(HERE.parents[1])

project = _course.title
author = ""
copyright = ""
language = "en"
html_title = _course.title
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
html_show_search_summary = False  # it fetches pages, which browsers refuse in a folder
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "sphinxcontrib.katex", "making.extension"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # handouts are pages of their own; their hints are folded below a heading
highlight_language = "none"

# Formulas are rendered while building; pages carry their style and fonts, and no script for them.
katex_prerender = True
# The extension connects to its renderer's unix socket as soon as the file is there, which may be before anyone listens;
# to a port it tries again. Its times are short for a machine with other work.
katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket
katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0
katex_css_path = "katex/katex.min.css"

html_theme = "sphinx_book_theme"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["fonts.css", "site.css"]
html_context = {"default_mode": "auto"}
html_theme_options = {
    "home_page_in_toc": True,
    "navbar_persistent": [],
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_selector = (
    "div.highlight-default pre, div.highlight-none pre, div.highlight-bash pre, div.highlight-python pre"
)
