/* SPDX-License-Identifier: MIT
 * A handler that cleans up and restores the default. */
#include "shared/ending.h"

#include <bloomfile.h>

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

void ending_die(int number)
{
    sigset_t it;
    bloomfile_remove_temporaries();
    signal(number, SIG_DFL);
    raise(number);
    sigemptyset(&it);
    sigaddset(&it, number);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL);
    _exit(2); /* trouble: it ends no program */
}

void ending_catch(void)
{
    static const int signals[] = { SIGALRM, SIGHUP,  SIGINT,  SIGIO,   SIGPIPE,   SIGPROF,
                                   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU };
    struct sigaction ends = { .sa_handler = ending_die }, now;
    sigfillset(&ends.sa_mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(signals[i], &ends, NULL);
}
