# Every target does its own set-up: Python 3.11 or newer, make and git are all that a machine needs.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach name,python3 python3.11 python3.12 python3.13 python3.14,\
    $(shell $(name) -c "$(NEW_ENOUGH)" 2>/dev/null && echo $(name))))
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-fast lint bench docs release clean

demo: $(VENV)/.runtime
	$(BIN)/llpgan demo --overwrite

test: lint
	$(BIN)/python -m pytest -n 2

test-fast: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python tools/check_names.py
	$(BIN)/python tools/check_prose.py

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q -c docs/site . docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

# The wheel in an empty environment elsewhere, without constraints; FIRST is what to install before it.
FIRST ?= torch --index-url https://download.pytorch.org/whl/cpu
release: $(VENV)/bin/python
	$(BIN)/python tools/check_release.py -- $(FIRST)

$(VENV)/bin/python:
	$(if $(PYTHON),,$(error Python 3.11 or newer is needed and was not found: make PYTHON=/path/to/python3))
	$(PYTHON) -m venv $(VENV)

# constraints.txt pins the CPU build of torch; without it several GB of CUDA packages arrive.
$(VENV)/.runtime: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (two or three minutes, once) ..."
	PIP_CONSTRAINT=constraints.txt $(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	PIP_CONSTRAINT=constraints.txt $(PIP) -e ".[dev]"
	@touch $@

$(VENV)/.docs: $(VENV)/.runtime
	PIP_CONSTRAINT=constraints.txt $(PIP) -e ".[docs]"
	@touch $@

clean:
	rm -rf $(VENV) demo docs/_build docs/site/api docs/site/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
