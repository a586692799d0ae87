# Everything a contributor runs, from a fresh clone with Python 3.11+ and make alone.
# The environment lives in .venv; stamp files inside it make the second start immediate.
# Nothing here names a package registry: pip uses the one the machine is set up with (-qq hides its warnings, not its errors).

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PY := $(VENV)/bin/python

# The first interpreter that is new enough; `make PYTHON=/path/to/python setup` overrides the search.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$p; break; }; done)

# Hundreds of processes start from these sources: they are compiled once, also where the machine asks for no bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Wheels only: no package may run its own build script here. Empty this (`make WHEELS= setup`) on a platform without wheels.
WHEELS ?= --only-binary=:all:
PIP := $(PY) -m pip --disable-pip-version-check --no-input -qq
INSTALL := $(PIP) install --no-compile --require-hashes --no-deps $(WHEELS) -r
INSTALL_PACKAGE := SKIP_WEB_BUILD=1 $(PIP) install --no-deps --no-build-isolation --editable .
# So that no start has to, where bytecode may not be written. On every core, which pip does not do; packages may contain
# templates and examples that are not Python.
COMPILE_ALL := $(PY) -m compileall -q -j 0 src/mainspring $(VENV)/lib >/dev/null 2>&1 || true

# More than two cores can carry, for much of a test is waiting for a disk or a process; each brings its own PostgreSQL.
# A worker that has run out of tests takes some of another's, so that none works alone at the end.
PYTEST_WORKERS ?= -n 4 --dist worksteal
PYTEST ?= $(PY) -m pytest
# A test that hangs ends the run with the stacks of all its threads. The slowest short test takes about a minute.
NO_HANGS := -o faulthandler_timeout=400 -o faulthandler_exit_on_timeout=true

# Rebuilds the web UI when its sources changed, else takes no time; without a registry it says so and goes on.
BUILD_WEB := $(PY) web/build.py --if-possible

UV ?= uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

# A scripts folder names the place it was made at: an environment copied along with its tree would run the other tree.
MOVED := $(shell test -e $(VENV)/.made-at && test "$$(cat $(VENV)/.made-at)" != "$$(pwd)" && echo moved)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: $(VENV)/.runtime ## Make the environment in .venv (runtime only)
	@$(BUILD_WEB)

.PHONY: run
run: $(VENV)/.runtime ## Start everything in one process on SQLite
	@$(BUILD_WEB)
	@$(VENV)/bin/mainspring serve

.PHONY: test
test: $(VENV)/.test ## Lint, types and all tests (short fault tests included)
	@$(MAKE) --no-print-directory -j3 pages collection check
	@$(MAKE) --no-print-directory parallel-tests
	@$(MAKE) --no-print-directory -j2 short-faults browser

# The inner loop, a few minutes: what needs neither PostgreSQL nor a browser.
.PHONY: quick
quick: $(VENV)/.test ## Lint, types, pure packages and SQLite stores
	@$(MAKE) --no-print-directory check
	$(PYTEST) $(PYTEST_WORKERS) -q tests/domain tests/workflow $(ARGS)
	$(PYTEST) $(PYTEST_WORKERS) -q tests/stores -k "not postgres" $(ARGS)

# `test` runs some of these at a time: mypy uses one core while packages arrive, and a fault test mostly waits.
.PHONY: pages
pages: web-packages
	@$(BUILD_WEB)
	@tests/browser/bring_chromium.sh

# Compiles what the workers of the tests would else compile at the same time, each for itself; they say what is wrong.
.PHONY: collection
collection:
	@$(PYTEST) -n 0 --collect-only -qq >$(VENV)/collection.log 2>&1 || true

.PHONY: parallel-tests
parallel-tests:
	$(PYTEST) $(NO_HANGS) $(PYTEST_WORKERS) --ignore=tests/faults --ignore=tests/browser $(ARGS)

.PHONY: short-faults
short-faults:
	@tests/faults/bring_servers.sh pgbouncer
	$(PYTEST) $(NO_HANGS) -n 3 --dist worksteal tests/faults $(ARGS)

.PHONY: browser
browser:
	$(PYTEST) $(NO_HANGS) -n 0 tests/browser $(ARGS)

# Brings the npm packages once for all who need them; two targets that run side by side would do so at the same time.
.PHONY: web-packages
web-packages: $(VENV)/.test
	@$(PY) web/build.py --packages --if-possible

