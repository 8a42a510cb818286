# armq: build rules. `make help` lists the targets.
#
# Everything is built under build/<arch>/. On an x86-64 machine there are two of them: x86_64 (the
# portable parts, for unit tests) and aarch64 (everything, cross-compiled and run through QEMU). On
# an Arm machine there is only aarch64. New files are picked up by wildcard; a directory that does
# not exist contributes nothing.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

BUILD := build
HOST_ARCH := $(shell uname -m)
ifeq ($(HOST_ARCH),arm64)
HOST_ARCH := aarch64
endif
ARCHES := $(if $(filter aarch64,$(HOST_ARCH)),aarch64,$(HOST_ARCH) aarch64)

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
DIR ?= reference/golden reference/vectors
PYTHON := /usr/bin/python3

# ---- Tools and flags --------------------------------------------------------------------------

cross := $(if $(filter-out aarch64,$(HOST_ARCH)),aarch64-linux-gnu-)
CC_aarch64 := $(cross)gcc
CXX_aarch64 := $(cross)g++
AR_aarch64 := $(cross)ar
ifneq ($(HOST_ARCH),aarch64)
CC_$(HOST_ARCH) := gcc
CXX_$(HOST_ARCH) := g++
AR_$(HOST_ARCH) := ar
endif

WERROR ?= -Werror
CPPFLAGS := -I. -D_GNU_SOURCE
# -ffp-contract=off: GCC otherwise fuses a*b+c on its own, and results would depend on inlining.
COMMON := -O2 -g -ffp-contract=off -pthread -Wall -Wextra -Wconversion -Wshadow $(WERROR)
CFLAGS := -std=gnu11 $(COMMON) -Wstrict-prototypes -Wmissing-prototypes
CXXFLAGS := -std=gnu++17 $(COMMON)
LDLIBS := -ljansson -lhwloc -ldl -lm -pthread

# Only programs for AArch64 contain the kernels.
DEFS_aarch64 := -DARMQ_HAVE_KERNELS=1

# One CPU-feature level per directory: nothing outside a tier's directory may hold its instructions.
# perf/peaks has one file per level instead.
MARCH_dotprod := armv8.2-a+dotprod
MARCH_i8mm := armv8.2-a+dotprod+i8mm
MARCH_bf16 := armv8.2-a+bf16
level = $(if $(filter perf/peaks/%,$(1)),$(basename $(notdir $(1))),$(word 2,$(subst /, ,$(1))))
march = $(if $(filter aarch64,$(1)),-march=$(or $(MARCH_$(call level,$(2))),armv8-a))

# ---- Sources ----------------------------------------------------------------------------------

