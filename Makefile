# The commands that everybody needs. `make` alone lists them.

PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all style types docs release ci clean

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

install: $(BIN)/installed ## Make .venv with everything that development needs

$(BIN)/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -e '.[dev]'
	touch $@

demo: install ## Run the example shop beside the sandbox
	$(BIN)/python -m example_shop

test: install ## Run the usual tests
	$(BIN)/python -m pytest

test-all: install ## Run all tests, the attacks too
	$(BIN)/python -m pytest --all

style: install ## Correct the style as far as that works by itself, and tell the rest
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: install ## Check the types
	$(BIN)/mypy

docs: install ## Build the documentation into build/docs
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs

release: install ## Build sdist and wheel into build/release, with hashes and an SBOM
	$(BIN)/python .ci/release.py build/release
	$(BIN)/python .ci/look_into_wheel.py build/release/*.whl

ci: ## Run everything that must hold before a change lands
	.ci/run

clean: ## Remove what was built, and the caches
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
