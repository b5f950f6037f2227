/* SPDX-License-Identifier: MIT
 * old-linux 4.14|5.10 COMMAND...: runs a command as if on that kernel: newer system calls return
 * ENOSYS, newer flags of old calls return EINVAL. It supports x86-64 only. */
#include <err.h>
#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CALLS = 600,       /* more calls than Linux will have for years */
    POISON = 100,      /* advice for failing memory, which is old, and */
    SOFT_OFFLINE = 101 /* its second value */
};

/* The last call, and the last advice of madvise(), of a kernel. */
static const struct kernel {
    const char *name;
    unsigned version;
    int call, advice;
} kernels[] = {
    { "4.14", 414, 332, 19 }, /* statx; MADV_KEEPONFORK */
    { "5.10", 510, 440, 21 }, /* process_madvise; MADV_PAGEOUT */
};

/* Flags of older calls. MAP_FIXED_NOREPLACE, of 4.17, is missing: older kernels ignore it, which
 * a filter cannot imitate. */
static const struct flag {
    int call;
    unsigned argument, bits;
    int error;
    unsigned since;
} flags[] = {
    { SCMP_SYS(mmap), 3, 3, EINVAL, 415 },            /* MAP_SHARED_VALIDATE */
    { SCMP_SYS(pwritev2), 5, 0x10, EOPNOTSUPP, 416 }, /* RWF_APPEND */
    { SCMP_SYS(getrandom), 2, 4, EINVAL, 506 },       /* GRND_INSECURE */
    { SCMP_SYS(mremap), 3, 4, EINVAL, 507 },          /* MREMAP_DONTUNMAP */
    { SCMP_SYS(close_range), 2, 4, EINVAL, 511 },     /* CLOSE_RANGE_CLOEXEC */
    { SCMP_SYS(memfd_create), 1, 8, EINVAL, 603 },    /* MFD_NOEXEC_SEAL */
    { SCMP_SYS(memfd_create), 1, 0x10, EINVAL, 603 }, /* MFD_EXEC */
    { SCMP_SYS(pwritev2), 5, 0x20, EOPNOTSUPP, 609 }, /* RWF_NOAPPEND */
    { SCMP_SYS(pwritev2), 5, 0x40, EOPNOTSUPP, 611 }, /* RWF_ATOMIC */
    { SCMP_SYS(preadv2), 5, 0x80, EOPNOTSUPP, 614 },  /* RWF_DONTCACHE */
    { SCMP_SYS(pwritev2), 5, 0x80, EOPNOTSUPP, 614 },
};

static void refuse(scmp_filter_ctx filter, int error, int call, unsigned count,
                   struct scmp_arg_cmp argument)
{
    const int result =
        seccomp_rule_add(filter, SCMP_ACT_ERRNO((unsigned)error), call, count, argument);
    if (result != 0)
        errx(2, "cannot refuse system call %d: %s", call, strerror(-result));
}

static void obey(const struct kernel *k)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL)
        errx(2, "cannot make a filter");
    for (int call = k->call + 1; call < CALLS; call++)
        refuse(filter, ENOSYS, call, 0, SCMP_A0(SCMP_CMP_EQ, 0, 0));
    for (int advice = k->advice + 1; advice < POISON; advice++)
        refuse(filter, EINVAL, SCMP_SYS(madvise), 1, SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)advice, 0));
    refuse(filter, EINVAL, SCMP_SYS(madvise), 1, SCMP_A2(SCMP_CMP_GT, SOFT_OFFLINE, 0));
    for (const struct flag *f = flags; f < flags + sizeof flags / sizeof *flags; f++)
        if (f->since > k->version && f->call <= k->call)
            refuse(filter, f->error, f->call, 1,
                   SCMP_CMP(f->argument, SCMP_CMP_MASKED_EQ, f->bits, f->bits));
    const int result = seccomp_load(filter);
    if (result != 0)
        errx(2, "cannot load the filter: %s", strerror(-result));
    seccomp_release(filter);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(argv[1], kernels[i].name) == 0) {
            obey(&kernels[i]);
            execvp(argv[2], argv + 2);
            err(2, "%s", argv[2]);
        }
    fputs("usage: old-linux 4.14|5.10 COMMAND...\n", stderr);
    return 2;
}
