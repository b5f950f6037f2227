/* SPDX-License-Identifier: MIT
 * pthread_sigmask(), and signalfd() for those that ask a process to end. */
#include "os/signals.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/apart.h"

/* Those that somebody who waits might send, if they end the process. */
static sigset_t that_end(const sigset_t *blocked)
{
    static const int asking[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        struct sigaction action;
        if (sigismember(blocked, asking[i]) == 0 && sigaction(asking[i], NULL, &action) == 0 &&
            action.sa_handler == SIG_DFL)
            sigaddset(&set, asking[i]);
    }
    return set;
}

void signals_hold(struct signals *s)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, &s->before); /* only another "how" makes it fail */
    const sigset_t ending = that_end(&s->before);
    s->ending = file_apart(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
    s->held = true;
}

void signals_let_go(struct signals *s)
{
    if (s->ending >= 0)
        close(s->ending);
    s->held = false;
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

bool signals_will_end(const struct signals *s)
{
    struct pollfd ending = { .fd = s->ending, .events = POLLIN };
    return s->held && poll(&ending, 1, 0) == 1;
}

int signals_wait(const struct signals *s, int fd)
{
    struct pollfd either[] = { { .fd = fd, .events = POLLIN },
                               { .fd = s->ending, .events = POLLIN } };
    if (!s->held || poll(either, 2, -1) < 0)
        return 0; /* read() will tell */
    return either[1].revents != 0 ? EINTR : 0;
}
