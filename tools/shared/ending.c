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

static void catch (int number, const struct sigaction *ends)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        sigaction(number, ends, NULL);
}

void ending_catch(void)
{
    static const int signals[] = {
        SIGALRM, SIGBUS,  SIGHUP,  SIGINT,  SIGIO,   SIGPIPE,   SIGPROF,
        SIGPWR,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU
    };
    struct sigaction ends = { .sa_handler = ending_die };
    sigfillset(&ends.sa_mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        catch (signals[i], &ends);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        catch (number, &ends);
}
