# A thin front to CMake and to the scripts that the targets name.
#   make demo | test | lint | build | bench | fuzz | docs | format
#        [PRESET=release|dev|asan]

PRESET ?= release
JOBS ?= $(shell nproc)

BUILD_release := build
BUILD_dev := build-dev
BUILD_asan := build-asan
BUILD := $(BUILD_$(PRESET))
ifeq ($(BUILD),)
$(error PRESET is '$(PRESET)'; expected release, dev or asan)
endif

.PHONY: help packages configure build test lint demo bench fuzz docs format
.DEFAULT_GOAL := help

help:
	@echo 'make demo    install, build and train a small GPT on real text'
	@echo 'make test    build and run every test and the quick lints'
	@echo 'make lint    check every source with clang-tidy'
	@echo 'make build   build the programs into $(BUILD)'
	@echo 'make bench   measure speed and memory against PyTorch'
	@echo 'make fuzz    damage files for every parser, SECONDS=60 each, ONLY=name'
	@echo 'make docs    write docs/generated from TableGen'
	@echo 'make format  format the sources'
	@echo 'PRESET=release (the default), dev or asan chooses how it is built'

packages:
	@sh compiler/cmake/install-packages.sh

configure: packages
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET)

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

test: configure
	@cmake --build $(BUILD) -j $(JOBS) --target all tests
	@python3 test/run_tests.py --build $(BUILD) -j $(JOBS)

lint: configure
	@cmake --build $(BUILD) -j $(JOBS) --target linted
	@python3 test/run_tests.py --build $(BUILD) -j $(JOBS) --only lint --only tidy

demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target hocket
	@python3 examples/nano/demo.py --build $(BUILD)

bench: configure
	@cmake --build $(BUILD) -j $(JOBS) --target all benchmarks
	@python3 test/benchmarks/run_benchmarks.py --build $(BUILD)

fuzz: build
	@test -f build-fuzz/build.ninja || cmake --preset fuzz
	@cmake --build build-fuzz -j $(JOBS) --target fuzzer
	@python3 test/fuzz/fuzz.py --build build-fuzz --hocket $(BUILD)/bin/hocket \
	  --seconds $(or $(SECONDS),60) $(addprefix --only ,$(ONLY))

docs: packages
	@python3 docs/generate.py

format: packages
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs -r clang-format-19 -i
