#!/bin/sh
# What a user types as armq-*: runs the AArch64 program of the same name, natively on an Arm machine
# and through QEMU elsewhere. Stands in build/ and in PREFIX/bin. ARMQ_CPU=cortex-a72|neoverse-n1|max chooses an emulated CPU (on Arm
# too, where the default is the machine itself).
set -eu

self=$(readlink -f -- "$0")
name=${self##*/}
here=${self%/*}
program=$here/aarch64/$name
[ -x "$program" ] || program=${here%/*}/libexec/armq/$name

fail() {
    echo "$name: $*" >&2
    exit 2
}

[ -x "$program" ] || fail "there is no $here/aarch64/$name; build it with make"

case $(uname -m) in
aarch64 | arm64)
    [ -n "${ARMQ_CPU:-}" ] || exec "$program" "$@"
    ;;
esac

ARMQ_CPU=${ARMQ_CPU:-max}
case $ARMQ_CPU in
cortex-a72 | neoverse-n1 | max) ;;
*) fail "ARMQ_CPU='$ARMQ_CPU' is not known; allowed: cortex-a72, neoverse-n1, max" ;;
esac
command -v qemu-aarch64 >/dev/null ||
    fail "emulating $ARMQ_CPU needs qemu-aarch64; install the package qemu-user (or run ci/setup.sh)"

export ARMQ_CPU ARMQ_EMULATED=1
# -L / finds the arm64 libraries of the distribution, whatever QEMU_LD_PREFIX says.
exec qemu-aarch64 -L / -cpu "$ARMQ_CPU" "$program" "$@"
