# Everything a contributor or a CI needs. A machine with Python 3.11 and make is enough: `make check test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CLIENTS := .venv-clients

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test gate check docs reference dist tables diagrams sweep sweep-full explore explore-full \
	mutants bench gpu clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv with Interlock and all its extras; nothing to do when it is up to date

demo: $(STAMP) ## Speak with a session, lose the line, interrupt it, and watch its states
	$(BIN)/interlock demo

DOORS := tests/clients tests/browser

test: $(STAMP) ## Run the tests, on every core
	$(BIN)/pytest -n auto -m "not gate" $(DOORS:%=--ignore=%)

.PHONY: test-doors test-clients
test-doors: $(STAMP) $(CLIENTS)/.openai $(CLIENTS)/.node ## Come as others do: through four client SDKs, and the pages in a browser
	$(BIN)/pytest -n auto -m "not gate" $(DOORS)

test-clients: $(STAMP) $(CLIENTS)/.openai $(CLIENTS)/.node $(CLIENTS)/.frameworks ## Speak with six client SDKs, two of them large
	$(BIN)/pytest -n auto tests/clients

gate: $(STAMP) ## Run the proofs that take minutes: every operation of a session, cancelled in pairs
	$(BIN)/pytest -n auto -m gate

check: $(STAMP) ## Lint, types, layers, tidiness; machine files, tables and drawings agree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/test_tidy.py tests/test_imports.py
	$(BIN)/interlock check
	$(BIN)/interlock tables --check
	$(BIN)/interlock draw --check

docs: $(STAMP) ## Build the documentation into build/docs, with every warning an error
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

reference: $(STAMP) ## Write the pages of docs/ that say what the code says: commands, settings, public names
	$(BIN)/python docs/reference.py

dist: $(STAMP) ## Build the source archive and the wheel into dist
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	@ls -l dist

tables: $(STAMP) ## Generate src/interlock/tables from machines/*.toml
	$(BIN)/interlock tables

diagrams: $(STAMP) ## Draw diagrams/ from machines/*.toml
	$(BIN)/interlock draw

sweep: $(STAMP) ## Cancel every operation of a session at every step, beside stages that do their worst
	$(BIN)/interlock sweep

sweep-full: $(STAMP) ## The same in pairs, the canonical cases in threes; writes docs/sweep-report.md
	$(BIN)/interlock sweep --full --jobs 0 --page docs/sweep-report.md

explore: $(STAMP) ## Visit every state that the session can reach in its worlds, and say what holds in all of them
	$(BIN)/interlock explore

explore-full: explore ## And the two large worlds, and every mutant of the machines, written and made
	$(BIN)/interlock explore --world crowd --world whole
	$(BIN)/interlock explore --mutants --generate --jobs 0

mutants: $(STAMP) ## Plant one-line faults in the runtime, and print which scenario of the sweep finds each
	$(BIN)/python -m tests.mutants.runtime.kills

BENCHMARKS := step sweep sweep_cover explore trace metrics flood fuzz link stage barge_in embed event_path storm sessions

bench: $(VENV)/.bench ## Measure, each number beside its peer's in the same run; writes docs/benchmarks.md
	@set -e; for name in $(BENCHMARKS); do echo "== benchmarks/$$name.py"; $(BIN)/python benchmarks/$$name.py; done
	$(BIN)/python benchmarks/collect.py

$(VENV)/.bench: $(STAMP)
	@echo "== installing the peers of the benchmarks"
	$(BIN)/python -m pip install -qq --disable-pip-version-check --progress-bar off -c $(VENV)/constraints.txt -e '.[bench]'
	@touch $@

gpu: $(STAMP) ## What only a GPU can show, in under four minutes; skips, and says so, where there is none
	$(BIN)/python tests/gpu/run.py

clean: ## Remove what was built and cached, .venv included
	rm -rf $(VENV) $(CLIENTS) examples/clients/node_modules build dist demo-out htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

# A torch that can be imported already is kept, whether from the environment or from the system Python, because it may
# be the one that fits the GPU; else the pinned one is installed, which may be a large download.
HAS_TORCH := -c 'import torch; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9)' >/dev/null 2>&1

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Interlock needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
			"Name another: make setup PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || { \
		site=; if $(PYTHON) $(HAS_TORCH); then site=--system-site-packages; fi; \
		echo "== creating $(VENV) with $$($(PYTHON) --version) $$site"; \
		$(PYTHON) -m venv $$site $(VENV) || { rm -rf $(VENV); \
			echo "$(PYTHON) cannot make environments; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }; }
	@if $(BIN)/python $(HAS_TORCH); then \
		echo "== keeping the torch that is there"; grep -v '^torch==' constraints.txt >$(VENV)/constraints.txt; \
	else \
		echo "== installing $$(grep '^torch==' constraints.txt); this can take minutes"; cp constraints.txt $(VENV)/constraints.txt; \
	fi
	@echo "== installing interlock with all extras"
	$(BIN)/python -m pip install -qq --disable-pip-version-check --progress-bar off -c $(VENV)/constraints.txt \
		-e '.[speech,hf,serve,diagrams,docs,completion,dev]'
	@touch $@
	@echo "== ready: make check test, or $(BIN)/interlock --help"

# The SDKs of others, which the tests drive as processes of their own: what they want to have installed is not ours.
$(CLIENTS)/.openai $(CLIENTS)/.frameworks: $(CLIENTS)/.%: tests/clients/%.txt
	@echo "== installing the clients in $<"
	@test -x $(CLIENTS)/$*/bin/python || $(PYTHON) -m venv $(CLIENTS)/$*
	$(CLIENTS)/$*/bin/python -m pip install -qq --disable-pip-version-check --progress-bar off -r $<
	@touch $@

$(CLIENTS)/.node: examples/clients/package-lock.json
	@mkdir -p $(CLIENTS)
	@if command -v npm >/dev/null; then \
		echo "== installing the clients in examples/clients/package.json"; \
		npm ci --prefix examples/clients --loglevel=error --no-progress && touch $@; \
	else \
		echo "== no npm here: the tests of the JavaScript clients will be skipped"; \
	fi
