# Rules of the mutants; part of the Makefile. See conformance/mutants/README.md.

MUTANT_PROVIDER := conformance/mutants/provider.c
MUTANT_PARTS := $(call obj,aarch64,$(MUTANT_PROVIDER)) $(BUILD)/armq-conform \
	$(BUILD)/compile_commands.json

.PHONY: mutants mutant-parts
mutants: mutant-parts ## small edits of the kernels, each of which must be caught: make mutants ARGS="--sample 30"
	@$(PYTHON) -B -m conformance.mutants --build $(BUILD) $(ARGS)

mutant-parts: $(MUTANT_PARTS)

all: $(MUTANT_PARTS)
-include $(BUILD)/aarch64/obj/$(MUTANT_PROVIDER).d

lint-tidy: $(LINT)/tidy/$(MUTANT_PROVIDER)
