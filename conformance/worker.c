/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/worker.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conformance/check.h"
#include "conformance/crew.h"
#include "conformance/fp_control.h"
#include "conformance/orphan.h"
#include "conformance/starved.h"
#include "harness/machine.h"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t nanoseconds(double seconds) {
    return seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX;
}

/* --- In the worker -------------------------------------------------------------------------------
 */

typedef struct {
    int64_t task;
    int32_t provider;
    uint64_t checks;
    armq_case c;
} request;

typedef struct {
    int64_t task;
    bool retire; /* the worker ends after this answer */
} answer;

typedef struct {
    const plan *plan;
    watch *watch;
    const armq_provider **opened; /* by provider index; NULL: not yet */
    int threads;                  /* at the start: an emulator has some of its own */
} work;

static int count_threads(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return 0;
    for (const struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* A thread that was joined can be listed for a moment longer. */
static bool has_leaked_threads(const work *w) {
    for (int attempt = 0; attempt < 20; attempt++) {
        if (count_threads() <= w->threads + crew_threads())
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

static const armq_provider *opened(work *w, int32_t index, char *error, size_t bytes) {
    bool changed;
    if (!w->opened[index]) {
        watch_call_begin(w->watch, watch_allowance(NULL, 1)); /* constructors can hang */
        w->opened[index] = provider_open(w->plan->providers[index].spec, &changed, error, bytes);
        watch_call_end(w->watch);
    }
    return w->opened[index];
}

static void run_task(work *w, const request *asked) {
    const machine_info *m = machine();
    case_result *result = &w->watch->result;
    char error[sizeof result->reason];
    const armq_provider *provider = opened(w, asked->provider, error, sizeof error);
    if (!provider) {
        result->status = CASE_CRASHED;
        snprintf(result->reason, sizeof result->reason, "cannot be loaded: %.200s", error);
        return;
    }
    armq_case c = asked->c;
    case_bind(&c, m->features, m->l1, m->l2, m->llc, c.threads > 0 ? c.threads : 1);
    checks_run(&c, provider, asked->checks, result, w->watch);
}

/* True if the process is as it was before the case. */
static bool is_clean(const work *w, uint64_t fp_control) {
    bool same = fp_control_get() == fp_control;
    fp_control_set(fp_control);
    return same && !has_leaked_threads(w);
}

/* An emulator never gives back what it keeps for address space that was mapped once: a little for
 * each case, much for one of memory=sparse. */
static const int64_t most_resident = INT64_C(1) << 30;

static int64_t resident_bytes(void) {
    long long total = 0, pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm)
        return 0;
    if (fscanf(statm, "%lld %lld", &total, &pages) != 2)
        pages = 0;
    fclose(statm);
    return pages * sysconf(_SC_PAGESIZE);
}

__attribute__((noreturn)) static void serve(work *w, int fd) {
    request asked;
    answer reply = {-1, false};
    pid_t self = getpid();
    while (!reply.retire && recv(fd, &asked, sizeof asked, 0) == sizeof asked) {
        uint64_t fp_control = fp_control_get();
        int64_t start = now_ns();
        reply.task = asked.task;
        run_task(w, &asked);
        if (getpid() != self) /* a provider forked, and both returned */
            _exit(0);
        w->watch->result.seconds = (double)(now_ns() - start) * 1e-9;
        case_status status = w->watch->result.status;
        reply.retire = !is_clean(w, fp_control) || status == CASE_FAILED ||
                       status == CASE_CRASHED || asked.c.sparse || resident_bytes() > most_resident;
        if (send(fd, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

__attribute__((noreturn)) static void worker_main(watch *shared, int fd, const plan *p,
                                                  pid_t parent) {
    signal(SIGINT, SIG_IGN); /* the parent decides */
    signal(SIGTERM, SIG_DFL);
    signal(SIGTTOU, SIG_IGN); /* it is no foreground process, and may still write */
    setpgid(0, 0);
    end_with_parent(parent);
    provider_keep_off_stdout();
    watch_install(shared);
    work w = {p, shared, NULL, count_threads()};
    w.opened = calloc((size_t)p->provider_count, sizeof *w.opened);
    if (!w.opened)
        _exit(1);
    serve(&w, fd);
}

/* --- In the parent -------------------------------------------------------------------------------
 */

bool worker_open(worker *w) {
    *w = (worker){.fd = -1, .task = -1};
    w->shared =
        mmap(NULL, sizeof *w->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->shared == MAP_FAILED)
        w->shared = NULL;
    return w->shared != NULL;
}

static bool has_ended(const worker *w) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == w->pid;
}

/* True if the process has ended: then it is no more, nor are those it has left behind. */
static bool reap(worker *w, int *status) {
    if (!has_ended(w))
        return false;
    kill(-w->pid, SIGKILL); /* before its number can be another's */
    while (waitpid(w->pid, status, 0) < 0 && errno == EINTR)
        continue;
    close(w->fd);
    w->pid = 0;
    w->fd = -1;
    return true;
}

/* Ends the process, if there is one. */
static void stop(worker *w) {
    int status;
    if (!w->pid)
        return;
    kill(w->pid, SIGKILL);
    while (!reap(w, &status))
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

void worker_close(worker *w) {
    stop(w);
    if (w->shared)
        munmap(w->shared, sizeof *w->shared);
    w->shared = NULL;
}

static bool start(worker *w, const plan *p) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        return false;
    fflush(NULL); /* or the child would hold the text too */
    const pid_t self = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        worker_main(w->shared, fds[1], p, self);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return false;
    }
    setpgid(pid, pid); /* as the child does; whoever comes first */
    w->pid = pid;
    w->fd = fds[0];
    return true;
}

bool worker_give(worker *w, const plan *p, uint64_t checks, int64_t task, const armq_case *c) {
    const plan_task *t = &p->tasks[task];
    request asked = {task, t->provider, checks, c ? *c : t->c};
    memset(w->shared, 0, sizeof *w->shared);
    w->shared->check = -1;
    w->task = task;
    w->started_ns = w->still_since_ns = now_ns();
    w->steps = -1; /* what it had waited before is looked up first */
    w->check = -1;
    w->starved_before_ns = w->starved_seen_ns = 0;
    w->patience_ns = nanoseconds(watch_patience(&asked.c));
    /* An idle worker can have died since its last answer: then another one takes the task. */
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!w->pid && !start(w, p))
            break;
        if (send(w->fd, &asked, sizeof asked, MSG_NOSIGNAL) == (ssize_t)sizeof asked)
            return true;
        stop(w);
    }
    w->task = -1;
    return false;
}

static const char *place(const watch *w) {
    return w->check >= 0 && w->check < check_count() ? check_table[w->check].name
                                                     : "set-up or release";
}

/* Marks check `name`; where the table has no such check, the reason alone says it. */
static void fail_check(case_result *result, const char *name, const char *detail) {
    int index = check_index(name);
    if (index < 0 || index >= RESULT_CHECKS_MAX)
        return;
    check_result *failed = &result->checks[index];
    *failed = (check_result){.status = CHECK_FAILED};
    snprintf(failed->failure.detail, sizeof failed->failure.detail, "%s", detail);
}

static worker_event finish(worker *w, case_status status, const char *failed_check,
                           const char *detail) {
    case_result *result = &w->shared->result;
    result->status = status;
    result->seconds = (double)(now_ns() - w->started_ns) * 1e-9;
    if (status == CASE_CRASHED)
        snprintf(result->reason, sizeof result->reason, "%s", detail);
    fail_check(result, failed_check, detail);
    return WORKER_DONE;
}

/* What a dead worker left behind becomes a result. */
static worker_event died(worker *w, int status) {
    const watch *s = w->shared;
    char detail[sizeof s->result.reason];
    int number = s->signal ? s->signal : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool overflow = s->check >= 0 && s->check == check_index("overflow");
    if (s->fault[0]) {
        snprintf(detail, sizeof detail, "%.*s (SIG%s in %s)", (int)sizeof s->fault, s->fault,
                 sigabbrev_np(number), place(s));
        return finish(w, CASE_FAILED, overflow ? "overflow" : "memory", detail);
    }
    if (number == SIGKILL)
        snprintf(detail, sizeof detail, "SIGKILL (for want of memory?) in %s", place(s));
    else if (number && s->fault_address)
        snprintf(detail, sizeof detail, "SIG%s at address 0x%" PRIx64 " in %s",
                 sigabbrev_np(number), s->fault_address, place(s));
    else if (number)
        snprintf(detail, sizeof detail, "SIG%s in %s", sigabbrev_np(number), place(s));
    else
        snprintf(detail, sizeof detail, "ended the process with status %d in %s",
                 WEXITSTATUS(status), place(s));
    if (overflow && s->fault_address) /* where a wrapped offset can lead, too */
        return finish(w, CASE_FAILED, "overflow", detail);
    return finish(w, CASE_CRASHED, "crash", detail);
}

/* The worker cannot be talked to any more: mostly since it died, which takes a moment to show. */
static worker_event lost(worker *w, bool stray) {
    char detail[160];
    int status;
    for (int attempt = 0; attempt < 1000 && !stray; attempt++) {
        if (reap(w, &status))
            return died(w, status);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    stop(w);
    snprintf(detail, sizeof detail, "%s in %s",
             stray ? "something else wrote to the worker's connection to armq"
                   : "the worker's connection to armq was closed",
             place(w->shared));
    return finish(w, CASE_CRASHED, "crash", detail);
}

worker_event worker_collect(worker *w) {
    answer reply;
    ssize_t got;
    do
        got = recv(w->fd, &reply, sizeof reply, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    bool complete = got == (ssize_t)sizeof reply && reply.task == w->task;
    if (complete && !reply.retire)
        return WORKER_DONE;
    if (complete) {
        stop(w);
        return WORKER_DONE;
    }
    return lost(w, got > 0);
}

/* It has begun something new. Looked up now and then only: a little too much is no harm. */
static void note_progress(worker *w, int64_t now) {
    static const int64_t often = 50000000;
    w->steps = w->shared->steps;
    w->check = w->shared->check;
    w->still_since_ns = now;
    if (now - w->starved_seen_ns < often)
        return;
    w->starved_seen_ns = now;
    w->starved_before_ns = starved_ns(w->pid);
}

/* Whether it has stood still for longer than allowed, of time that was its own. */
static bool overruns(const worker *w, int64_t still, int64_t allowed) {
    return still > allowed && still - (starved_ns(w->pid) - w->starved_before_ns) > allowed;
}

worker_event worker_check_hang(worker *w) {
    const watch *s = w->shared;
    char detail[sizeof s->result.reason];
    int64_t start = s->call_start, allowed = s->call_allowed, now = now_ns();
    if (has_ended(w)) /* and the fd is silent: a child it left behind keeps it open */
        return worker_collect(w);
    if (s->steps != w->steps || s->check != w->check)
        note_progress(w, now);
    bool in_call = start != 0;
    if (!overruns(w, now - (in_call ? start : w->still_since_ns),
                  in_call ? allowed : w->patience_ns))
        return WORKER_RUNNING;
    stop(w);
    if (in_call)
        snprintf(detail, sizeof detail, "hang: a call ran for more than %.1f s in %s",
                 (double)allowed * 1e-9, place(s));
    else
        snprintf(detail, sizeof detail,
                 "hang: no call or check has come to an end for %.1f s in %s",
                 (double)w->patience_ns * 1e-9, place(s));
    return finish(w, CASE_CRASHED, "crash", detail);
}
