/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/call.h"

#include <string.h>

#include "conformance/fp_control.h"

#if defined(__aarch64__)

/* armq_status armq_call_checked(run, desc, plan, args, call_registers *before, call_registers
 * *after)
 *
 * Saves the callee-saved registers of its own caller in its frame, loads those of *before (all but
 * sp, x29 and fpcr, which it stores there instead), calls, and stores what it finds to *after. The
 * callee may have changed any register, sp too: the frame is found again through a variable of the
 * thread (ELF for the Arm 64-bit Architecture, local-exec model). */
__asm__("    .text\n"
        "    .balign 16\n"
        "    .type armq_call_checked, %function\n"
        "    .global armq_call_checked\n"
        "armq_call_checked:\n"
        "    stp x29, x30, [sp, #-192]!\n"
        "    mov x29, sp\n"
        "    stp x19, x20, [sp, #16]\n"
        "    stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]\n"
        "    stp x25, x26, [sp, #64]\n"
        "    stp x27, x28, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    stp x4, x5, [sp, #160]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #176]\n"
        "    mrs x10, tpidr_el0\n"
        "    add x10, x10, #:tprel_hi12:armq_call_frame, lsl #12\n"
        "    mov x11, sp\n"
        "    str x11, [x10, #:tprel_lo12_nc:armq_call_frame]\n"
        "    stp x11, x29, [x4, #144]\n"
        "    str x9, [x4, #160]\n"
        "    ldp x19, x20, [x4, #0]\n"
        "    ldp x21, x22, [x4, #16]\n"
        "    ldp x23, x24, [x4, #32]\n"
        "    ldp x25, x26, [x4, #48]\n"
        "    ldp x27, x28, [x4, #64]\n"
        "    ldp d8, d9, [x4, #80]\n"
        "    ldp d10, d11, [x4, #96]\n"
        "    ldp d12, d13, [x4, #112]\n"
        "    ldp d14, d15, [x4, #128]\n"
        "    mov x9, x0\n"
        "    mov x0, x1\n"
        "    mov x1, x2\n"
        "    mov x2, x3\n"
        "    blr x9\n"
        "    mov x11, sp\n"
        "    mrs x10, tpidr_el0\n"
        "    add x10, x10, #:tprel_hi12:armq_call_frame, lsl #12\n"
        "    ldr x10, [x10, #:tprel_lo12_nc:armq_call_frame]\n"
        "    mov sp, x10\n"
        "    ldr x5, [sp, #168]\n"
        "    stp x19, x20, [x5, #0]\n"
        "    stp x21, x22, [x5, #16]\n"
        "    stp x23, x24, [x5, #32]\n"
        "    stp x25, x26, [x5, #48]\n"
        "    stp x27, x28, [x5, #64]\n"
        "    stp d8, d9, [x5, #80]\n"
        "    stp d10, d11, [x5, #96]\n"
        "    stp d12, d13, [x5, #112]\n"
        "    stp d14, d15, [x5, #128]\n"
        "    stp x11, x29, [x5, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [x5, #160]\n"
        "    ldr x9, [sp, #176]\n"
        "    msr fpcr, x9\n"
        "    ldp x19, x20, [sp, #16]\n"
        "    ldp x21, x22, [sp, #32]\n"
        "    ldp x23, x24, [sp, #48]\n"
        "    ldp x25, x26, [sp, #64]\n"
        "    ldp x27, x28, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldp x29, x30, [sp], #192\n"
        "    ret\n"
        "    .size armq_call_checked, . - armq_call_checked\n"
        "    .section .tbss, \"awT\", %nobits\n"
        "    .balign 8\n"
        "    .type armq_call_frame, %object\n"
        "armq_call_frame:\n"
        "    .zero 8\n"
        "    .size armq_call_frame, 8\n"
        "    .text\n");

armq_status armq_call_checked(armq_status (*run)(const armq_desc *, const void *,
                                                 const armq_args *),
                              const armq_desc *desc, const void *plan, const armq_args *args,
                              call_registers *before, call_registers *after);

_Static_assert(sizeof(call_registers) == 168, "the assembly above knows this layout");

bool call_checks_registers(void) { return true; }

armq_status call_run(const armq_provider *provider, const armq_desc *desc, const void *plan,
                     const armq_args *args, call_registers *before, call_registers *after) {
    memset(before, 0, sizeof *before);
    for (uint64_t i = 0; i < 10; i++)
        before->x[i] = UINT64_C(0x5a19c3e700000000) + 0x01010101 * (i + 19);
    for (uint64_t i = 0; i < 8; i++)
        before->d[i] = UINT64_C(0x3ff0a5d800000000) + 0x01010101 * (i + 8);
    return armq_call_checked(provider->run, desc, plan, args, before, after);
}

#else

bool call_checks_registers(void) { return false; }

armq_status call_run(const armq_provider *provider, const armq_desc *desc, const void *plan,
                     const armq_args *args, call_registers *before, call_registers *after) {
    memset(before, 0, sizeof *before);
    memset(after, 0, sizeof *after);
    return provider->run(desc, plan, args);
}

#endif

armq_status call_run_safely(const armq_provider *provider, const armq_desc *desc, const void *plan,
                            const armq_args *args) {
    call_registers before, after;
    armq_status status = call_run(provider, desc, plan, args, &before, &after);
    if (call_checks_registers())
        fp_control_set(after.fpcr);
    return status;
}
