# Two commands for a fresh machine: `make grade` and `make test`.  Both set up .venv first.
.DEFAULT_GOAL := help
.PHONY: help setup grade test test-colab test-cluster check selfcheck stubs notebooks site test-site bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COLAB := .venv-colab
NBGRADER := .venv-nbgrader
STAMP := $(VENV)/.installed
# How tests run: several files at once, no more than there is memory for; the tests of a file share what is slow to make.
# One process more than cores: many tests wait for a process that they started.
PARALLEL := -n $(shell expr $$(nproc 2>/dev/null || echo 2) + 1) --maxprocesses 4 --dist loadfile --no-loadscope-reorder

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv with the `grade` and `course` commands in it

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
		|| { echo "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV): the first time torch is downloaded, which takes a minute or two."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

grade: setup ## grade the stubs, the solutions and one wrong kernel on whatever this machine has
	@$(BIN)/course selfcheck --only stubs --only solutions --mistake flash_attention/acc_not_rescaled --show
	@echo "The stubs, the solutions and one wrong kernel are graded as they should be. Your own work, in assignments/:"
	@echo "    source $(BIN)/activate; grade"

test: setup $(NBGRADER)/.installed ## run the tests (those that need a GPU are skipped without one); the rest: selfcheck, test-cluster, test-site
	$(BIN)/python -m pytest $(PARALLEL) -m 'not proof and not site and not cluster'

# These rooms read files and write pages: Triton's version makes no difference to them.
ALIKE := reports bridges bulk/collect handin release
test-colab: $(COLAB)/.installed ## run the tests with Colab's versions, in an environment of their own
	$(COLAB)/bin/python -m pytest $(PARALLEL) -m 'not exhaustive and not proof and not site and not cluster' $(ALIKE:%=--ignore=tests/%)

test-cluster: $(VENV)/.installed-dask ## tests of the engine for clusters, whose workers and scheduler are killed
	$(BIN)/python -m pytest $(PARALLEL) -m cluster tests/engines

$(VENV)/.installed-dask: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dask]'
	@touch $@

$(COLAB)/.installed: pyproject.toml constraints-colab.txt
	$(PYTHON) -m venv $(COLAB)
	$(COLAB)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-colab.txt -e '.[dev]'
	@touch $@

$(NBGRADER)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(NBGRADER)
	$(NBGRADER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'nbgrader>=0.9.6,<0.10'
	@touch $@

selfcheck: setup ## all proofs that the grader is real: solutions, stubs, mistakes, mutants
	$(BIN)/course selfcheck

stubs: setup ## write assignments/ anew from solutions/
	$(BIN)/course release --stubs-only

notebooks: setup ## write course/notebooks/*.ipynb anew: the lessons from the course, others from the .py beside them
	$(BIN)/python -m autograder.release.notebooks course/notebooks

SITE := course/site/node_modules/.installed
site: $(VENV)/.installed-site $(SITE) ## build the course's pages, build/site/html/index.html
	$(BIN)/python course/site/build.py

test-site: $(VENV)/.installed-site $(SITE) ## tests of the pages; those in a browser need Debian's chromium
	$(BIN)/python -m pytest -m site tests/site tests/browser

$(VENV)/.installed-site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[site]'
	@touch $@

$(SITE): course/site/package.json course/site/package-lock.json
	command -v npm >/dev/null || { echo "The pages need node and npm (apt-get install nodejs npm)."; exit 2; }
	npm ci --prefix course/site --no-audit --no-fund --loglevel=error
	@touch $@

check: setup ## lint, types, import rules, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

bench: setup $(NBGRADER)/.installed ## what is timed, against what; prints ratios
	$(BIN)/python benchmarks/run.py

clean: ## remove .venv and caches
	rm -rf $(VENV) $(COLAB) $(NBGRADER) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
