# Fresh machine: python3, make and git are enough. Everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
DEMO := whyconv-runs/demo
STRESS := whyconv-runs/stress
MINUTES ?= 10
SETS ?= 20
FIRST ?= 1
RUNS ?= 200

# Commands and workers start in two thirds of the time once their bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-long knobs check-kernels freeze power record gallery seeds mutants planted tightness chaos bench versions lock clean

setup: .venv/runtime
	$(if $(EXTRAS),$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[$(EXTRAS)]')

.venv/runtime: pyproject.toml requirements.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e .
	@touch $@

.venv/dev: pyproject.toml requirements.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	@touch .venv/runtime $@

demo: .venv/runtime
	$(BIN)/whyconv run brutzkus.fig3a brutzkus.fig3b lahoti.deep-signal --out $(DEMO)
	$(BIN)/whyconv report $(DEMO) --check brutzkus

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m pytest

test-long: .venv/dev
	$(BIN)/python -m pytest -m long

knobs: .venv/dev
	$(BIN)/python -m pytest -m long --dist=load tests/test_knobs.py

check-kernels: .venv/dev
	$(BIN)/python tests/kernels.py

power: .venv/runtime
	$(BIN)/python -m whyconv.criteria power --runs $(RUNS) > power.md && mv power.md docs/power.md

seeds: .venv/runtime
	$(BIN)/python -m whyconv.seeds --sets $(SETS) --first $(FIRST) --out docs/seeds.jsonl $(CLAIMS) > seeds.md && mv seeds.md docs/seeds.md

record: .venv/runtime
	$(BIN)/python -m whyconv.record make --minutes $(MINUTES)

gallery: .venv/runtime
	$(BIN)/python -m whyconv.record gallery

freeze: .venv/runtime
	$(BIN)/python -m whyconv.criteria freeze $(STUDY)

mutants: .venv/dev
	$(BIN)/python tests/mutants.py

planted: .venv/dev
	$(BIN)/python tests/mutants.py page > planted.md && mv planted.md docs/planted.md

tightness: .venv/runtime
	$(BIN)/whyconv check all --stress --minutes $(MINUTES) --out $(STRESS)
	$(BIN)/python docs/tightness.py $(STRESS)

chaos: .venv/dev
	$(BIN)/python tests/chaos/chaos.py

bench: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	$(BIN)/python bench/all.py $(if $(SLOW),--slow)

versions:
	.ci/versions

lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet -e '.[dev]'
	build/lock/bin/python -m pip freeze --exclude-editable > requirements.lock

clean:
	rm -rf .venv build whyconv-runs
