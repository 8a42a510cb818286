/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void progress_begin(progress *p, FILE *out, int64_t total, double work_total) {
    *p = (progress){.out = out, .total = total, .work_total = work_total};
    p->visible = isatty(fileno(out)) != 0;
    p->start_ns = now_ns();
}

void progress_step(progress *p, double work, bool failed) {
    p->done++;
    p->failed += failed;
    p->work_done += work;
}

const char *progress_duration(double seconds, char text[32]) {
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(text, 32, "%" PRId64 " h %" PRId64 " min", s / 3600, s % 3600 / 60);
    else if (s >= 60)
        snprintf(text, 32, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
    else
        snprintf(text, 32, "%" PRId64 " s", s);
    return text;
}

void progress_show(progress *p) {
    int64_t now = now_ns();
    if (!p->visible || now - p->last_ns < 100000000)
        return;
    p->last_ns = now;
    char left[32];
    double elapsed = (double)(now - p->start_ns) * 1e-9;
    fprintf(p->out, "\r\033[K%" PRId64 " of %" PRId64 ", %" PRId64 " failed", p->done, p->total,
            p->failed);
    if (p->work_done > 0)
        fprintf(p->out, ", about %s left",
                progress_duration(elapsed * (p->work_total - p->work_done) / p->work_done, left));
    fflush(p->out);
    p->shown = true;
}

void progress_clear(progress *p) {
    if (p->shown)
        fputs("\r\033[K", p->out);
    fflush(p->out);
    p->shown = false;
    p->last_ns = 0;
}
