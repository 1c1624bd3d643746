PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The compiled modules are built by installing, so whatever they are made of makes the stamps old.
TYPES := $(shell find src -name '*.pxd')
INPUTS := pyproject.toml setup.py constraints.txt $(wildcard backend/*.py) \
	$(TYPES) $(wildcard $(TYPES:.pxd=.py))

define install
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt pip
	$(PIP) install --constraint constraints.txt --build-constraint constraints.txt --editable '.[$(EXTRAS)]'
endef

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

demo: $(VENV)/stamp ## show connect() under pressure, with the kernel's choice and with fourtuple's
	$(BIN)/fourtuple demo

test: $(VENV)/stamp-dev ## run all tests
	$(BIN)/python -m pytest

lint: $(VENV)/stamp-dev ## check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(VENV)/stamp ## measure the figures of the README
	$(BIN)/python benchmarks/connect_pressure.py

clean: ## remove everything that was built or installed
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .ruff_cache .import_linter_cache
	find src tests backend benchmarks -name __pycache__ -prune -exec rm -r {} +
	find src \( -name '*.so' -o -name '*.egg-info' \) -prune -exec rm -r {} +

$(VENV)/stamp: EXTRAS := all
$(VENV)/stamp: $(INPUTS)
	$(install)
	touch $@

# A development install is also a plain one.
$(VENV)/stamp-dev: EXTRAS := all,dev
$(VENV)/stamp-dev: $(INPUTS)
	$(install)
	touch $(VENV)/stamp $@
