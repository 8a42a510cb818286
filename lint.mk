# Lint rules; part of the Makefile. Each tool leaves stamps, so that only what changed is read again.

LINT := $(BUILD)/lint
FIND := find . -path ./$(BUILD) -prune -o -path ./.git -prune -o -type f
C_FILES := $(sort $(patsubst ./%,%,$(shell $(FIND) \( -name '*.[ch]' -o -name '*.cc' \) -print)))
SH_FILES := $(sort $(patsubst ./%,%,$(shell $(FIND) \( -name '*.sh' -o -path './.ci/run' \) -print)))
PY_FILES := $(sort $(patsubst ./%,%,$(shell $(FIND) -name '*.py' -print)))

# clang-format's verdict depends on its major version: 14 judges, others are not asked.
CLANG_FORMAT := $(firstword $(shell command -v clang-format-14 clang-format))
CLANG_TIDY := $(firstword $(shell command -v clang-tidy-14 clang-tidy))
FORMAT_VERSION = $(shell $(or $(CLANG_FORMAT),false) --version 2>/dev/null | sed -E 's/.*version ([0-9]+).*/\1/')

.PHONY: lint format lint-format lint-tidy lint-shell lint-python lint-header
lint: lint-format lint-tidy lint-shell lint-python lint-header ## check format and style, run the static analysers

format: ## rewrite C and C++ sources with clang-format
	$(CLANG_FORMAT) -i $(C_FILES)

ifeq ($(FORMAT_VERSION),14)
lint-format: $(LINT)/format
$(LINT)/format: $(C_FILES) .clang-format
	@mkdir -p $(@D)
	$(call say,FMT,$(words $(C_FILES)) files)$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)
	@touch $@
else
lint-format:
	@echo 'lint-format: skipped: clang-format is version $(or $(FORMAT_VERSION),(none)), the sources follow version 14'
endif

# An object is rebuilt whenever a header of its source changed, so it tells when to look again.
# Everything is read as AArch64, where all of the code is compiled.
# The common_*.c of the broken providers include sources that are read already.
TIDY_FILES := $(filter-out %.S $(BROKEN_COMMON),$(call sources_of,aarch64))
# In kernels an int counts lanes and rows of a tile, tests have small sizes, and Google Benchmark's
# macros read as leaks.
not_here = $(or $(if $(filter kernels/%,$(1))$(findstring /tests/,$(1)), \
	--checks=-bugprone-implicit-widening-of-multiplication-result), \
	$(if $(filter %.cc,$(1)),--checks=-clang-analyzer-cplusplus.NewDeleteLeaks$(comma)-clang-analyzer-deadcode.*))
# The default, 225000 steps per function, takes four times as long and finds the same here.
ANALYZER := -Xclang -analyzer-config -Xclang max-nodes=40000
lint-tidy: $(TIDY_FILES:%=$(LINT)/tidy/%)
$(LINT)/tidy/%: $(BUILD)/aarch64/obj/%.o .clang-tidy
	@mkdir -p $(@D)
	$(call say,TIDY,$*)$(CLANG_TIDY) --quiet $(call not_here,$*) $* -- $(if $(filter %.cc,$*),$(CXXFLAGS),$(CFLAGS)) \
		$(call flags_aarch64,$*) --target=aarch64-linux-gnu $(ANALYZER) -Wno-unknown-warning-option 2>&1 | \
		sed '/^[0-9]* warnings\{0,1\} generated\.$$/d'
	@touch $@

lint-shell: $(LINT)/shell
$(LINT)/shell: $(SH_FILES)
	@mkdir -p $(@D)
	$(call say,SHELL,$(words $(SH_FILES)) files)shellcheck $(SH_FILES)
	@touch $@

lint-python: $(LINT)/python
$(LINT)/python: $(PY_FILES) .flake8
	@mkdir -p $(@D)
	$(call say,FLAKE,$(words $(PY_FILES)) files)$(PYTHON) -m flake8 $(PY_FILES)
	@touch $@

# The public header compiles alone, in both languages.
lint-header: $(foreach a,$(ARCHES),$(LINT)/header-$(a))
$(LINT)/header-%: kernels/armq.h
	@mkdir -p $(@D)
	$(call say,HDR,$< $*)$(CC_$*) -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c $<
	$(call say,HDR,$< $* C++)$(CXX_$*) -std=c++17 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c++ $<
	@touch $@