.PHONY: check
check: $(VENV)/.test web-packages ## Lint, format and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) web/build.py --check --if-possible
	$(PY) -m mypy

.PHONY: format
format: $(VENV)/.test ## Rewrite the code in the house format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) web/build.py --format

# Who calls the three rooms: much of what they do is tested at a door or on a worker, and need not be tested twice.
COVERING := $(addprefix tests/,domain workflow operations documents api cli mcp stores workers simulation)

.PHONY: coverage
coverage: $(VENV)/.test ## Branch coverage of the rooms that must have all of it
	@$(PY) -m coverage erase
	@code=0; $(PY) -m coverage run -m pytest $(PYTEST_WORKERS) -q $(COVERING) $(ARGS) || code=$$?; \
		$(PY) -m coverage combine -q; $(PY) -m coverage report && exit $$code

.PHONY: faults
faults: $(VENV)/.test ## The long fault tests: kills, stops, restarts, outages
	@tests/faults/bring_servers.sh pgbouncer patroni etcd-server haproxy rabbitmq-server
	$(PYTEST) -n 0 --long tests/faults $(ARGS)

.PHONY: bench
bench: $(VENV)/.bench ## Run every benchmark, one after the other
	@set -e; for file in $$(grep -l '^if __name__ ==' benchmarks/*.py 2>/dev/null); do \
		name=$$(basename $$file .py); echo "== $$name"; $(PY) -m benchmarks.$$name; done

.PHONY: web
web: $(VENV)/.runtime ## Build the web UI
	@$(PY) web/build.py

.PHONY: screenshots
screenshots: $(VENV)/.test ## Make the pictures of the documents from the demo
	@$(BUILD_WEB)
	@tests/browser/bring_chromium.sh
	$(PY) -m tests.browser.screenshots

.PHONY: docs
docs: $(VENV)/.test ## Regenerate docs/reference from the code
	$(PY) -m tools.reference

.PHONY: lock
lock: ## Pin all dependencies again (needs uv; UPGRADE=--upgrade moves the pins)
	$(COMPILE) $(UPGRADE) pyproject.toml requirements/runtime.in -o requirements/runtime.txt
	$(COMPILE) $(UPGRADE) pyproject.toml requirements/runtime.in requirements/test.in \
		-c requirements/runtime.txt -o requirements/test.txt
	$(COMPILE) pyproject.toml --extra redis --extra holidays --extra ics requirements/runtime.in -c requirements/test.txt -o requirements/image.txt
	$(COMPILE) $(UPGRADE) pyproject.toml requirements/runtime.in requirements/test.in requirements/bench.in \
		-c requirements/test.txt -o requirements/bench.txt

.PHONY: clean
clean: ## Remove the environment and all caches
	rm -rf $(VENV) web/node_modules src/mainspring/web build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.* htmlcov
	find $(wildcard src tests benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: moved
moved:

$(VENV)/.made-at: $(MOVED)
	@test -n "$(PYTHON)" || { echo "Mainspring needs Python 3.11 or newer and found none on PATH." \
		"Install one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' || { echo "Mainspring needs Python 3.11 or newer;" \
		"$(PYTHON) is $$("$(PYTHON)" --version 2>&1). Name another: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making the environment in $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv --clear $(VENV)
	@pwd > $@

# Each lock contains the one before it, so a larger environment also counts as the smaller ones.
$(VENV)/.runtime: requirements/runtime.txt pyproject.toml $(VENV)/.made-at
	@echo "installing $<"
	@$(INSTALL) $<
	@$(INSTALL_PACKAGE)
	@$(COMPILE_ALL)
	@touch $@

$(VENV)/.test: requirements/test.txt requirements/runtime.txt pyproject.toml $(VENV)/.made-at
	@echo "installing $<"
	@$(INSTALL) $<
	@$(INSTALL_PACKAGE)
	@$(COMPILE_ALL)
	@touch $(VENV)/.runtime $@

$(VENV)/.bench: requirements/bench.txt requirements/test.txt requirements/runtime.txt pyproject.toml $(VENV)/.made-at
	@echo "installing $<"
	@$(INSTALL) $<
	@$(INSTALL_PACKAGE)
	@$(COMPILE_ALL)
	@touch $(VENV)/.runtime $(VENV)/.test $@
