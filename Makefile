# Setting up, trying, testing. `make` alone lists what there is.

# The environment's Python: the first of these that is 3.11 or newer; `make setup PYTHON=/path/to/python` names another.
PYTHONS := $(or $(PYTHON),python3.11 python3.12 python3.13 python3 python)
BIN := .venv/bin
PIP := -m pip --disable-pip-version-check --no-input install --quiet
LINT := .venv-lint/bin

.PHONY: help setup run test faults check lock
.DEFAULT_GOAL := help

help:
	@echo 'make run     play a real history through a broker and a worker of its own, and see what is reverted'
	@echo 'make test    every test (the end-to-end ones start a Kafka: Java 17 and Maven); ARGS="-k name" for some'
	@echo 'make faults  strike workers and a broker, and verify what came out; KILLS=60 SEED=1'
	@echo 'make check   formatting, lint, types, import rules, schemas'
	@echo 'make setup   .venv with everything and the command `acceptance`; the others call it'
	@echo 'make lock    resolve constraints.txt anew'

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@for python in $(PYTHONS); do \
		"$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
	done; \
	if [ -z "$$python" ]; then \
		echo 'make setup: none of these is a Python 3.11 or newer that can make environments: $(PYTHONS). Install one (on Debian with its python3-venv), or name it: make setup PYTHON=/path/to/python3.11' >&2; \
		exit 78; \
	fi; \
	echo "Setting up .venv with $$python; the first time takes a minute or two."; \
	$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || "$$python" -m venv --clear .venv
	@$(BIN)/python $(PIP) -c constraints.txt -e '.[dev]'
	@touch $@

.venv-lint/ready: .ci/lint-requirements.txt | .venv/ready
	@$(BIN)/python -m venv --clear .venv-lint
	@$(LINT)/python $(PIP) -r .ci/lint-requirements.txt
	@touch $@

run: setup
	@$(BIN)/acceptance demo

test: setup
	$(BIN)/python -m pytest $(ARGS)

KILLS ?= 60

faults: setup
	$(BIN)/python -m tests.faults --kills $(KILLS) $(if $(SEED),--seed $(SEED))

check: setup .venv-lint/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m topics --check
	$(LINT)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(LINT)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

# The versions that an environment with no constraints gets.
lock: setup
	@set -e; fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	$(BIN)/python -m venv "$$fresh"; \
	"$$fresh/bin/python" $(PIP) '.[dev]'; \
	"$$fresh/bin/python" -m pip --disable-pip-version-check freeze --exclude ocp-acceptance > "$$fresh/constraints.txt"; \
	mv "$$fresh/constraints.txt" constraints.txt
