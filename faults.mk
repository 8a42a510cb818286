# The naive provider with switchable mistakes; part of the Makefile. Its sources, and what they use,
# are compiled once more, with ARMQ_FAULTS, into a library of its own.

FAULTS_WITH := $(SRC_naive) $(SRC_api) reference/formats.c

# $(call faults,ARCH)
define faults
$(BUILD)/$(1)/faults/%.o: % $(BUILD)/$(1)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(call compile_$(1),$$<) -fPIC -DARMQ_FAULTS -MMD -MP -c -o $$@ $$<

$(BUILD)/$(1)/libarmq-faults.so: $(FAULTS_WITH:%=$(BUILD)/$(1)/faults/%.o) \
		$(call obj,$(1),$(SRC_faults) $(if $(filter aarch64,$(1)),$(SRC_faults_aarch64)))
	$$(call say,LD,$$@)$(CC_$(1)) -shared -o $$@ $$(filter %.o,$$^) -lm

all: $(BUILD)/$(1)/libarmq-faults.so
-include $$(wildcard $(FAULTS_WITH:%=$(BUILD)/$(1)/faults/%.d))
endef
$(foreach a,$(ARCHES),$(eval $(call faults,$(a))))

.PHONY: faults
faults: ## prove that every known mistake is caught: make faults ARGS=--sharp for the shortest proof
	+@$(MAKE) --quiet --no-print-directory $(parallel) $(BUILD)/armq-conform \
		$(foreach a,$(ARCHES),$(BUILD)/$(a)/armq-conform $(BUILD)/$(a)/libarmq-faults.so)
	@BUILD=$(BUILD) $(PYTHON) -B conformance/faults/run.py $(ARGS)
