# Two commands: `make run` does the main job, `make test` runs the tests. Both set up all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A test file stays in one process.
SIDE_BY_SIDE := --numprocesses auto --dist loadfile
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test test-all check docs format models paper readme clean

run: $(VENV)/installed
	$(BIN)/planrank setup
	$(BIN)/planrank train --domain blocksworld --profile quick
	$(BIN)/planrank generate blocksworld --count 12 --size blocks=10-20 --seed 1 --out planrank-data/blocksworld/larger
	$(BIN)/planrank evaluate --domain planrank-data/blocksworld/larger --split all \
		--model planrank-models/blocksworld.safetensors,domains/blocksworld/model.json --time-limit 5

test: $(VENV)/installed-for-tests
	$(BIN)/planrank setup
	$(BIN)/pytest $(SIDE_BY_SIDE) $(ARGS)

test-all: $(VENV)/installed-for-tests
	$(BIN)/planrank setup
	$(BIN)/pytest $(SIDE_BY_SIDE) --slow $(ARGS)

# Formatter, linter, types; Julia has no formatter that can be had here, so its lines are measured.
check: $(VENV)/installed-for-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tests/check_julia_lines.py

format: $(VENV)/installed-for-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in build/site; a warning is an error.
docs: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

# Makes every model in domains/ again.
models: $(VENV)/installed-for-tests
	$(BIN)/planrank setup
	$(BIN)/python benchmarks/models.py $(ARGS)

# The tables of the paper: ARGS="--budget quick" in minutes; stopped, it goes on where it was.
paper: $(VENV)/installed-for-tests
	$(BIN)/planrank setup
	$(BIN)/python benchmarks/paper.py $(ARGS)

# Writes the tables of figures in the README from benchmarks/results.
readme: $(VENV)/installed
	$(BIN)/python benchmarks/readme.py

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/pip pyproject.toml Project.toml constraints.txt
	@echo "installing planrank and what it needs (about a minute)"
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-for-tests: $(VENV)/installed
	@echo "installing what the tests need"
	$(INSTALL) --editable '.[cluster,dev,docs,lab,notebook,peers,teachers,up]'
	@touch $@

clean:
	rm -rf $(VENV) build dist
