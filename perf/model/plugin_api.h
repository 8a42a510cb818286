/* SPDX-License-Identifier: Apache-2.0 */
/* What the counting plugin uses of QEMU's plugin interface, version 1, as QEMU's manual ("QEMU TCG
 * Plugins", API section) describes it. Distributions ship QEMU without this header. */
#ifndef ARMQ_MODEL_PLUGIN_API_H
#define ARMQ_MODEL_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

enum { PLUGIN_API_VERSION = 1 };

typedef uint64_t qemu_plugin_id_t;

/* Handles that belong to QEMU. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef struct {
    const char *target_name; /* "aarch64" */
    struct {
        int min, cur; /* interface versions that this QEMU speaks */
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system; /* meaningful for system emulation only */
} qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W = 2, QEMU_PLUGIN_MEM_RW = 3 };

typedef uint32_t qemu_plugin_meminfo_t;

typedef void (*qemu_plugin_tb_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_vcpu_cb)(unsigned vcpu, void *userdata);
typedef void (*qemu_plugin_mem_cb)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
                                   void *userdata);
typedef void (*qemu_plugin_exit_cb)(qemu_plugin_id_t id, void *userdata);

/* From QEMU. A block (tb) is handed to the translation callback each time it is translated. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_cb cb,
                                          enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_cb cb,
                                            enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_mem_cb cb,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *userdata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_cb cb, void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

/* For QEMU. install returns 0, or QEMU does not start the program. */
extern PLUGIN_EXPORT int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                      char **argv);

#endif
