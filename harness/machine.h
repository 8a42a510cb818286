/* SPDX-License-Identifier: Apache-2.0 */
/* What machine this is: for messages, results and the op description. */
#ifndef ARMQ_HARNESS_MACHINE_H
#define ARMQ_HARNESS_MACHINE_H

#include <jansson.h>
#include <stdbool.h>

#include "kernels/armq.h"

typedef struct {
    bool emulated;       /* under QEMU user emulation: time means nothing */
    char cpu[64];        /* emulated CPU ("cortex-a72"), or the model name of the host */
    char arch[16];       /* "aarch64", "x86_64" */
    uint64_t features;   /* ARMQ_FEATURE_* */
    uint64_t midr;       /* 0 = unknown */
    int64_t l1, l2, llc; /* data caches in bytes, hwloc; fixed values under emulation */
    int32_t cores;       /* usable: affinity, cpuset and CPU quota respected */
    int64_t page;        /* bytes */
    char compiler[96];
    char kernel[96]; /* uname */
} machine_info;

/* Read once, cached. Starts no thread. */
const machine_info *machine(void);

/* Whether the process shows signs of QEMU user emulation, whatever the environment says. */
bool machine_shows_emulation(void);

/* As a JSON object, for result files. Caller owns. */
json_t *machine_json(void);

#endif
