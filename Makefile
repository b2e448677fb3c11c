# Every target goes through scripts/bootstrap.py, so each works on a clean clone: it makes .venv,
# finds Java and runs the command in an environment without another Spark's or dbt's variables.

PYTHON ?= python3
BOOTSTRAP_FLAGS ?=
PYTEST_ARGS ?=

BOOTSTRAP := $(PYTHON) scripts/bootstrap.py
RUN := $(BOOTSTRAP) $(BOOTSTRAP_FLAGS) run --
# Linting and building need no Java, so they never install it.
RUN_NO_JAVA := $(BOOTSTRAP) --no-java run --
RUN_BROWSER := $(BOOTSTRAP) $(BOOTSTRAP_FLAGS) --with-chromium run --
TYPED := $(wildcard dbt_snapshot_plugin spark_profiler scripts benchmarks tests)
BENCHMARKS := $(sort $(wildcard benchmarks/bench_*.py))

.DEFAULT_GOAL := help
.PHONY: help setup demo check format test test-long schema bench lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: ## Make .venv and find Java (every other target does this too)
	@$(BOOTSTRAP) $(BOOTSTRAP_FLAGS)
	@echo "ready: .venv"

demo: ## Tell the whole story on the example project, with embedded Spark
	@$(RUN) python scripts/demo.py

check: ## Lint, formatting, types, layers, schemas, hygiene
	@$(RUN_NO_JAVA) ruff check .
	@$(RUN_NO_JAVA) ruff format --check .
	@$(RUN_NO_JAVA) mypy $(TYPED)
	@$(RUN_NO_JAVA) lint-imports
	@$(if $(wildcard scripts/make_schemas.py),$(RUN_NO_JAVA) python scripts/make_schemas.py --check)
	@$(RUN_NO_JAVA) python scripts/check_hygiene.py

format: ## Format the code and apply the safe fixes of the linter
	@$(RUN_NO_JAVA) ruff check --fix .
	@$(RUN_NO_JAVA) ruff format .

test: ## Run all tests but the slow ones (PYTEST_ARGS="-k name" narrows them)
	@$(RUN) python -m pytest -m "not slow" $(PYTEST_ARGS)

test-long: ## Run the slow tests; a skipped one is a failure
	@$(RUN_BROWSER) python -m pytest -m slow -p tests.plugins.no_skip $(PYTEST_ARGS)

schema: ## Write the published JSON Schemas anew from the types
	@$(RUN_NO_JAVA) python scripts/make_schemas.py

bench: ## Run the benchmarks
	@$(foreach file,$(BENCHMARKS),$(RUN) python $(file) &&) echo "$(words $(BENCHMARKS)) benchmarks run"

lock: ## Write constraints.txt anew: the newest versions that pyproject.toml allows
	@$(RUN_NO_JAVA) python scripts/make_constraints.py

clean: ## Remove caches and what builds, dbt and Spark left behind (not .venv, not a store)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf derby.log metastore_db spark-warehouse logs target
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +
