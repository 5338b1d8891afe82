# make demo: set up the core alone, and protect a made-up table.
# make quick: the tests that take no time.   make test: every check.   make test-all: and every repetition.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := .venv-demo
QUIETLY := -qq --disable-pip-version-check --no-compile -c constraints.txt
PYCANON := .venv-pycanon
LOWEST := .venv-lowest
WORKERS ?= auto
# In order, a few at a time: fast tests come first, and no worker is left with a heap of slow ones.
PYTEST := $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=load --maxschedchunk=4

.PHONY: demo fuzz quick test test-all test-lowest lint types imports warm unit pycanon docs bench clean

demo: $(DEMO)/.ready
	@$(DEMO)/bin/python -m microagg demo

# The core alone, in an environment of its own: the dependencies of pyproject.toml, and src on the path. Twice
# quiet: errors of the installer are shown, its warnings on the configuration of this machine are not. Where the
# installer of $(PYTHON) can serve another environment, that one needs none of its own.
$(DEMO)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "microagg needs Python 3.11 or newer"; exit 1; }
	@echo "Setting up $(DEMO) with the core of microagg (once) ..."
	@if $(PYTHON) -m pip --python $(PYTHON) --version > /dev/null 2>&1; \
	then $(PYTHON) -m venv --clear --without-pip $(DEMO); else $(PYTHON) -m venv --clear $(DEMO); fi
	@$(PYTHON) -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
		> $(DEMO)/core.txt
	@if $(DEMO)/bin/python -c 'import pip' 2> /dev/null; \
	then $(DEMO)/bin/python -m pip install $(QUIETLY) -r $(DEMO)/core.txt; \
	else $(PYTHON) -m pip --python $(DEMO)/bin/python install $(QUIETLY) -r $(DEMO)/core.txt; fi
	@$(DEMO)/bin/python -c "import pathlib, sysconfig; \
		pathlib.Path(sysconfig.get_path('purelib'), 'microagg.pth').write_text('$(CURDIR)/src')"
	@touch $(DEMO)/.ready

quick: warm
	$(PYTEST) -m 'not slow and not nightly' --durations=10 --durations-min=1

test: $(READY)
	$(MAKE) --jobs=2 lint types imports warm
	$(PYTEST)

test-all: test
	$(PYTEST) -m nightly

# The quick tests with the lowest version of each dependency that pyproject.toml allows; old libraries may warn of one another.
# Golden digests are those of the tested versions: the same groups are promised for the same versions.
test-lowest: $(READY)
	$(PYTHON) -m venv $(LOWEST)
	$(BIN)/python tests/support/lowest.py > $(LOWEST)/constraints.txt
	$(BIN)/python tests/support/lowest.py --tools > $(LOWEST)/tools.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/constraints.txt -e '.[all]' \
		-r $(LOWEST)/tools.txt
	$(LOWEST)/bin/python tests/support/warm.py
	$(LOWEST)/bin/python -m pytest --numprocesses=$(WORKERS) -m 'not slow and not nightly' -W default::DeprecationWarning --ignore=tests/golden

# until Ctrl-C; what it finds goes to fuzz-findings/
fuzz: warm
	$(BIN)/python tests/fuzz/run.py

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

warm: $(READY)
	$(BIN)/python tests/support/warm.py

unit: warm
	$(PYTEST)

pycanon: $(PYCANON)/.ready
	@echo $(CURDIR)/$(PYCANON)/bin/python

$(PYCANON)/.ready: tests/support/pycanon-constraints.txt
	$(PYTHON) -m venv $(PYCANON)
	$(PYCANON)/bin/python -m pip install --quiet --disable-pip-version-check -c tests/support/pycanon-constraints.txt pycanon
	@touch $(PYCANON)/.ready

docs: $(READY)
	$(BIN)/python docs/generate.py

bench: $(READY)
	$(BIN)/python benchmarks/speed/run.py

clean:
	rm -rf $(VENV) $(DEMO) $(PYCANON) $(LOWEST) microagg-demo
	find . -name __pycache__ -prune -exec rm -rf {} +
