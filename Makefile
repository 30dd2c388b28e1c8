# Two commands for a fresh machine: `make grade` and `make test`.  Both set up .venv first.
.DEFAULT_GOAL := help
.PHONY: help setup grade test test-exhaustive test-cluster test-colab check selfcheck stubs notebooks site check-site \
	test-site-quick test-site bench clean

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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

test: setup ## run the tests (those that need a GPU are skipped without one); the rest: test-exhaustive, selfcheck, test-site
	$(BIN)/python -m pytest $(PARALLEL) -m 'not exhaustive and not proof and not site and not cluster'

# With Dask in .venv from then on, as `make test` takes its shorter tests along where it is there.
test-exhaustive: $(VENV)/.installed-dask $(NBGRADER)/.installed ## run the tests that take long: whole classes, clusters, releases, nbgrader, notebooks
	$(BIN)/python -m pytest $(PARALLEL) -m exhaustive

test-cluster: $(VENV)/.installed-dask ## run all tests of engines: clusters of Dask's whose workers and scheduler are killed
	$(BIN)/python -m pytest $(PARALLEL) tests/engines

# What reads files, writes pages, tries what the oracles say or what the system limits: Triton's version makes no difference.
ALIKE := attempts bridges bulk cli/test_course_command.py companions course engines gpu gradescope handin \
	judge/test_untrue_names.py lift/test_lift_fuzz.py lift/test_lift_hostile.py release reports \
	security/test_bubblewrap.py security/test_exhaustion.py security/test_lifter_fuzz.py security/test_sandbox.py \
	selfcheck session similarity site smaller trace watch test_trees.py
test-colab: $(COLAB)/.installed ## grade the solutions and run the tests with Colab's versions, in an environment of their own
	$(COLAB)/bin/course selfcheck --only solutions
	$(COLAB)/bin/python -m pytest -m exhaustive tests/notebook
	$(COLAB)/bin/python -m pytest $(PARALLEL) -m 'not exhaustive and not proof and not site and not cluster' $(ALIKE:%=--ignore=tests/%)

$(COLAB)/.installed: pyproject.toml constraints-colab.txt
	$(PYTHON) -m venv $(COLAB)
	$(COLAB)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-colab.txt -e '.[dev]'
	@touch $@

$(VENV)/.installed-dask: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dask]'
	@touch $@

$(NBGRADER)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(NBGRADER)
	$(NBGRADER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'nbgrader>=0.9.6,<0.10'
	@touch $@

selfcheck: setup ## all proofs that the grader is real: solutions, stubs, mistakes, mutants
	$(BIN)/course selfcheck $(SELFCHECK)

stubs: setup ## write assignments/ anew from solutions/
	$(BIN)/course release --stubs-only

notebooks: setup ## write course/notebooks/*.ipynb anew: lessons from the course, others from the .py beside them
	$(BIN)/python -m autograder.release.notebooks course/notebooks

SITE := course/site/node_modules/.installed
site: $(VENV)/.installed-site $(SITE) ## build the course's pages, build/site/html/index.html
	$(BIN)/python course/site/build.py

check-site: $(VENV)/.installed-site $(SITE) ## build the pages with warnings as errors; links, sizes, leaks. No browser
	$(BIN)/python -m pytest -m site tests/site/test_pages.py

test-site-quick: $(VENV)/.installed-site $(SITE) ## check-site, and in chromium the playground, hints and phones; a minute
	$(BIN)/python -m pytest $(PARALLEL) -m site -k 'not axe or playground' tests/site/test_pages.py tests/browser

test-site: $(VENV)/.installed-site $(SITE) ## tests of pages and notebooks; those in a browser need chromium
	$(BIN)/python -m pytest -m site tests/site tests/browser

$(VENV)/.installed-site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[site]'
	@touch $@

$(SITE): course/site/package.json course/site/package-lock.json | $(VENV)/.installed-site
	$(BIN)/npm ci --prefix course/site --no-audit --no-fund --loglevel=error
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