mains := %/main.c %_main.c %/main.cc reference/golden_%.c
c_in = $(sort $(filter-out $(mains),$(wildcard $(addsuffix /*.c,$(1)))))
cc_in = $(sort $(filter-out $(mains),$(wildcard $(addsuffix /*.cc,$(1)))))

LIBS_portable := conformance perf naive harness reference api
SRC_api := $(call c_in,kernels/api)
SRC_reference := $(call c_in,reference)
SRC_harness := $(call c_in,harness)
SRC_naive := $(call c_in,conformance/naive)
SRC_faults := $(call c_in,conformance/faults)
SRC_faults_aarch64 := $(wildcard conformance/faults/*.S)
SRC_conformance := $(call c_in,conformance conformance/checks)
SRC_perf := $(call c_in,perf perf/peaks) $(call cc_in,perf)
SRC_kernels := $(call c_in,kernels kernels/common kernels/neon kernels/dotprod kernels/i8mm kernels/bf16) \
	$(sort $(wildcard kernels/*/*.S))

# Program <- its main file. A program exists once its main file does.
MAIN_armq-conform := $(wildcard conformance/main.c)
MAIN_armq-bench := $(wildcard perf/main.c perf/main.cc)
MAIN_armq-model := $(wildcard perf/model/main.c)
MAIN_armq-golden := $(wildcard reference/golden_*.c)
PROGRAMS := $(foreach p,armq-conform armq-bench armq-model armq-golden,$(if $(MAIN_$(p)),$(p)))
# These measure kernels, so they exist for AArch64 only.
programs_of = $(if $(filter aarch64,$(1)),$(PROGRAMS),$(filter-out armq-bench armq-model,$(PROGRAMS)))

# Each <dir>/tests/test_*.c is one cmocka program; other files there are helpers of all of them.
TEST_DIRS_portable := $(addsuffix /tests,kernels/api reference harness conformance conformance/naive \
	conformance/checks perf)
TEST_DIRS_aarch64 := kernels/tests
tests_in = $(sort $(wildcard $(addsuffix /test_*.c,$(1))))
helpers_of = $(filter-out $(1)/test_%,$(sort $(wildcard $(1)/*.c)))

# Each stem in conformance/tests/broken is one provider that must be caught; common*.c goes into all.
BROKEN_DIR := conformance/tests/broken
BROKEN_C := $(filter-out $(BROKEN_DIR)/common%,$(sort $(wildcard $(BROKEN_DIR)/*.c)))
BROKEN_S := $(sort $(wildcard $(BROKEN_DIR)/*.S))
BROKEN_COMMON := $(sort $(wildcard $(BROKEN_DIR)/common*.c))

# Shell text that writes a file only when its content changes.
stamp = echo '$(2)' | cmp -s - $(1) || echo '$(2)' > $(1)
# One short line per command; V=1 shows the commands themselves.
say = $(if $(V),,@echo '  $(1)  $(2)';)

libs_of = $(LIBS_portable) $(if $(filter aarch64,$(1)),kernels)

# Every source that is compiled for an architecture.
sources_of = $(foreach l,$(call libs_of,$(1)),$(SRC_$(l))) $(foreach p,$(call programs_of,$(1)),$(MAIN_$(p))) \
	$(wildcard $(addsuffix /*.c,$(TEST_DIRS_portable) $(TEST_DIRS_$(1)))) \
	$(BROKEN_C) $(BROKEN_COMMON) $(SRC_faults) $(if $(filter aarch64,$(1)),$(BROKEN_S) $(SRC_faults_aarch64))

# ---- Rules per architecture -------------------------------------------------------------------

obj = $(patsubst %,$(BUILD)/$(1)/obj/%.o,$(2))
lib = $(BUILD)/$(1)/libarmq-$(2).a
# What a part (a top directory) may use, itself included; arrows point one way only.
USES_reference := harness reference api
USES_harness := harness reference api
USES_conformance := conformance naive harness reference api
USES_perf := perf conformance naive harness reference api
USES_kernels := naive harness reference api
part = $(firstword $(subst /, ,$(1)))
libs = $(foreach l,$(USES_$(call part,$(2))) $(if $(filter aarch64,$(1)),kernels),$(call lib,$(1),$(l)))
# A group, because a provider list in one library may name a provider in another.
link_libs = -Wl,--start-group $(call libs,$(1),$(2)) -Wl,--end-group

# $(call library,ARCH,NAME): old members vanish with the sources they came from.
define library
$(call lib,$(1),$(2)): $(call obj,$(1),$(SRC_$(2))) $(BUILD)/$(1)/sources
	@mkdir -p $$(@D); rm -f $$@
	$$(call say,AR,$$@)$(AR_$(1)) rcs $$@ $$(filter %.o,$$^)
endef

# $(call program,ARCH,NAME)
define program
$(BUILD)/$(1)/$(2): $(call obj,$(1),$(MAIN_$(2))) $(call libs,$(1),$(MAIN_$(2)))
	$$(call say,LD,$$@)$(CXX_$(1)) -o $$@ $$(filter %.o,$$^) $(call link_libs,$(1),$(MAIN_$(2))) \
		$(if $(filter perf/%,$(MAIN_$(2))),-lbenchmark) $(LDLIBS)
endef

# $(call unit_test,ARCH,SOURCE): g++ links because perf has C++ members.
define unit_test
$(BUILD)/$(1)/$(basename $(2)): $(call obj,$(1),$(2) $(call helpers_of,$(patsubst %/,%,$(dir $(2))))) \
		$(call libs,$(1),$(2))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$(CXX_$(1)) -o $$@ $$(filter %.o,$$^) $(call link_libs,$(1),$(2)) \
		$(if $(filter perf/%,$(2)),-lbenchmark) -lcmocka $(LDLIBS)
endef

# $(call broken,ARCH,STEM)
define broken
$(BUILD)/$(1)/broken/lib$(2).so: $(call obj,$(1),$(filter $(BROKEN_DIR)/$(2).%,$(BROKEN_C) \
		$(if $(filter aarch64,$(1)),$(BROKEN_S))) $(BROKEN_COMMON))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$(CC_$(1)) -shared -o $$@ $$(filter %.o,$$^) -lm
endef

define arch_rules
flags_$(1) = $(CPPFLAGS) $(DEFS_$(1)) $$(call march,$(1),$$(1)) $$(if $$(filter $(BROKEN_DIR)/%,$$(1)),-fPIC) \
	$$(if $$(filter conformance/faults/%,$$(1)),-fPIC -DARMQ_FAULTS)
compile_$(1) = $$(if $$(filter %.cc,$$(1)),$(CXX_$(1)) $(CXXFLAGS),$(CC_$(1)) $(CFLAGS)) $$(call flags_$(1),$$(1))

$(BUILD)/$(1)/obj/%.o: % $(BUILD)/$(1)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(call compile_$(1),$$<) -MMD -MP -c -o $$@ $$<

$(foreach l,$(call libs_of,$(1)),$(eval $(call library,$(1),$(l))))
$(foreach p,$(call programs_of,$(1)),$(eval $(call program,$(1),$(p))))

TESTS_$(1) := $(patsubst %.c,$(BUILD)/$(1)/%,$(call tests_in,$(TEST_DIRS_portable) $(TEST_DIRS_$(1))))
$(foreach t,$(call tests_in,$(TEST_DIRS_portable) $(TEST_DIRS_$(1))),$(eval $(call unit_test,$(1),$(t))))

BROKEN_$(1) := $(sort $(notdir $(basename $(BROKEN_C) $(if $(filter aarch64,$(1)),$(BROKEN_S)))))
$(foreach b,$(sort $(notdir $(basename $(BROKEN_C) $(if $(filter aarch64,$(1)),$(BROKEN_S))))),\
	$(eval $(call broken,$(1),$(b))))

# Stamps that change only when their text does: flags rebuild objects, the list of sources rebuilds
# libraries from which a file was removed.
$(BUILD)/$(1)/flags: FORCE
	@mkdir -p $$(@D); $$(call stamp,$$@,$$(call compile_$(1),x.c) $$(call compile_$(1),x.cc) \
		$(MARCH_dotprod) $(MARCH_i8mm) $(MARCH_bf16))
$(BUILD)/$(1)/sources: FORCE
	@mkdir -p $$(@D); $$(call stamp,$$@,$(call sources_of,$(1)))

# The unit tests there are now, for the script that runs them.
$(BUILD)/$(1)/tests.txt: FORCE
	@mkdir -p $$(@D); $$(call stamp,$$@,$$(filter-out $(BUILD)/$(1)/kernels/tests/%,$$(TESTS_$(1))))
$(BUILD)/$(1)/kernel-tests.txt: FORCE
	@mkdir -p $$(@D); $$(call stamp,$$@,$$(filter $(BUILD)/$(1)/kernels/tests/%,$$(TESTS_$(1))))
lists: $(BUILD)/$(1)/tests.txt $(BUILD)/$(1)/kernel-tests.txt

PROGRAMS_$(1) := $(addprefix $(BUILD)/$(1)/,$(call programs_of,$(1)))
all: $$(PROGRAMS_$(1)) $$(TESTS_$(1)) $$(BROKEN_$(1):%=$(BUILD)/$(1)/broken/lib%.so)
-include $$(wildcard $(patsubst %,$(BUILD)/$(1)/obj/%.d,$(call sources_of,$(1))))
endef

.PHONY: all lists
all: ## build everything: programs, unit tests, broken providers

$(foreach a,$(ARCHES),$(eval $(call arch_rules,$(a))))

.PHONY: FORCE
FORCE:

# For editors and clang tools: one entry per source and architecture.
comma := ,
entry = {"directory": "$(CURDIR)", "file": "$(2)", "command": "$(strip $(call compile_$(1),$(2))) -c $(2)"}
entries = $(foreach a,$(ARCHES),$(foreach s,$(call sources_of,$(a)),$(call entry,$(a),$(s))$(comma)))

$(BUILD)/compile_commands.json: $(foreach a,$(ARCHES),$(BUILD)/$(a)/flags $(BUILD)/$(a)/sources)
	@$(if $(wildcard $(BUILD)),$(file >$@,[$(entries)]))sed -i 's/}, *{/},\n {/g; s/},]$$/}]/' $@

include lint.mk
include model.mk
include faults.mk
include soak.mk
include mutants.mk

# As many jobs as processors, unless the user said -j.
parallel = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- What a user types ------------------------------------------------------------------------

# build/<program> runs the AArch64 program: natively on Arm, through QEMU elsewhere.
# armq-model is started by perf/model alone.
USER_PROGRAMS := $(filter-out armq-model,$(PROGRAMS))
LAUNCHERS := $(addprefix $(BUILD)/,$(USER_PROGRAMS))
all: $(LAUNCHERS) $(BUILD)/compile_commands.json lists

$(LAUNCHERS): $(BUILD)/%: ci/launch.sh $(BUILD)/aarch64/%
	@install -m 755 $< $@

.PHONY: setup run test nightly unit conform bench golden report install clean help
setup: ## install what is missing (packages of the distribution); silent when all is there
	@ci/setup.sh

# make calls itself, so that rules are read after the set-up.
run: setup ## judge the kernels on real model shapes, time a few, write the report
	+@$(MAKE) --quiet --no-print-directory $(parallel) $(LAUNCHERS)
	@ci/run.sh

test: setup ## prove the suite itself: lint, unit tests, golden data, conformance on three CPU levels
	+@ci/test.sh

nightly: setup ## what is too long for every commit: soak, full sweeps, all faults, mutants; make nightly ARGS="soak full"
	+@ci/nightly.sh $(ARGS)

conform: $(BUILD)/armq-conform ## judge kernels: make conform ARGS="--sweep ci"
	@$(BUILD)/armq-conform $(ARGS)

bench: $(BUILD)/armq-bench ## time kernels: make bench ARGS="--sweep quick"
	@$(BUILD)/armq-bench $(ARGS)

report: ## one HTML page from result files: make report ARGS="--conform F.jsonl --bench F.json --out F.html"
	@$(PYTHON) -B -m reports.report $(ARGS)

golden: $(BUILD)/armq-golden ## check the reference against outputs of real kernels, and against vectors: make golden DIR=...
	@for folder in $(DIR); do $(BUILD)/armq-golden "$$folder"; done

unit: ## build and run the unit tests only (native, and AArch64 with every CPU feature)
	+@$(MAKE) --no-print-directory $(parallel) unit-programs
	@ci/unit.sh native $(BUILD)/unit/native $(TESTS_$(HOST_ARCH))
	@$(if $(cross),ci/unit.sh max $(BUILD)/unit/max $(TESTS_aarch64))

.PHONY: unit-programs
unit-programs: $(foreach a,$(ARCHES),$(TESTS_$(a)))

# Launchers go to bin/, the programs to where the launchers look for them, sweeps to where the
# programs do.
install: $(LAUNCHERS) ## install programs, armq.h and sweeps: make install PREFIX=/usr/local DESTDIR=
	install -d $(addprefix '$(DESTDIR)$(PREFIX)'/,bin libexec/armq include share/armq/sweeps share/armq/cases)
	install -m 755 $(LAUNCHERS) '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(USER_PROGRAMS:%=$(BUILD)/aarch64/%) '$(DESTDIR)$(PREFIX)/libexec/armq'
	install -m 644 kernels/armq.h '$(DESTDIR)$(PREFIX)/include'
	install -m 644 $(wildcard conformance/sweeps/*.sweep) '$(DESTDIR)$(PREFIX)/share/armq/sweeps'
	install -m 644 $(wildcard perf/cases/*.sweep) '$(DESTDIR)$(PREFIX)/share/armq/cases'

clean: ## remove build/
	rm -rf $(BUILD)
# `make -j2 clean all` means: one after the other.
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
