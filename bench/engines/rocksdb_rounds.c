/* SPDX-License-Identifier: MIT */
#include "rocksdb.h"

#include "harness/residence.h"

double measured[FIGURES][MODES][ENGINE_MAX_ROUNDS];

/* Each mode is the first of a round as often as the others, since what comes first may find caches
 * and disk in another state. */
static enum measure_mode turn(unsigned place, unsigned round)
{
    return (place + round) % MODES;
}

static void warm_gets(const struct measure_options *o, const struct opened opened[MODES],
                      unsigned round)
{
    static const struct {
        enum figure figure;
        measure_get *get;
        bool present;
    } kinds[] = { { ONE_ABSENT, measure_get_each, false },
                  { ONE_PRESENT, measure_get_each, true },
                  { MANY_ABSENT, measure_get_batches, false },
                  { MANY_PRESENT, measure_get_batches, true } };
    const unsigned count = sizeof kinds / sizeof kinds[0];
    for (unsigned k = 0; k < count; k++) {
        struct keys keys = measure_keys(o->gets, o->rows, kinds[k].present, round * count + k);
        for (unsigned i = 0; i < MODES; i++) {
            const enum measure_mode mode = turn(i, round);
            measured[kinds[k].figure][mode][round] =
                measure_time(kinds[k].get, &opened[mode].guard, &keys, kinds[k].present);
        }
        measure_free_keys(&keys);
    }
}

static void cold_gets(const struct measure_options *o, enum measure_mode mode, unsigned round,
                      bool present)
{
    struct keys keys = measure_keys(o->cold_gets, o->rows, present, round);
    engine_evict(".");
    struct opened opened = measure_open(mode, o->rows);
    const uint64_t bytes = residence_read_bytes();
    measured[present ? COLD_PRESENT : COLD_ABSENT][mode][round] =
        measure_time(measure_get_each, &opened.guard, &keys, present);
    measured[present ? COLD_PRESENT_BYTES : COLD_ABSENT_BYTES][mode][round] =
        (double)(residence_read_bytes() - bytes) / (double)o->cold_gets;
    measured[COLD_OPEN_BYTES][mode][round] = (double)opened.read_bytes;
    measure_close(&opened);
    measure_free_keys(&keys);
}

void measure_writes(const struct measure_options *o)
{
    for (unsigned round = 0; round < o->rounds; round++)
        for (unsigned i = 0; i < MODES; i++)
            measured[WRITE][turn(i, round)][round] = measure_write(turn(i, round), o->rows);
    measure_ingest();
}

void measure_gets(const struct measure_options *o)
{
    struct opened opened[MODES];
    for (unsigned mode = 0; mode < MODES; mode++) {
        opened[mode] = measure_open(mode, o->rows);
        measure_warm(&opened[mode]);
    }
    for (unsigned round = 0; round < o->rounds; round++) {
        warm_gets(o, opened, round);
        for (unsigned i = 0; i < MODES; i++) {
            const enum measure_mode mode = turn(i, round);
            struct opened again = measure_open(mode, o->rows);
            measured[OPEN][mode][round] = again.seconds;
            measure_close(&again);
            measured[FILTER_BYTES][mode][round] = (double)measure_filter_bytes(mode);
            measured[PROCESS_BYTES][mode][round] = (double)measure_process_bytes(&opened[mode]);
        }
    }
    for (unsigned mode = 0; mode < MODES; mode++)
        measure_close(&opened[mode]);
}

void measure_cold(const struct measure_options *o)
{
    for (unsigned round = 0; round < o->rounds; round++)
        for (unsigned i = 0; i < MODES; i++) {
            cold_gets(o, turn(i, round), round, false);
            cold_gets(o, turn(i, round), round, true);
        }
}
