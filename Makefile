# `make demo` and `make test` are all that a fresh machine needs: each sets itself up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROTO := protocol/worker/v1/worker.proto
GENERATED := stdworker/wire/generated
FUZZED := tests/acceptance/test_rest_contract.py tests/unit/bridge/test_random_behaviour.py tests/unit/framing tests/unit/model tests/unit/wire
PYTEST_ARGS ?= -n 2 --dist loadgroup
FUZZED += tests/unit/engine/test_machine.py

.PHONY: help setup demo test fuzz chaos lint types generate generated bench clean

help: ## show the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(BIN)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[engine]' --group test --group lint
	@touch $@

setup: $(BIN)/.ready ## create the virtual environment

demo: setup ## run the examples on the embedded engine until every resource is Ready
	$(BIN)/python examples/demo/run.py

test: setup ## run the whole test suite
	$(BIN)/python -m pytest $(PYTEST_ARGS)

fuzz: setup ## search at random for longer; FUZZ_SEED=2 for other behaviours
	FUZZ_ROUNDS=10 $(BIN)/python -m pytest --timeout 1800 $(FUZZED)

chaos: setup ## break everything for longer; CHAOS_SEED=2 for another order, CHAOS_SECONDS=600
	CHAOS_SECONDS=$${CHAOS_SECONDS:-120} $(BIN)/python -m pytest -s tests/chaos/test_chaos.py

lint: setup ## ruff and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup ## mypy, strict
	$(BIN)/mypy

# An old generator on purpose: its output loads on every newer protobuf runtime.
.venv-protoc/.ready:
	$(PYTHON) -m venv .venv-protoc
	.venv-protoc/bin/python -m pip install --quiet --disable-pip-version-check 'grpcio-tools==1.62.3' 'setuptools<80'
	@touch $@

generate: .venv-protoc/.ready ## regenerate the protobuf code
	@rm -rf .cache/generated && mkdir -p .cache/generated
	.venv-protoc/bin/python -m grpc_tools.protoc -Iprotocol --python_out=.cache/generated --pyi_out=.cache/generated worker/v1/worker.proto
	cp .cache/generated/worker/v1/worker_pb2.py .cache/generated/worker/v1/worker_pb2.pyi $(GENERATED)/

generated: generate ## prove that the committed protobuf code matches the .proto
	git diff --exit-code -- $(GENERATED)

bench: setup ## print every figure beside its budget
	$(BIN)/python -m bench

clean: ## remove what the targets made
	rm -rf $(VENV) .venv-protoc .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
