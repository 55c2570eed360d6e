# People and CI use the same targets. Each works as the first command after a fresh clone.
.DEFAULT_GOAL := help
.NOTPARALLEL:
BIN := .venv/bin
# Each stage of the set-up; scripts/setup.sh tells what is in it.
VENV := .venv/pyvenv.cfg
RUN := .venv/.ready-to-run
LINT := .venv/.ready-to-lint
TEST := .venv/.ready-to-test
STAGE := pyproject.toml requirements/pins.txt scripts/setup.sh hatch_build.py
# The data that the reference libraries need; only tests and benchmarks compare with them.
ORACLE := .venv/.oracle
# Clients of the server that only the tests need, each in an environment of its own.
CLIENTS := $(patsubst requirements/clients/%,.venv-clients/%/.ready,$(basename $(wildcard requirements/clients/*)))
# What checks the page's scripts and styles.
JAVASCRIPT := .venv-clients/javascript
# Test workers: one a core.
JOBS ?= auto

.PHONY: help setup demo test test-all durations lint format bench data assets clean

help:  ## Show these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

setup: $(RUN) $(LINT) $(TEST) $(ORACLE) $(CLIENTS)  ## Create .venv with everything needed here

$(VENV):
	@bash scripts/setup.sh venv

$(RUN): $(STAGE) src/fairmark/metrics/_rouge.c src/fairmark/sandbox/requirements/base.txt | $(VENV)
	@bash scripts/setup.sh run
	@touch $@

$(LINT): $(STAGE) | $(VENV)
	@bash scripts/setup.sh lint
	@touch $@

$(TEST): $(RUN)
	@bash scripts/setup.sh test
	@touch $@

$(ORACLE): $(TEST) scripts/data/sources.py scripts/data/oracle.py
	@$(BIN)/python -m scripts.data oracle
	@touch $@

.venv-clients/%/.ready: requirements/clients/%.* scripts/clients.sh | $(VENV)
	@bash scripts/clients.sh $*
	@touch $@

demo: $(RUN)  ## Start the server with the example eval, graded by real graders and an embedded model
	@$(BIN)/python -m scripts.demo $(DEMO)

test: $(ORACLE) $(CLIENTS)  ## Test everything, in parallel, offline, in minutes
	@$(BIN)/pytest -n $(JOBS) -m "not thorough"

test-all: $(ORACLE) $(CLIENTS)  ## The same as CI: also every attack in every way, long kill loops, foreign clients; coverage
	@rm -rf build/coverage && mkdir -p build/coverage
	@$(BIN)/coverage run -m pytest -n $(JOBS)
	@$(BIN)/coverage combine -q
	@echo "Lines covered, in percent; the floor is in pyproject.toml:"
	@$(BIN)/coverage report

durations: $(ORACLE) $(CLIENTS)  ## Measure anew how long each test file takes: the longest begin first
	@$(BIN)/pytest -n $(JOBS) -m "not thorough" --record-durations

lint: $(LINT) $(JAVASCRIPT)/.ready  ## Lint, check formatting, check types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(JAVASCRIPT)/node_modules/.bin/biome lint --error-on-warnings

format: $(LINT)  ## Rewrite the code in the project's format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(ORACLE)  ## Measure against the peers; prints ratios, writes bench/results/
	@$(BIN)/python -m bench

screenshots: $(TEST)  ## Take the pictures in README again
	@$(BIN)/python -m scripts.screenshots

data: $(TEST)  ## Rebuild the packaged metric data from its sources (needs apt and pip)
	@$(BIN)/python -m scripts.data

assets:  ## Rebuild what the web page vendors (needs npm; nobody else does)
	@bash scripts/assets/build.sh

clean:  ## Remove .venv and everything generated
	rm -rf .venv .venv-bench .venv-clients demo dist build src/fairmark/metrics/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
