# make demo: set up and protect a made-up table.   make test: set up and run every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types imports unit docs bench clean

demo: $(READY)
	$(BIN)/microagg demo

test: lint types imports unit

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "microagg needs Python 3.11 or newer"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $(READY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/pyright --warnings --pythonpath $(BIN)/python

imports: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/python -m pytest

docs: $(READY)
	$(BIN)/python docs/generate.py

bench: $(READY)
	$(BIN)/python benchmarks/speed/run.py

clean:
	rm -rf $(VENV) microagg-demo
	find . -name __pycache__ -prune -exec rm -rf {} +
