# Two commands: `make run` does the main job, `make test` runs the tests. Both set up all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test clean

run: $(VENV)/installed
	$(BIN)/planrank setup
	$(BIN)/planrank train --domain blocksworld --profile quick
	$(BIN)/planrank generate blocksworld --count 12 --size blocks=10-20 --seed 1 --out planrank-data/blocksworld/larger
	$(BIN)/planrank evaluate --domain planrank-data/blocksworld/larger --split all \
		--model planrank-models/blocksworld.safetensors,domains/blocksworld/model.json --time-limit 5

test: $(VENV)/installed-for-tests
	$(BIN)/planrank setup
	$(BIN)/pytest $(ARGS)

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/pip pyproject.toml constraints.txt
	@echo "installing planrank and what it needs (about a minute)"
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-for-tests: $(VENV)/installed
	@echo "installing what the tests need"
	$(INSTALL) --editable '.[dev,peers,teachers]'
	@touch $@

clean:
	rm -rf $(VENV) build dist
