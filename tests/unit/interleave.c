/* SPDX-License-Identifier: MIT
 * Other processes' actions in the middle of an operation. */
#include "interleave.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"
#include "support.h"

static enum fault_call in_call;
static unsigned in_nth;
static void (*meanwhile)(void);

static void in_the_middle(enum fault_call call)
{
    if (call == in_call && in_nth > 0 && --in_nth == 0)
        meanwhile();
}

int with_others_and(struct faults faults, int (*run)(void), enum fault_call call, unsigned nth,
                    void (*act)(void))
{
    in_call = call;
    in_nth = nth;
    meanwhile = act;
    faults.at_each_call = in_the_middle;
    faults_begin(&faults);
    int error = run();
    faults_end();
    assert_int_equal(in_nth, 0);
    return error;
}

int with_others(int (*run)(void), enum fault_call call, unsigned nth, void (*act)(void))
{
    return with_others_and((struct faults){ 0 }, run, call, nth, act);
}

static unsigned stops_at_call;
static atomic_uint calls;

static void count_call(enum fault_call call)
{
    atomic_fetch_add(&calls, 1);
}

static int stop_in_time(void *context)
{
    return atomic_load(&calls) >= stops_at_call ? ECANCELED : 0;
}

/* Returns whether that call was reached. */
static bool stopped_at(int (*run)(void), unsigned call)
{
    const struct faults faults = { .no_unnamed_files = true, .at_each_call = count_call };
    stops_at_call = call;
    atomic_store(&calls, 0);
    bloomfile_stop_with(stop_in_time, NULL);
    faults_begin(&faults);
    const int error = run();
    faults_end();
    bloomfile_stop_with(NULL, NULL);
    const bool reached = atomic_load(&calls) >= call;
    if (error != (reached ? ECANCELED : 0) && error != 0)
        fail_msg("stopped at call %u: %d", call, error);
    return reached;
}

void stopped_at_any_call(int (*run)(void), void (*made)(void))
{
    const size_t entries = entries_in_dir();
    unsigned call = 0;
    bool reached;
    do {
        reached = stopped_at(run, ++call);
        made();
        if (entries_in_dir() != entries)
            fail_msg("stopped at call %u, it leaves a file behind", call);
    } while (reached);
    assert_true(call > 20);
}

void overwrite(const char *path, off_t at, const void *bytes, size_t size)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, bytes, size, at), size);
    close(fd);
}

void change_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value)
{
    struct bytes bytes = read_file(path);
    uint8_t *record = record_at(bytes.data, slot);
    if (size == 4)
        put32(record + at, (uint32_t)value);
    else
        put64(record + at, value);
    reseal_record(bytes.data, slot);
    overwrite(path, record - bytes.data, record, IN_FILE / 4);
    free(bytes.data);
}

void poison_records(const char *path)
{
    for (unsigned slot = 0; slot < 2; slot++)
        change_record(path, slot, RECORD_AT_state, 4, BLOOMFILE_STATE_POISONED);
}

void damage_records(const char *path)
{
    for (unsigned slot = 0; slot < 2; slot++)
        overwrite(path, IN_FILE / 2 + slot * (IN_FILE / 4) + 20, "damaged", 7);
}
