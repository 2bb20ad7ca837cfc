# The developer's menu. Needs Python 3.11+ and make; `make help` lists the targets.
# test-cluster also wants Go, once, to build the servers (or KUBEBUILDER_ASSETS) and some programs.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-newest test-cluster programs sanitize check format bench schema generate clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml setup.py $(wildcard src/kinform/_native/*.[ch])
	@test -n "$(PYTHON)" || { echo "kinform needs Python 3.11 or newer; set PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(READY) ## see a little living cluster through the client; no cluster needed
	@$(BIN)/python -m kinform demo $(DEMO_OPTIONS)

test: $(READY) ## the whole suite, against the embedded server
	$(BIN)/python -m pytest $(PYTEST_OPTIONS)

test-all: ## the suite on every supported Python that is installed
	@pythons=$$($(PYTHON) tools/pythons.py); \
	test -n "$$pythons" || { echo "no python3.11 to python3.14, neither on the PATH nor of pyenv" >&2; exit 1; }; \
	for each in $$pythons; do \
		echo "== Python $${each%%=*}: $${each#*=}"; \
		$(MAKE) --no-print-directory test PYTHON=$${each#*=} VENV=.venv-$${each%%=*} || exit 1; \
	done

test-newest: $(READY) ## unit and contract tests on the newest installed Python, beside the default
	@default=$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	newest=$$($(BIN)/python tools/pythons.py --newest-but $$default); \
	test -n "$$newest" || { echo "no other Python than $$default is installed: nothing to test"; exit 0; }; \
	echo "== Python $${newest%%=*}: $${newest#*=}"; \
	$(MAKE) --no-print-directory test PYTHON=$${newest#*=} VENV=.venv-$${newest%%=*} \
		PYTEST_OPTIONS="tests/unit tests/contract $(PYTEST_OPTIONS)"

programs: $(READY) ## compile, once, whatever the tests with a real server use
	@$(BIN)/python -m tools.build_programs

test-cluster: programs ## conformance and more against a real kube-apiserver and etcd
	$(BIN)/python -m pytest --cluster $(PYTEST_OPTIONS)

sanitize: $(READY) ## compiled code under ASan and UBSan: its tests, then a minute of fuzzing
	$(BIN)/python -m tools.sanitize

check: $(READY) ## ruff, mypy strict, pyright, and the layers of the architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(READY) ## let ruff tidy up
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## measure us beside the peers, in one run
	$(BIN)/python benchmarks/run.py $(BENCH_OPTIONS)

schema: programs ## collect the table that models are generated from, with Go and a real server
	$(BIN)/python -m tools.schema.collect

generate: programs ## write the generated files: models, accessors, tables, example, API reference
	$(BIN)/python -m tools.generate
	$(BIN)/kinform generate --crd examples/crontab.yaml --out examples/crontabs
	$(BIN)/kinform generate --crd examples/sample_controller/foo.yaml --out examples/sample_controller/foos
	$(BIN)/python -m tools.api_reference
	$(BIN)/python -m tools.generate_resources

clean: ## remove what the targets made in this folder
	rm -rf .venv .venv-3.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
