/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/orphan.h"
#include "harness/machine.h"

struct probe {
    pid_t pid; /* 0: no child any more */
    int fd;
    int wait_ms;
};

/* First message of the child. */
typedef struct {
    bool loaded;
    char error[512];
    provider_info info;
} greeting;

typedef struct {
    bool supported;
    int64_t tiles[3];
} tiles_answer;

bool provider_tiles(const armq_provider *provider, const armq_case *c, int64_t tiles[3]) {
    const machine_info *m = machine();
    armq_case bound = *c;
    /* Also of a provider that cannot run here: its cases are planned, and skipped with a reason. */
    case_bind(&bound, m->features | provider->required_features, m->l1, m->l2, m->llc, 1);
    armq_support support = {.size = sizeof support};
    if (provider->query(&bound.desc, &support) != ARMQ_OK)
        return false;
    tiles[0] = support.tile_m;
    tiles[1] = support.tile_n;
    tiles[2] = support.tile_k;
    return true;
}

/* --- The child -----------------------------------------------------------------------------------
 */

static void greet(int fd, const armq_provider *provider, greeting *g) {
    g->loaded = provider != NULL;
    if (provider) {
        snprintf(g->info.name, sizeof g->info.name, "%s", provider->name);
        snprintf(g->info.version, sizeof g->info.version, "%s",
                 provider->version ? provider->version : "");
        g->info.required = provider->required_features;
        g->info.runs_here =
            provider_runs_here(provider, machine()->features, g->info.why, sizeof g->info.why);
    }
    if (send(fd, g, sizeof *g, MSG_NOSIGNAL) < 0)
        _exit(1);
}

__attribute__((noreturn)) static void child(int fd, const provider_info *info, pid_t parent) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGINT, SIG_IGN);
    end_with_parent(parent);
    provider_keep_off_stdout();
    greeting g = {.info = *info};
    const armq_provider *provider =
        provider_open(info->spec, &g.info.fpcr_changed, g.error, sizeof g.error);
    greet(fd, provider, &g);
    armq_case c;
    while (provider && recv(fd, &c, sizeof c, 0) == (ssize_t)sizeof c) {
        tiles_answer answer = {0};
        answer.supported = provider_tiles(provider, &c, answer.tiles);
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

/* --- The parent ----------------------------------------------------------------------------------
 */

/* True if the child answered in time; else it is gone, and why says how. */
static bool receive(probe *p, void *answer, size_t bytes, char *why, size_t why_bytes) {
    struct pollfd poll_fd = {.fd = p->fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&poll_fd, 1, p->wait_ms);
    while (ready < 0 && errno == EINTR);
    if (ready > 0 && recv(p->fd, answer, bytes, 0) == (ssize_t)bytes)
        return true;
    int status = 0;
    if (ready <= 0)
        kill(p->pid, SIGKILL);
    waitpid(p->pid, &status, 0);
    p->pid = 0;
    if (ready <= 0)
        snprintf(why, why_bytes, "hang: not ready after %d ms", p->wait_ms);
    else if (WIFSIGNALED(status))
        snprintf(why, why_bytes, "SIG%s", sigabbrev_np(WTERMSIG(status)));
    else
        snprintf(why, why_bytes, "it ended the process with status %d", WEXITSTATUS(status));
    return false;
}

static probe *start(const provider_info *info, double timeout) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        return NULL;
    probe *p = calloc(1, sizeof *p);
    fflush(NULL);
    const pid_t self = getpid();
    pid_t pid = p ? fork() : -1;
    if (pid == 0) {
        close(fds[0]);
        child(fds[1], info, self);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        free(p);
        return NULL;
    }
    *p = (probe){pid, fds[0], timeout > 0 ? (int)(timeout * 1000.0) + 1 : 30000};
    return p;
}

probe *probe_open(provider_info *info, double timeout, char *error, size_t error_bytes) {
    probe *p = start(info, timeout);
    if (!p) {
        snprintf(error, error_bytes, "cannot start a process to load it: %s", strerror(errno));
        return NULL;
    }
    greeting g = {0};
    char why[128];
    if (!receive(p, &g, sizeof g, why, sizeof why)) {
        const char *base = strrchr(info->spec, '/');
        info->broken = true;
        snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1,
                 base ? base + 1 : info->spec);
        snprintf(info->why, sizeof info->why, "died while it was loaded: %s", why);
        return p;
    }
    if (!g.loaded) {
        snprintf(error, error_bytes, "%s", g.error);
        probe_close(p);
        return NULL;
    }
    *info = g.info;
    return p;
}

bool probe_tiles(probe *p, const armq_case *c, int64_t tiles[3]) {
    tiles_answer answer;
    char why[128];
    if (p->pid && send(p->fd, c, sizeof *c, MSG_NOSIGNAL) == (ssize_t)sizeof *c &&
        receive(p, &answer, sizeof answer, why, sizeof why)) {
        memcpy(tiles, answer.tiles, sizeof answer.tiles);
        return answer.supported;
    }
    tiles[0] = tiles[1] = tiles[2] = 16;
    return true;
}

void probe_close(probe *p) {
    close(p->fd); /* the child's recv ends, and with it the child */
    if (p->pid) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
    }
    free(p);
}
