/* SPDX-License-Identifier: MIT */
#include "stop.h"
#include "cli.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

volatile sig_atomic_t stop_signal;

/* A reader that goes away is never the second signal: Ctrl-C ends it together with this program. */
static void on_signal(int number)
{
    if (stop_signal == 0 || number == SIGPIPE) {
        stop_signal = number;
        return;
    }
    signal(number, SIG_DFL);
    raise(number); /* it is delivered when this returns */
}

void stop_catch(void)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction action;
        int failed = sigaction(signals[i], NULL, &action);
        if (failed == 0 && action.sa_handler != SIG_IGN) {
            action = (struct sigaction){ .sa_handler = on_signal,
                                         .sa_flags = SA_RESTART | (int)SA_RESETHAND };
            sigemptyset(&action.sa_mask);
            failed = sigaction(signals[i], &action, NULL);
        }
        if (failed != 0)
            cli_fail(errno, "cannot watch for signals");
    }
}

void stop_die(void)
{
    raise(stop_signal);
    _exit(CLI_TROUBLE); /* it is blocked */
}
