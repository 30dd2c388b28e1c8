# %% [markdown]
# # Grade a class
#
# For instructors, on Colab or any Jupyter: from the zip that your LMS gives you to grades and feedback. Run the cells
# from top to bottom; each says what it needs. Nothing is lost if the session ends: run them again, and only what is
# missing is graded.

# %% [markdown]
# ## 1. The course and the hand-ins
#
# `COURSE` is your copy of the course with its `solutions/` folder: upload it, clone it, or mount your Drive and point
# there. `DOWNLOAD` is what Canvas, Moodle or Gradescope gave you, as it is. `ROSTER` is optional: Canvas's gradebook
# export or Moodle's grading worksheet, and needed for the grades to find their way back.
#
# Results stay in `WORK`. On Colab put it on your Drive, so that it outlives the session:
#
# ```python
# from google.colab import drive
# drive.mount("/content/drive")
# ```

# %%
import os
from pathlib import Path

COURSE = Path(os.environ.get("COURSE", "/content/mini-flash-attention"))
DOWNLOAD = Path(os.environ.get("DOWNLOAD", "/content/submissions.zip"))
ROSTER = os.environ.get("ROSTER", "")
WORK = Path(os.environ.get("WORK", "/content/grading"))

assert (COURSE / "solutions").is_dir(), f"{COURSE} is no instructor's copy of the course: there is no solutions folder."
assert DOWNLOAD.exists(), f"There is no {DOWNLOAD}: upload the download of your LMS, or set DOWNLOAD."
WORK.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## 2. The tools
#
# The kit runs on what Colab has; `--no-deps` keeps pip from replacing any of it.

# %%
import shutil
import subprocess
import sys

if shutil.which("course") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "-e", str(COURSE)], check=True)
os.chdir(COURSE)
roster = f"--roster '{ROSTER}'" if ROSTER else ""
# !grade doctor

# %% [markdown]
# ## 3. One folder a student

# %%
# !course collect '{DOWNLOAD}' --out '{WORK}/hand-ins' {roster}

# %% [markdown]
# ## 4. Grade
#
# On the GPU if there is one. Interrupt it whenever you like; run the cell again and it goes on where it was.

# %%
# !course grade '{WORK}/hand-ins' --out '{WORK}/results' {roster}

# %% [markdown]
# ## 5. Look at it
#
# The class on one page. A score that you want to set by hand:
# `!course override '{WORK}/results' STUDENT EXERCISE SCORE --reason "..."`; one student's failure with all its details:
# `!course grade '{WORK}/hand-ins' --out '{WORK}/results' --student STUDENT --exercise EXERCISE --replay`.

# %%
# !course feedback '{WORK}/results'
# !course report '{WORK}/results'

import html

from IPython.display import HTML

page = (WORK / "results" / "report.html").read_text(encoding="utf-8")
HTML(f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 40em; border: 1px solid #ccc"></iframe>')

# %% [markdown]
# ## 6. Grades for your LMS
#
# A table of everything, and the two files that Canvas and Moodle import (see `docs/export.md`). A format that does not
# fit your class says so and is left out.

# %%
# !course export '{WORK}/results' --to csv --out '{WORK}/grades.csv'
# !course export '{WORK}/results' --to canvas --out '{WORK}/canvas.csv'
# !course export '{WORK}/results' --to moodle --out '{WORK}/moodle.csv'

# %% [markdown]
# ## 7. An nbgrader gradebook
#
# nbgrader wants a newer IPython than Colab's, so it gets an environment of its own; none of Colab's packages change.

# %%
NBGRADER = Path(os.environ.get("NBGRADER", str(WORK / "nbgrader-environment")))
if not (NBGRADER / "bin" / "python").exists():
    subprocess.run([sys.executable, "-m", "venv", str(NBGRADER)], check=True)
    subprocess.run([str(NBGRADER / "bin" / "python"), "-m", "pip", "install", "--quiet", "nbgrader"], check=True)
# !course export '{WORK}/results' --to nbgrader --out '{WORK}/gradebook.db' --python '{NBGRADER}/bin/python'

# %% [markdown]
# ## 8. Take it home

# %%
import zipfile

with zipfile.ZipFile(WORK / "graded.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted([*WORK.glob("*.csv"), *WORK.glob("*.db"), *(WORK / "results").rglob("*")]):
        parts = path.relative_to(WORK).parts
        if path.is_file() and not any(part.startswith(".") for part in parts):
            archive.write(path, path.relative_to(WORK))
print(f"{WORK / 'graded.zip'}: results, feedback, report and exports")
try:
    from google.colab import files
except ImportError:
    pass
else:
    files.download(str(WORK / "graded.zip"))
