/* SPDX-License-Identifier: MIT
 * Interruption by a signal: a handler that records the first signal and ends the program at a later
 * one. */
#include "cli/interrupt.h"
#include "cli/cli.h"
#include "cli/fatal_signals.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

atomic_int interrupt_signal;
int interrupt_fd = -1;

static void wake(void)
{
    const uint64_t one = 1;
    int error = errno;
    ssize_t ignored = write(interrupt_fd, &one, sizeof(one));
    (void)ignored;
    errno = error;
}

/* SIGPIPE never counts as the second signal: Ctrl-C ends the reader together with this program. */
static void on_signal(int number)
{
    if (fatal_signals_is_first() || number == SIGPIPE) {
        if (interrupt_signal == 0 || number == SIGPIPE)
            interrupt_signal = number;
        wake();
        return;
    }
    fatal_signals_die(number);
}

void interrupt_catch(void)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
    interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (interrupt_fd < 0)
        cli_fail(errno, "cannot watch for signals");
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction action;
        int failed = sigaction(signals[i], NULL, &action);
        if (failed == 0 && action.sa_handler != SIG_IGN) {
            action = (struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART };
            sigemptyset(&action.sa_mask);
            failed = sigaction(signals[i], &action, NULL);
        }
        if (failed != 0)
            cli_fail(errno, "cannot watch for signals");
    }
}

void interrupt_die(void)
{
    fatal_signals_die(interrupt_signal);
}
