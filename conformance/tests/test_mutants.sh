#!/bin/bash
# The mutants' own tests: a mutant of each kind is built, judged, and seen as what it is.
set -euo pipefail
cd "$(dirname -- "$0")/../.."

export BUILD=${BUILD:-build}
exec /usr/bin/python3 -B -m unittest discover -t . -s conformance/mutants/tests
