// SPDX-License-Identifier: Apache-2.0
// A call of fault_run, after which a register that belongs to the caller is another. In assembly,
// because a compiler would save and restore it.

.macro faulty name, spoil:vararg
    .global fault_run_\name
    .type fault_run_\name, %function
fault_run_\name:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl fault_run
    ldp x29, x30, [sp], #16
    \spoil
    ret
    .size fault_run_\name, . - fault_run_\name
.endm

    .text
    faulty x19, mov x19, xzr
    faulty x28, mvn x28, x28
    faulty d8, movi d8, #0
    faulty d15, movi d15, #0

// FPCR.FZ: subnormals become zero for the caller from here on.
    .global fault_run_flush
    .type fault_run_flush, %function
fault_run_flush:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl fault_run
    mrs x1, fpcr
    orr x1, x1, #(1 << 24)
    msr fpcr, x1
    ldp x29, x30, [sp], #16
    ret
    .size fault_run_flush, . - fault_run_flush

// An SDOT, on whatever CPU this is.
    .arch armv8.2-a+dotprod
    .global fault_run_sdot
    .type fault_run_sdot, %function
fault_run_sdot:
    sdot v0.4s, v1.16b, v2.16b
    b fault_run
    .size fault_run_sdot, . - fault_run_sdot

    .section .note.GNU-stack, "", %progbits
