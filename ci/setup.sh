#!/bin/bash
# Installs what armq needs to build and run, from the distribution's own packages.
#
#   ci/setup.sh            does nothing, silently, when all is there
#   ARMQ_NO_INSTALL=1 ...  prints the commands and stops
#
# Debian 12 or later on x86-64: adds the arm64 architecture, a cross compiler and QEMU.
# Debian or Ubuntu on Arm: the system compiler; QEMU for the CPU levels the machine lacks.
set -euo pipefail

ID=unknown VERSION_ID='' PRETTY_NAME=
# shellcheck source=/dev/null
[ ! -r /etc/os-release ] || . /etc/os-release
system="${PRETTY_NAME:-$(uname -s)} on $(uname -m)"

build="make gcc g++ binutils"
libraries="libbenchmark-dev libcmocka-dev libhwloc-dev libjansson-dev"
lint="clang-format clang-tidy shellcheck flake8"
python="python3 python3-jinja2 python3-matplotlib python3-numpy python3-scipy"
emulator="qemu-user"
model="llvm-19" # llvm-mca, for modelled cycles
cross="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu"

say() {
    echo "setup: $*" >&2
}

# Sets native (a Debian architecture name) and packages, or fails if nothing is known for this system.
choose_packages() {
    # Ubuntu has it from 24.04 on; without it everything but the model works.
    case $ID-${VERSION_ID:-} in ubuntu-1?.* | ubuntu-2[0-3].*) model= ;; esac
    case $(uname -m) in
    aarch64 | arm64)
        native=arm64
        packages="$build $libraries $emulator $model $lint $python"
        case $ID in debian | ubuntu) return 0 ;; esac
        ;;
    x86_64)
        native=amd64
        packages="$build $libraries $cross $emulator $model $lint $python"
        local library
        for library in $libraries; do
            packages+=" $library:arm64"
        done
        # Ubuntu keeps its arm64 packages on another server than its amd64 ones.
        [ "$ID" != debian ] || [ "${VERSION_ID:-99}" -lt 12 ] || return 0
        ;;
    *)
        native=
        packages="$build $libraries $cross $emulator $model $lint $python"
        ;;
    esac
    return 1
}

# Prints the packages that are not installed.
missing_packages() {
    local installed package
    installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package}:${Architecture}\n' 2>/dev/null |
        sed -n 's/^installed //p' | tr '\n' ' ') "
    for package in $packages; do
        case $installed in
        *" $package "* | *" $package:$native "* | *" $package:all "*) ;;
        *) echo "$package" ;;
        esac
    done
}

# For systems whose packages are not known here: is there what a build needs, from wherever?
tools_work() {
    local cc=gcc tool
    case $(uname -m) in aarch64 | arm64) ;; *) cc=aarch64-linux-gnu-gcc ;; esac
    for tool in make gcc g++ "$cc" qemu-aarch64 clang-format clang-tidy shellcheck /usr/bin/python3; do
        command -v "$tool" >/dev/null || return 1
    done
    for cc in gcc "$cc"; do
        printf '#include <%s>\n' jansson.h hwloc.h benchmark/benchmark.h |
            "${cc%gcc}g++" -fsyntax-only -x c++ - 2>/dev/null || return 1
    done
    /usr/bin/python3 -c 'import flake8, jinja2, matplotlib, numpy, scipy' 2>/dev/null
}

install_packages() {
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
    local commands=()
    if [ "$native" = amd64 ] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
        commands+=("${as_root[*]} dpkg --add-architecture arm64")
    fi
    commands+=("${as_root[*]} ${apt[*]} update")
    commands+=("${as_root[*]} ${apt[*]} install --yes --no-install-recommends $*")

    if [ -n "${ARMQ_NO_INSTALL:-}" ]; then
        say "packages are missing and ARMQ_NO_INSTALL is set; to install them:"
        printf '%s\n' "${commands[@]# }" >&2
        exit 1
    fi
    say "$# packages of ${PRETTY_NAME:-$ID} are to be installed (ARMQ_NO_INSTALL=1 only shows the commands):"
    echo "$*" | fold -s -w 96 | sed 's/^/setup:     /' >&2
    if [ ${#as_root[@]} -gt 0 ] && ! command -v sudo >/dev/null; then
        say "not root, and there is no sudo; run as root:"
        printf '%s\n' "${commands[@]#sudo }" >&2
        exit 1
    fi

    local command
    for command in "${commands[@]}"; do
        # A third-party source that does not answer must not stop an install from the others.
        $command </dev/null >&2 || case $command in
        *update) say "apt-get update failed; going on with the package lists there are" ;;
        *)
            say "this command failed: ${command# }"
            exit 1
            ;;
        esac
    done
}

if ! choose_packages; then
    tools_work && exit 0
    say "$system is not set up automatically (only Debian 12 or later on x86-64, Debian and Ubuntu on Arm)."
    say "armq needs what these Debian packages hold:"
    echo "$packages" | fold -s -w 96 | sed 's/^/setup:     /' >&2
    exit 1
fi

mapfile -t missing < <(missing_packages)
[ ${#missing[@]} -gt 0 ] || exit 0
install_packages "${missing[@]}"
mapfile -t missing < <(missing_packages)
if [ ${#missing[@]} -gt 0 ]; then
    say "still missing after the install: ${missing[*]}"
    exit 1
fi
