# Two commands set everything up, each alone: `make demo` and `make test`.
# VENV says where the environment goes, PYTHON which interpreter makes it.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(abspath $(VENV))/bin
STAMP  := $(VENV)/.installed
WITH   := PATH="$(BIN):$$PATH"

.PHONY: demo test lint environment clean

## Send 4 MiB across the simulated fabric: 1 % loss, and a T1 switch that fails on the way.
demo: $(STAMP)
	$(WITH) mrcnic sim transfer --size 4MiB --drop 0.01 --fail p0t10@60us --seed 1 --plot out/demo.png

## Run the tests, on two workers.
test: $(STAMP)
	$(WITH) python -m pytest -n 2 --dist worksteal

## What CI checks before the tests.
lint: $(STAMP)
	$(WITH) ruff check .
	$(WITH) ruff format --check .

environment: $(STAMP)

$(STAMP): pyproject.toml constraints.txt .ci/prepare
	.ci/prepare $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test,boards]'
	touch $@

clean:
	rm -rf $(VENV) out build .pytest_cache .ruff_cache .hypothesis
