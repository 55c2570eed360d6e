# People and CI use the same targets. Each works as the first command after a fresh clone.
.DEFAULT_GOAL := help
.NOTPARALLEL:
BIN := .venv/bin
# Each stage of the set-up; scripts/setup.sh tells what is in it.
VENV := .venv/pyvenv.cfg
RUN := .venv/.ready-to-run
IMAGE := .venv/.image
LINT := .venv/.ready-to-lint
TEST := .venv/.ready-to-test
STAGE := pyproject.toml requirements/pins.txt scripts/setup.sh scripts/packages.sh hatch_build.py
# The data that the reference libraries need; only tests and benchmarks compare with them.
ORACLE := .venv/.oracle
# Packages of others that tests drive, each in an environment of its own: some in every run, most in the thorough one.
CLIENTS := $(patsubst requirements/clients/%,.venv-clients/%/.ready,$(basename $(wildcard requirements/clients/*.*)))
THOROUGH := $(patsubst requirements/thorough/%,.venv-clients/%/.ready,$(basename $(wildcard requirements/thorough/*.*)))
# What checks the page's scripts and styles, and a document for their tests.
JAVASCRIPT := .venv-clients/javascript
# Test workers: tests/conftest.py says how many.
JOBS ?= auto
# What a test file is compiled to is kept for the next run, also where the environment would rather not have that.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup thorough demo test test-all durations lint format bench data assets clean

help:  ## Show these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

setup: $(RUN) $(IMAGE) $(LINT) $(TEST) $(ORACLE) $(JAVASCRIPT)/.ready thorough  ## Create .venv with everything needed here

$(VENV):
	@bash scripts/setup.sh venv

$(RUN): $(STAGE) src/fairmark/metrics/_rouge.c | $(VENV)
	@bash scripts/setup.sh run
	@touch $@

$(IMAGE): src/fairmark/sandbox/requirements/base.txt $(RUN)
	@bash scripts/setup.sh image
	@touch $@

$(LINT): $(STAGE) | $(VENV)
	@bash scripts/setup.sh lint
	@touch $@

$(TEST): $(RUN) $(IMAGE)
	@bash scripts/setup.sh test
	@touch $@

$(ORACLE): $(TEST) scripts/data/sources.py scripts/data/oracle.py
	@$(BIN)/python -m scripts.data oracle
	@touch $@

.venv-clients/%/.ready: requirements/clients/%.* scripts/clients.sh scripts/packages.sh | $(VENV)
	@bash scripts/clients.sh $<
	@touch $@

.venv-clients/%/.ready: requirements/thorough/%.* scripts/clients.sh scripts/packages.sh | $(VENV)
	@bash scripts/clients.sh $<
	@touch $@

.venv-clients/%/.ready: requirements/lint/%.* scripts/clients.sh scripts/packages.sh | $(VENV)
	@bash scripts/clients.sh $<
	@touch $@

# Two at a time: most of it is waiting and unpacking.
thorough: | $(VENV)
	@printf '%s\n' $(CLIENTS) $(THOROUGH) | xargs -P 2 -n 1 make --no-print-directory

demo: $(RUN)  ## Start the server with the example eval, graded by real graders and an embedded model
	@$(BIN)/python -m scripts.demo $(DEMO)

test: $(ORACLE) $(CLIENTS) $(JAVASCRIPT)/.ready  ## Test everything, in parallel, offline, in minutes
	@$(BIN)/pytest -n $(JOBS) -m "not thorough"

test-all: $(ORACLE) $(JAVASCRIPT)/.ready thorough  ## The same as CI: that and every attack in every way, long kill loops, foreign clients, trainers; and the lines covered
	@$(BIN)/python -m scripts.coverage $(BIN)/pytest -n $(JOBS)
	@echo "Lines covered, in percent; the floor is in pyproject.toml:"
	@$(BIN)/coverage report

durations: $(ORACLE) $(CLIENTS) $(JAVASCRIPT)/.ready  ## Measure anew how long each test file takes: the longest begin first
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
