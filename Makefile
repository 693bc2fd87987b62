# Everything a developer runs. `make help` lists the targets; each sets up what it needs.

# Any Python from 3.10 on: `make demo PYTHON=python3.12`.
PYTHON ?= python3
BIN := .venv/bin
# Byte-compiling all of torch and transformers takes a minute; Python does it for what is imported, unless it is told
# not to: then every start would take 4 s longer.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -qq --no-compile --constraint constraints.txt

# Stamps of what is installed: setting up again costs nothing until the metadata changes.
INSTALLED := .venv/installed
INSTALLED_DEV := .venv/installed-dev

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint bench bench-engine bench-masks clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# As the command line does for itself: threads of torch that spin while they wait are slow beside a busy neighbour.
demo: export OMP_WAIT_POLICY := PASSIVE
demo: $(INSTALLED) ## install, fetch the default model, print a validated answer of it
	$(BIN)/structgen pull smollm2-135m
	$(BIN)/python examples/weather.py

test: $(INSTALLED_DEV) ## run the fast tests, the real model's included
	$(BIN)/python -m pytest

test-all: $(INSTALLED_DEV) ## run every test, the slow ones too
	$(BIN)/python -m pytest -m "slow or not slow"

lint: $(INSTALLED_DEV) ## check style, formatting, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(INSTALLED_DEV) ## measure this machine; results under benchmarks/results
	@set -e; for script in $(filter-out $(addprefix benchmarks/,machine.py engine.py masks.py lark_grammars.py structural_tags.py tool_schemas.py),$(wildcard benchmarks/*.py)); do \
		echo "== $$script"; $(BIN)/python "$$script"; done

bench-masks: $(INSTALLED_DEV) ## measure masks beside other engines: make bench-masks TOKENIZER=path/to/tokenizer.json
	$(PIP_INSTALL) --editable '.[dev,bench]'
	$(BIN)/python benchmarks/masks.py $(TOKENIZER)
	$(BIN)/python benchmarks/lark_grammars.py --tokenizer $(TOKENIZER)
	$(BIN)/python benchmarks/structural_tags.py $(TOKENIZER)

bench-engine: $(INSTALLED_DEV) ## measure the engine: prompts, streams, grammars, shared prefixes
	$(BIN)/python benchmarks/engine.py

clean: ## remove the environment, the caches and what was built (pulled models stay)
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and \
		"structgen needs Python 3.10 or newer; choose one: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing structgen into .venv (a few minutes the first time)"
	$(PIP_INSTALL) --editable .
	@touch $@

$(INSTALLED_DEV): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing structgen and its development tools into .venv (a few minutes the first time)"
	$(PIP_INSTALL) --editable '.[dev]'
	@touch $(INSTALLED) $@
