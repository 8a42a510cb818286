# Rules of the model; part of the Makefile. See perf/model/README.md.

MODEL := $(BUILD)/model
PLUGIN := $(MODEL)/libarmq-count.so
PLUGIN_SRC := perf/model/plugin.c

# QEMU loads it, so it is built for the machine itself.
$(PLUGIN): $(PLUGIN_SRC) perf/model/marks.h perf/model/plugin_api.h $(BUILD)/$(HOST_ARCH)/flags
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC_$(HOST_ARCH)) $(CFLAGS) $(CPPFLAGS) -shared -fPIC -fvisibility=hidden -o $@ $<

MODEL_PARTS := $(PLUGIN) $(BUILD)/aarch64/armq-model
model_run = $(PYTHON) -B -m perf.model --build $(BUILD)

.PHONY: model model-tiles model-short
model: $(MODEL_PARTS) ## modelled cycles on Neoverse cores: make model ARGS="--provider i8mm --hot 5 'linear_w8a8 ...'"
	@$(model_run) $(if $(ARGS),$(ARGS),--json $(MODEL)/model.json)

model-tiles: $(MODEL_PARTS) ## fails when a tile is below its modelled target
	@$(model_run) --suite tiles --strict

model-short: $(MODEL_PARTS)
	@$(model_run) --suite short --json $(MODEL)/short.json

# Programs that the model's tests count: position-independent, and not.
MODEL_TESTS := $(MODEL)/tests/loop-pie $(MODEL)/tests/loop-static
MODEL_TEST_SRC := perf/model/tests/loop.c

$(MODEL)/tests/loop-pie: MODEL_LINK := -fPIE -pie
$(MODEL)/tests/loop-static: MODEL_LINK := -fno-pie -no-pie -static
$(MODEL_TESTS): $(MODEL_TEST_SRC) perf/model/marks.h $(BUILD)/aarch64/flags
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC_aarch64) $(CFLAGS) $(CPPFLAGS) $(MODEL_LINK) -o $@ $<

MODEL_TEST_LIBS := $(patsubst %,$(BUILD)/aarch64/broken/lib%.so,forget_bias loop_forever)

.PHONY: model-test
model-test: $(MODEL_PARTS) $(MODEL_TESTS) $(MODEL_TEST_LIBS) ## unit tests of the model
	@ARMQ_BUILD=$(BUILD) $(PYTHON) -B -m unittest discover -s perf/model/tests

lint-tidy: $(LINT)/tidy/$(PLUGIN_SRC) $(LINT)/tidy/$(MODEL_TEST_SRC)
