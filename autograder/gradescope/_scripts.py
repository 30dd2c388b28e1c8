"""The texts of the zip's two scripts and its note.

Both scripts take ``/autograder`` for Gradescope's folder unless AUTOGRADER_ROOT names another, install into
``/opt/mini-flash-attention`` unless KIT_HOME does, and install nothing if KIT_PYTHON names a Python that has the kit.
"""

from __future__ import annotations

SETUP = r"""#!/usr/bin/env bash
# Runs once, as root, while Gradescope builds the image: installs the kit, and tries the solutions.
set -euo pipefail
umask 022

root=${AUTOGRADER_ROOT:-/autograder}
home=${KIT_HOME:-/opt/mini-flash-attention}
source=$root/source

# Solutions, hidden cases and the secret: nobody but root has to read them, least of all a student's kernel.
chmod -R go-rwx "$source"
mkdir -p "$home"

if [ -z "${KIT_PYTHON:-}" ]; then
    for name in python3.13 python3.12 python3.11 python3; do
        fits='import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'
        if "$name" -c "$fits" 2>/dev/null; then
            python=$name
            break
        fi
    done
    if [ -n "${python:-}" ]; then
        "$python" -m venv "$home/venv"
        pip=("$home/venv/bin/python" -m pip install --quiet --no-cache-dir)
    else
        # Ubuntu 22.04 has Python 3.10. Where uv keeps its Pythons must be open to users other than root.
        python3 -m pip install --quiet uv 2>/dev/null || python3 -m pip install --quiet --break-system-packages uv
        export UV_PYTHON_INSTALL_DIR=$home/python UV_NO_CACHE=1
        python3 -m uv venv --quiet --python 3.12 --managed-python "$home/venv"
        pip=(python3 -m uv pip install --quiet --python "$home/venv/bin/python")
    fi
    # torch without CUDA: a tenth of the size, and there is no GPU. What it needs comes with the rest.
    torch=$(grep '^torch==' "$source/requirements.txt")
    "${pip[@]}" --no-deps --index-url https://download.pytorch.org/whl/cpu "$torch"
    "${pip[@]}" -r "$source/requirements.txt" "$source"/wheels/*.whl
fi

cd /
exec "${KIT_PYTHON:-$home/venv/bin/python}" -P -m autograder.cli.gradescope check --source "$source"
"""

RUN = r"""#!/usr/bin/env bash
# Runs for each submission: grades it and writes results/results.json. What is printed only instructors see.
set -euo pipefail
umask 022

root=${AUTOGRADER_ROOT:-/autograder}
home=${KIT_HOME:-/opt/mini-flash-attention}

chmod -R go-rwx "$root/source"
cd /
exec "${KIT_PYTHON:-$home/venv/bin/python}" -P -m autograder.cli.gradescope grade --source "$root/source" \
    --submission "$root/submission" --results "$root/results/results.json"
"""

README = """\
{title}{part}: the autograder for Gradescope

For instructors only. This zip holds the solutions, the hidden checks and the secret behind their inputs: upload it on
the assignment's page "Configure Autograder", and give it to nobody else.

Settings of the assignment: {points} points, a container with 1 CPU and 1.5 GB of memory or more, and the timeout that
Gradescope proposes, 40 minutes.
"""
