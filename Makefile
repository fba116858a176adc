.DEFAULT_GOAL := help
.PHONY: help demo test test-frameworks check lint types unit lit toolchain venv dev bench clean

# The environment: venv where Python has it, else uv.  `make VENV=dir` puts it elsewhere.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
FRAMEWORKS ?= .frameworks
TOOLCHAIN := .toolchain
export PATH := $(abspath $(BIN)):$(abspath $(TOOLCHAIN))/bin:$(PATH)
export VIRTUAL_ENV := $(abspath $(VENV))

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 17

demo: $(VENV)/.run ## compile a matrix multiplication, simulate it, compare with numpy
	@$(BIN)/python examples/demo.py

test: dev toolchain ## install compilers and drivers, then run the test suite
	$(MAKE) check

test-frameworks: $(FRAMEWORKS)/.triton ## Triton's kernels from Python, in an environment with Triton
	$(FRAMEWORKS)/bin/python -m pytest -q -n 2 test/unit/triton test/unit/test_readme.py::test_triton

check: lint types unit lit ## lint, types and all tests, on what is installed

lint: ## style and formatting
	ruff check .
	ruff format --check .

types: ## pyright, strict
	pyright

unit: ## laws, examples in docstrings, tools as they are used
	pytest -q -n 2

lit: ## what dialects print and parse, what passes do to IR, what is emitted
	lit -q test

bench: ## measure: medians, ratios within one run, and what bounds them
	$(BIN)/python -m bench

venv: $(VENV)/.run ## the environment to run coopc in

dev: $(VENV)/.dev ## the environment to work on coopc in

$(BIN)/python:
	@echo "environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { rm -rf $(VENV) && uv venv -q $(VENV); } || \
	  { echo "needs Python 3.11 or newer with venv, or uv"; exit 1; }

# pip where the environment has it, else uv; --group needs pip 25.1.
$(VENV)/.run: pyproject.toml | $(BIN)/python
	@if [ -x $(BIN)/pip ]; then $(BIN)/pip install -q --disable-pip-version-check -e .; \
	  else uv pip install -q --python $(BIN)/python -e .; fi
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.run
	@if [ -x $(BIN)/pip ]; then $(BIN)/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1' && \
	  $(BIN)/python -m pip install -q --disable-pip-version-check -e . --group dev; \
	  else uv pip install -q --python $(BIN)/python -e . --group dev; fi
	@touch $@

# Triton is 1.1 GB, and no part of what coopc needs to be worked on.
$(FRAMEWORKS)/.triton: pyproject.toml
	@$(MAKE) dev VENV=$(FRAMEWORKS)
	@if [ -x $(FRAMEWORKS)/bin/pip ]; then \
	  $(FRAMEWORKS)/bin/pip install -q --disable-pip-version-check -e '.[triton]'; \
	  else uv pip install -q --python $(FRAMEWORKS)/bin/python -e '.[triton]'; fi
	@touch $@

toolchain: ## spirv-tools, lavapipe, Intel's offline compiler, MLIR: without root
	@tools/get_toolchain.sh --mlir $(TOOLCHAIN)

clean: ## remove what was built and installed here
	rm -rf $(VENV) $(FRAMEWORKS) $(TOOLCHAIN) build *.egg-info
