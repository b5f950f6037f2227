/* SPDX-License-Identifier: MIT
 * Functions that tests of live filters share. Their filters hold the numbers 0 to LIVE_KEYS - 1. */
#ifndef BLOOMFILE_TESTS_LIVE_SUPPORT_H
#define BLOOMFILE_TESTS_LIVE_SUPPORT_H

#include "support.h"

#include <bloomfile_inspect.h>
#include <sys/types.h>

enum {
    LIVE_KEYS = 100,
    LIVE_BITS = 1 << 17,
    ABSENT = 1 << 20, /* no filter of these tests has this number */
};

/* Makes a clean live filter and closes it. */
void make_live(const char *path, uint32_t layout);

struct bloomfile_params live_params(uint32_t layout);

/* Asserts that the open succeeds. */
bloomfile_filter *opened(const char *path, unsigned flags);

void add_digests_of(bloomfile_filter *f, uint64_t from, uint64_t to);
bool has_numbers(const bloomfile_filter *f, uint64_t from, uint64_t to);

/* The flaw_of_ functions return the flaw, or NULL. This one takes a healthy handle; */
const char *flaw_of_sound(const bloomfile_filter *f);

/* bloomfile_sync() and bloomfile_seal() with the watermark in force. */
int sync_filter(bloomfile_filter *f);
int seal_filter(bloomfile_filter *f);
/* a handle of a poisoned file (it returns "maybe"); */
const char *flaw_of_doubtful(bloomfile_filter *f);
/* the handle that bloomfile_rescue() copies; */
const char *flaw_of_rescued(const bloomfile_filter *f);
/* files that no process has open: live and without a leftover lock; clean; sealed; poisoned. */
const char *flaw_of_live_file(const char *path);
const char *flaw_of_clean_file(const char *path);
const char *flaw_of_sealed_file(const char *path);
const char *flaw_of_poisoned_file(const char *path);

/* Asserts that `flaw` is NULL. */
#define assert_flawless(flaw) check_flaw((flaw), #flaw, __FILE__, __LINE__)
void check_flaw(const char *flaw, const char *what, const char *file, int line);

/* The header of a file, decoded from its bytes. */
struct bloomfile_info info_of_file(const char *path);

/* Changes a field of a record, with a correct checksum. No process may have the file open. */
void set_in_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value);

/* The slot of the record in force. */
unsigned slot_in_force(const char *path);

/* Mappings that this process has: of files in the test's folder and unnamed files; of the
 * writers' shared sessions. */
size_t mapped_files(void);
size_t mapped_sessions(void);

/* Copies the filter to the file "copy": sealed, folded by 2, merged from it alone, projected. */
int seal_it_to(const bloomfile_filter *f);
int fold_it(const bloomfile_filter *f);
int merge_it(const bloomfile_filter *f);
int project_it(const bloomfile_filter *f);

/* ---- a test's own folder with the live filter "filter", and a descriptor of it that the
 * library does not know */

extern int outsider;
int begin_with_outsider(void **state);
int end_with_outsider(void **state);

/* ---- locks from outside the library, on a descriptor of their own */

int lock_byte(int fd, int type, off_t byte); /* 0 or an errno; does not wait */

/* The lock held through descriptors other than `fd`: F_UNLCK, F_RDLCK or F_WRLCK. */
int lock_on_byte(int fd, off_t byte);

/* Waits until a child sleeps in a system call or ends; returns whether it sleeps. */
bool still_waits(pid_t child);

#endif
