# localmem: `make demo` shows it at work, `make test` runs everything. Both set up .venv first.
# LLM=source|wheels|none chooses the language-model engine (see README, "Engines").

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
DEMO := .demo/memory.duckdb
export LLM

.PHONY: setup models demo screenshots test check lint types contracts clean

setup:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed" >&2; exit 2; }
	@$(PYTHON) .ci/setup.py

models: setup
	@$(BIN)/localmem models pull

demo: models
	@mkdir -p -m 700 .demo
	@$(BIN)/localmem --memory $(DEMO) demo

screenshots: models
	@$(BIN)/python -m benchmarks screenshots

test: models
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal

check: lint types contracts

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

contracts: setup
	@$(BIN)/lint-imports

clean:
	rm -rf .venv .demo build *.egg-info .mypy_cache .ruff_cache .pytest_cache
