/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/result.h"

const char *case_status_name(case_status status) {
    static const char *const names[] = {"passed", "failed", "skipped", "waived", "crashed"};
    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "?";
}

const char *check_status_name(check_status status) {
    static const char *const names[] = {"not_run", "passed", "failed", "skipped"};
    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "?";
}
