# The naive provider in other orders of arithmetic, as correct as its own; part of the Makefile. Its
# sources, and what they use, are compiled once more for each: sums from the other end and factors in
# another order; fused multiply-adds wherever the compiler finds them, but not in the quantisers, whose
# every operation a dialect prescribes.

ORDERS := reversed fused
ORDER_WITH := conformance/soak/provider.c $(SRC_naive) $(SRC_api) reference/formats.c
ORDER_FLAGS_reversed := -DARMQ_ORDER_REVERSED
ORDER_FLAGS_fused := -DARMQ_ORDER_FUSED
contract = $(if $(filter %/quantize.c %/formats.c %/provider.c,$(2)),,-ffp-contract=fast $(if $(filter x86_64,$(1)),-mfma))

# $(call order,ARCH,ORDER)
define order
$(BUILD)/$(1)/orders/$(2)/%.o: % $(BUILD)/$(1)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(call compile_$(1),$$<) -fPIC $(ORDER_FLAGS_$(2)) -DORDER_NAME='"naive-$(2)"' \
		$$(if $$(filter fused,$(2)),$$(call contract,$(1),$$<)) -MMD -MP -c -o $$@ $$<

$(BUILD)/$(1)/libarmq-$(2).so: $(ORDER_WITH:%=$(BUILD)/$(1)/orders/$(2)/%.o)
	$$(call say,LD,$$@)$(CC_$(1)) -shared -o $$@ $$^ -lm

all: $(BUILD)/$(1)/libarmq-$(2).so
-include $$(wildcard $(ORDER_WITH:%=$(BUILD)/$(1)/orders/$(2)/%.d))
endef
$(foreach a,$(ARCHES),$(foreach o,$(ORDERS),$(eval $(call order,$(a),$(o)))))

.PHONY: soak
soak: ## judge 200,000 random cases in three orders of arithmetic: make soak ARGS="--cases 20000 --seed 2"
	+@$(MAKE) --quiet --no-print-directory $(parallel) $(BUILD)/armq-conform \
		$(foreach a,$(ARCHES),$(BUILD)/$(a)/armq-conform $(ORDERS:%=$(BUILD)/$(a)/libarmq-%.so))
	@BUILD=$(BUILD) $(PYTHON) -B conformance/soak/run.py $(ARGS)
