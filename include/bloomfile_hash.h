/* SPDX-License-Identifier: MIT
 *
 * bloomfile - filters of an application's own hash function
 *
 * An engine that has a good 64-bit hash of each key already need not compute a second one: it
 * builds and asks by these digests. Its filters say so. They carry a number that the engine chose
 * for its function (hash_id, BLOOMFILE_APP_HASH_FIRST or above) and a value that the function
 * itself yields (self_test), such as its hash of a fixed string under the filter's seed; so a
 * function that was changed, or another engine's of the same number, is noticed. Nobody else can
 * ask such a filter for a key: bloomfile_open() refuses it, tools fold, merge, seal and check it.
 *
 *     // once: what this engine's function is called, and what it yields
 *     #define OUR_HASH 0x80536E6Fu
 *     uint64_t self_test = our_hash("bloomfile", 9);
 *
 *     // building: digests only
 *     struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
 *     params.hash_id = OUR_HASH;
 *     params.self_test = self_test;
 *     int err = bloomfile_builder_new(&b, &params);
 *     err = bloomfile_builder_add_digests(b, digests, n);
 *
 *     // asking
 *     err = bloomfile_open(&f, "table.bloom", BLOOMFILE_OPEN_APP_HASH);
 *     if (err == 0)
 *         err = bloomfile_name_hash(f, OUR_HASH, self_test);
 *     if (err != 0 || bloomfile_contains_digest(f, our_hash(key, size)))
 *         read_the_table(key, size);
 *
 * Bits are chosen by the topmost bits of a digest and of its products, so every bit of a digest
 * must be as good as random, the topmost above all. Two keys of one digest are one key.
 */
#ifndef BLOOMFILE_APP_HASH_H
#define BLOOMFILE_APP_HASH_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bloomfile_params.hash_id and bloomfile_info.hash_id: the first of those that applications may
 * choose, at random if they want to be alone with it. Nobody assigns them. */
#define BLOOMFILE_APP_HASH_FIRST 0x80000000u

/* Says that the digests this handle will be given are made by the function of this number and self
 * test. Until it has returned 0 every lookup of a filter with an application's own hash answers
 * "maybe" and makes bloomfile_status() BLOOMFILE_EHASH, and every add is that error; folding,
 * merging, copying, sealing and verifying need no name. A handle that was created with params that
 * name the function has it. After an error all that holds for any filter, since its digests would
 * be taken for others, until a name is right. The number of XXH3 is 1. Functions that take keys
 * never work with a function of the application: their lookups answer "maybe" and set that sticky
 * error, the others return it. The handle is the caller's alone meanwhile.
 * Errors: BLOOMFILE_EHASH (another hash_id), BLOOMFILE_ESELFTEST (another self_test). */
BLOOMFILE_API int bloomfile_name_hash(bloomfile_filter *f, uint32_t hash_id, uint64_t self_test);

#ifdef __cplusplus
}
#endif

#endif
