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
    ABSENT = 1 << 20, /* a number that no filter of these tests says "maybe" to */
};

/* Makes a live filter that nobody has open, clean. */
void make_live(const char *path, uint32_t layout);

struct bloomfile_params live_params(uint32_t layout);

/* Asserts that it can be opened. */
bloomfile_filter *opened(const char *path, unsigned flags);

void add_digests_of(bloomfile_filter *f, uint64_t from, uint64_t to);
bool has_numbers(const bloomfile_filter *f, uint64_t from, uint64_t to);

/* What is not as it must be, or NULL. Of a handle that can say no; */
const char *flaw_of_sound(const bloomfile_filter *f);

/* bloomfile_sync() and bloomfile_seal() with the watermark in force. */
int sync_filter(bloomfile_filter *f);
int seal_filter(bloomfile_filter *f);
/* of one of a poisoned file; */
const char *flaw_of_doubtful(bloomfile_filter *f);
/* of what bloomfile_rescue() makes of it; */
const char *flaw_of_rescued(const bloomfile_filter *f);
/* of files that nobody has open: live, with no lock left behind; clean; sealed; poisoned. */
const char *flaw_of_live_file(const char *path);
const char *flaw_of_clean_file(const char *path);
const char *flaw_of_sealed_file(const char *path);
const char *flaw_of_poisoned_file(const char *path);

/* Asserts that there is none. */
#define assert_flawless(flaw) check_flaw((flaw), #flaw, __FILE__, __LINE__)
void check_flaw(const char *flaw, const char *what, const char *file, int line);

/* What the bytes of a file say. */
struct bloomfile_info info_of_file(const char *path);

/* Changes a record of a file that nobody has open, with the right checksum. */
void set_in_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value);

/* The record in force: its slot. */
unsigned slot_in_force(const char *path);

/* Mappings of files in the test's directory and of unnamed ones, and of what writers have. */
size_t mapped_files(void);
size_t mapped_sessions(void);

/* A copy of it as the file "copy": sealed, folded by 2, merged of it alone, projected. */
int seal_it_to(const bloomfile_filter *f);
int fold_it(const bloomfile_filter *f);
int merge_it(const bloomfile_filter *f);
int project_it(const bloomfile_filter *f);

/* ---- a test's own folder with the live filter "filter", and a descriptor of it that the library
 * knows nothing of */

extern int outsider;
int begin_with_outsider(void **state);
int end_with_outsider(void **state);

/* ---- locks of another than the library, on a descriptor of their own */

int lock_byte(int fd, int type, off_t byte); /* 0 or an errno; does not wait */

/* F_UNLCK, F_RDLCK or F_WRLCK: what others than `fd` hold. */
int lock_on_byte(int fd, off_t byte);

/* Whether a child sleeps in a system call before it ends. */
bool still_waits(pid_t child);

#endif
