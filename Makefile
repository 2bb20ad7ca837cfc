# The developer's menu. Needs Python 3.11+ and make; `make help` lists the targets.
# test-cluster also wants Go, once, to build the servers (or KUBEBUILDER_ASSETS).

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-cluster sanitize check format bench schema generate clean

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
	@found=0; for version in 3.11 3.12 3.13 3.14; do \
		python$$version -c 'import sys' 2>/dev/null || continue; found=1; \
		echo "== Python $$version"; \
		$(MAKE) --no-print-directory test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	done; test $$found = 1 || { echo "no python3.11 to python3.14 on the PATH" >&2; exit 1; }

test-cluster: $(READY) ## conformance and more against a real kube-apiserver and etcd
	@$(BIN)/python tools/cluster_binaries.py > /dev/null || test -z "$(KINFORM_REQUIRE_CLUSTER)"
	@$(BIN)/python -m benchmarks.peer_programs client-go
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

schema: $(READY) ## collect the table that models are generated from, with Go and a real server
	$(BIN)/python -m tools.schema.collect

generate: $(READY) ## write the generated files: models, accessors, tables, the example
	$(BIN)/python -m tools.generate
	$(BIN)/kinform generate --crd examples/crontab.yaml --out examples/crontabs
	$(BIN)/python -m tools.generate_resources

clean: ## remove what the targets made in this folder
	rm -rf .venv .venv-3.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
