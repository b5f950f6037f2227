/* SPDX-License-Identifier: MIT
 *
 * bloomfile: live filters
 *
 * A live filter is a file in which any number of threads and processes add and look up keys.
 *
 *     int err = bloomfile_open(&f, "seen.bloom", BLOOMFILE_OPEN_WRITE);
 *     ...
 *     bool was_new;
 *     err = bloomfile_add(f, url, size, &was_new);
 *     if (err == 0 && was_new)
 *         crawl(url, size);
 *
 * An add sets bits atomically and takes no lock. Once it returns, every process sees the key, and
 * the key survives the death of any process. It survives a crash of the machine once a
 * bloomfile_sync() that began after the add, on any handle, has returned 0.
 *
 * Unclean. If the machine crashes while a file is open for writing, the file is BLOOMFILE_EUNCLEAN
 * afterwards. Adds since the last sync may be lost; adding those keys again repairs the filter. A
 * file is also unclean if a writer was killed during a sync, close or seal: the kernel may have
 * reported a failed write to that writer alone. Readers that have the file open then get this error
 * from bloomfile_check() (or an errno, if the locks cannot be examined), and all their later
 * lookups answer "maybe". Any other death of a process needs no repair.
 * BLOOMFILE_OPEN_ACCEPT_UNCLEAN opens the file anyway. With BLOOMFILE_OPEN_WRITE too, add the lost
 * keys, then sync or finish: this clears the unclean state for every process, and reports whether a
 * write has failed. If another mapping of the file existed, this sync may return EIO: rescue the
 * filter then. bloomfile_close() alone leaves the file unclean. In a series the flag covers only
 * the layers that exist at the opening. If a later layer is unclean, open the series again.
 *
 * File systems. All processes that use a live file must run on one host and share one page cache:
 * network and cluster file systems are refused as BLOOMFILE_EFILESYSTEM. On overlayfs a reader must
 * be allowed to open the file for writing. The opening copies the file up from the lower layer, in
 * which the reader would not see adds. A system without /proc is BLOOMFILE_ENOBOOT, unless the file
 * is clean and only read. If a container has its own boot_id (as under systemd-nspawn), files that
 * the host has open for writing look unclean to the container, and the container's files look
 * unclean to the host. A container with the same boot_id after each boot cannot detect a machine
 * crash.
 *
 * Disks. A live file never changes its size, and all its space is allocated when it is created. A
 * full disk is ENOSPC at that time and never SIGBUS later, except on copy-on-write storage (Btrfs,
 * reflinked files, thin volumes). A failed write to disk is final, because the kernel then forgets
 * the unwritten data. When a sync, a copy, or the opening or closing of a writer receives the
 * error, it poisons the file: every lookup in every process answers "maybe", adds are refused, and
 * bloomfile_rescue() saves the contents of memory. The kernel reports a failed write once to each
 * open file description. A failure goes unnoticed if no handle gets the report (doc/format/live.md
 * 8). So treat the filter as unclean if all writers were killed and then another program synced the
 * file or the kernel evicted it under memory pressure; also if the disk was pulled out, remounted
 * after an error, or restored from a snapshot.
 *
 * Was it new? A key is "not new" if it was added before, or is a false positive. If several writers
 * add the same new key at the same moment, it is new to at least one writer. With
 * BLOOMFILE_OPEN_ADD_EXACT, it is new to exactly one writer among those that use the flag. Such a
 * call takes a lock (two system calls) if it has a new key. If all its keys are already present, it
 * costs only a lookup (blocked, classic). The kernel releases the lock of a killed process. A batch
 * waits for all writers that add single keys, and gets no priority.
 *
 * Capacity. A filter is over capacity when its keys exceed the number at which its expected rate is
 * twice the target: fpr or, if that is 0, the rate at `capacity`. An add that would change the
 * filter then returns BLOOMFILE_EFULL and changes nothing. A key that is already found is still
 * "not new". EFULL is not sticky and is not a status: lookups, syncing, finishing and sealing work
 * as before, and a counting filter accepts adds again after removals. If one handle adds alone, it
 * counts exactly; threads that add at the same moment may each exceed the limit by one batch.
 * Several handles estimate the number from samples, to within about 1%.
 * BLOOMFILE_OPEN_OVER_CAPACITY lifts the limit: the rate then rises without bound. A series never
 * reaches the limit: a growing series makes the next layer, and a forgetting series begins the next
 * generation.
 *
 * One thread. BLOOMFILE_OPEN_ONE_THREAD promises that only one thread at a time adds through this
 * handle. Adds that break the promise lose keys. Calls of bloomfile_add_many() and
 * bloomfile_add_digests() with 64 keys or more then take a third to a half of the time (blocked,
 * classic), while the file has no other writer and its pages are in memory. Such a call locks out
 * new writers, for a few thousand keys at a time. Until these keys are added, the following
 * wait: a writer that opens the file, a fork in another thread, signals sent to this thread, and
 * calls in this process that open, sync or close other live filters.
 *
 * Sole adder. BLOOMFILE_OPEN_SOLE_ADDER makes the same promise, and adds that break it lose keys.
 * Single adds then take a third of the time, and batches an eighth to a third (blocked, classic).
 * Any thread or process may look up keys at the same time. The promise includes children of fork if
 * the filter is in memory. A file is locked until the handle is finished or closed, or the process
 * ends: other writers get EBUSY, and so does a sole adder if the file already has a writer. A child
 * of fork does not inherit the lock: its first add returns EBUSY as long as the parent holds the
 * lock. A series in files cannot have a sole adder (BLOOMFILE_EISSERIES).
 *
 * Counts. bloomfile_info (bloomfile_inspect.h) has keys, ones and overflow as of the last commits,
 * plus the adds of this handle since then. They are advisory while other writers are active. After
 * all writers have closed they are exact, and keys is the number of adds that were new.
 * After a writer was killed, `writers` still counts it, and no count includes its adds: keys may be
 * 0 although lookups find keys. keys_estimated becomes 1 once a writer joins alone, or the last
 * writer closes. It can also become 1, with overflow too low, if two writers of a counting filter
 * raise the same counters and one closes before the other commits.
 * A series that forgets counts a key in two layers if a generation began during the add.
 *
 * Series. If bloomfile_params.series is set, a filter consists of layers. BLOOMFILE_SERIES_GROW:
 * when a layer is full, the writer that filled it makes the next layer, with twice the capacity and
 * a lower rate. The rates of all layers add up to less than params.fpr, however many there are. G
 * generations, from 2 to 1000: when a layer is full, or its params.period is over, an empty layer
 * of the same size follows, and the oldest of more than G layers is forgotten. A key that was new
 * when it was added is found until at least G - 1 more generations have begun. A key that was not
 * new may be forgotten earlier, with the layer that had it or, by a false positive, seemed to have
 * it.
 *
 * Layers are files: PATH, PATH.1, PATH.2 and so on; a series that forgets reuses G names. Opening
 * PATH opens all layers, even while writers add more. A missing or foreign layer is an error
 * (BLOOMFILE_EMISSINGLAYER, _ESERIES). A key is new if no layer has it. All that this page says
 * about a file holds for each layer. If the next layer cannot be made, for example because the disk
 * is full, adding a new key returns that error; no key is lost, and lookups keep working. If a file
 * has a second name (a hard link), no layer can follow it: EMLINK. If a layer is a mount point,
 * such as a single file mounted into a container, its other name is in another folder, and the next
 * layer would be missing there. Opening such a series for writing is EMLINK too: mount the folder.
 * If a lookup meets a layer that it cannot open, it answers "maybe", and bloomfile_check() returns
 * the reason.
 *
 * A series in memory belongs to the process that created it. A child of fork makes no layers: once
 * its newest layer is full, its adds return BLOOMFILE_EMISSINGLAYER. Once the parent has made a
 * layer, the child's lookups answer "maybe" and its adds return that error. bloomfile_copy_sealed()
 * writes all layers to one file, which is shipped and opened like any other. Sealing in place,
 * folding and merging are BLOOMFILE_EISSERIES.
 *
 * fork. A child may go on using the handles it inherits. Its first add, sync or copy opens the file
 * again (this needs permission and /proc); an add or a sync also makes the child a writer of its
 * own (EBUSY if the parent is a sole adder). Until then it shares the parent's open file
 * description. If the parent is killed, the child keeps the locks taken through it. A lock of an
 * exact add or a removal makes other processes wait until the child has added, synced or closed the
 * handle. If another thread was opening a layer of a series during the fork, they wait until the
 * child ends. The lock of a writer prevents sealing in place. The child does not keep the locks of
 * a sync, or of adding a layer to a series, if the parent can open the file again: a handler of
 * pthread_atfork() closes the descriptor of these locks in the child. A process that is made
 * without these handlers (vfork, clone) must exec or exit. exec closes the library's descriptors.
 */
#ifndef BLOOMFILE_PUBLIC_LIVE_H
#define BLOOMFILE_PUBLIC_LIVE_H

#include <bloomfile.h>
#include <bloomfile_open.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLOOMFILE_SERIES_GROW 1u /* for bloomfile_params.series */

/* Makes a live filter at `path`, atomically, and opens it for writing. Writers of a replaced file
 * keep adding to the old file (bloomfile_is_stale). A new series may replace a series of several
 * layers: it removes the old layers but the first, as bloomfile_unlink() does, and then renames the
 * new file. If the rename fails, these layers are gone. A single filter may not replace such a
 * series: call bloomfile_unlink() first.
 *   out     receives the handle; NULL on error.
 *   path    of the file, as for bloomfile_to_path().
 *   params  must give the size, as `capacity` or `bits`. If only `bits` is given, capacity becomes
 *           the largest number of keys, from 1 to `bits`, that keeps the rate `fpr` (0.01 if that
 *           is 0). If `series` is set, `capacity` is that of the first layer and must be given; a
 *           growing series does not accept `bits`, `hashes` or `period`.
 *   flags   BLOOMFILE_TO_REPLACE, BLOOMFILE_OPEN_OVER_CAPACITY, BLOOMFILE_OPEN_ADD_EXACT,
 *           BLOOMFILE_OPEN_SOLE_ADDER (for a series: BLOOMFILE_EISSERIES),
 *           BLOOMFILE_OPEN_ONE_THREAD; or 0.
 *
 * Returns 0, an errno, an error of bloomfile_to_path(), BLOOMFILE_ESTRUCTSIZE (params), _EFLAGS,
 * _EISRIBBON (the layout), _ETOOBIG, _EREPLACED (a series to be replaced kept changing), or one of
 *   BLOOMFILE_EVALUE        a member is invalid; capacity and bits are both missing; a series in
 *                           the counting layout. bloomfile_invalid() names the member
 *   BLOOMFILE_EFULL         the given bits would be over capacity with fewer than `capacity` keys,
 *                           and BLOOMFILE_OPEN_OVER_CAPACITY is not given
 *   BLOOMFILE_EUNREACHABLE  no size reaches the rate
 *   BLOOMFILE_ESERIES       a foreign file has the name of a later layer, or a single filter would
 *                           replace a series of several layers
 *   BLOOMFILE_EFILESYSTEM, BLOOMFILE_ENOBOOT  see File systems, above
 *   EBUSY                   the series to be replaced has writers
 *   EACCES                  a series would replace a read-only series, or an unreadable file
 *   ENOSPC                  the disk cannot hold the whole filter */
BLOOMFILE_API int bloomfile_create(bloomfile_filter **out, const char *path,
                                   const struct bloomfile_params *params, unsigned flags);

/* Like bloomfile_create(), but in memory, for this process and its children. Memory is taken when
 * first touched.
 *   flags  BLOOMFILE_OPEN_ADD_EXACT, BLOOMFILE_OPEN_SOLE_ADDER, BLOOMFILE_OPEN_OVER_CAPACITY, or 0.
 * Errors: BLOOMFILE_ESTRUCTSIZE, _EVALUE, _EFULL, _EUNREACHABLE, _EISRIBBON, for the reasons given
 * there; BLOOMFILE_EFLAGS (other flags); BLOOMFILE_ETOOBIG; ENOMEM; EMFILE; EFBIG if the filter is
 * larger than files may be (RLIMIT_FSIZE). Adds to a series also return EFBIG. */
BLOOMFILE_API int bloomfile_create_memory(bloomfile_filter **out,
                                          const struct bloomfile_params *params, unsigned flags);

/* Adds a key. In the counting layout every add counts, even if the key is already present.
 *   key      may be NULL when size is 0.
 *   size     bytes.
 *   was_new  set to whether the add changed the filter; may be NULL.
 *
 * After any error except BLOOMFILE_EFULL the key may or may not have been added. Errors:
 * BLOOMFILE_EFULL (see Capacity, above: the key was not added), _EREADONLY, _ESEALED, _EPOISONED,
 * _EHASH (see bloomfile_open_with()); _EBODY, _ECHANGED, _ERECORD, _EUNCLEAN, EBADF, as
 * bloomfile_check() describes; with BLOOMFILE_OPEN_ADD_EXACT, an errno of fcntl(). When a series
 * needs another layer: an errno of creating a file, EMLINK (a file has a second name), or
 * BLOOMFILE_EREPLACED (its path names another file now). In a child of fork, on first use, and when
 * a series has new layers: any error of bloomfile_open(). */
BLOOMFILE_API int bloomfile_add(bloomfile_filter *f, const void *key, size_t size, bool *was_new);

/* Like bloomfile_add(), for a digest from bloomfile_digest_of(). */
BLOOMFILE_API int bloomfile_add_digest(bloomfile_filter *f, bloomfile_digest digest, bool *was_new);

/* Adds n keys in order, several times faster than single adds on filters larger than the caches.
 *   was_new   was_new[i] is set for each key.
 *   new_keys  set to the number of new keys.
 *   done      set to the number of keys added. All three may be NULL.
 *
 * Returns the errors of bloomfile_add(). After an error the first *done keys are added, their
 * was_new[] is valid, and *new_keys counts the new keys among them; the rest of was_new[] is
 * undefined. After BLOOMFILE_EFULL no later key was added; after another error some may have been.
 *
 * In a series that forgets, a generation may begin during the call. The keys are then also added to
 * that generation. If this fails, the call returns the error. The next add, sync or finish on this
 * handle tries again first, and returns an error if it fails too. Until it succeeds, these keys may
 * be forgotten one generation early. */
BLOOMFILE_API int bloomfile_add_many(bloomfile_filter *f, const struct bloomfile_key *keys,
                                     size_t n, bool *was_new, size_t *new_keys, size_t *done);
BLOOMFILE_API int bloomfile_add_digests(bloomfile_filter *f, const bloomfile_digest *digests,
                                        size_t n, bool *was_new, size_t *new_keys, size_t *done);

/* Takes back one add of a key, in the counting layout. Call it only for adds that were made. A key
 * that is certainly absent is refused, and nothing changes. But a false positive looks like a key
 * that was added, and removing it may lose other keys. So do not repeat a removal that was
 * interrupted by the death of its process or machine: it leaves only false positives. If an add was
 * interrupted, repeat the add before you remove its key. A counter that has reached 15 stays at 15:
 * its keys are never lost, but may remain after their removal.
 *
 * Errors: BLOOMFILE_EABSENT (the key is certainly absent), _ENOTCOUNTING, an errno of fcntl(), and
 * those of bloomfile_add() except BLOOMFILE_EFULL. */
BLOOMFILE_API int bloomfile_remove(bloomfile_filter *f, const void *key, size_t size);

/* Like bloomfile_remove(), for a digest from bloomfile_digest_of(). */
BLOOMFILE_API int bloomfile_remove_digest(bloomfile_filter *f, bloomfile_digest digest);

/* Reports the file and the reason if a series could not open or create a layer. report->error is
 * the error of the last such attempt, or 0. Set report->struct_size first. Error:
 * BLOOMFILE_ESTRUCTSIZE. */
BLOOMFILE_API int bloomfile_layer_report(const bloomfile_filter *f,
                                         struct bloomfile_open_report *report);

/* Writes all adds to disk. When it returns 0, every add that returned before this call, on any
 * handle, is on disk. Syncs of one file run one at a time, and opening the file for writing waits
 * for a running sync.
 *   watermark  32 bytes of the caller's, such as the number of the last block that was added; NULL
 *              keeps the watermark of the file.
 *
 * A new watermark is recorded after the adds are on disk. So the filter has every add that returned
 * before the sync that recorded the watermark: after a power loss, in a rescued file, and in a file
 * that is opened as unclean. It may have later adds too. A program that restarts repeats all adds
 * after the watermark. A repeated key is not new, but a counting filter counts it twice. The file
 * has one watermark, that of the last sync: several producers must agree on it.
 * bloomfile_get_info() returns it; for a series, that of the newest layer. Sealing and copying keep
 * it.
 *
 * Returns 0, or an errno of msync, fcntl or write. An error of msync poisons the file; after any
 * other error, try again. Or returns
 *   BLOOMFILE_EREPLACED  all adds are on disk, but the path no longer names this file, so no
 *                        process will open it again. Add the keys to the file that is there now. A
 *                        process that may not access the path detects only that its file has no
 *                        name left
 *   BLOOMFILE_ECHANGED   another program has copied over this file or truncated it, so its keys and
 *                        these adds are lost
 * Other errors are BLOOMFILE_EPOISONED, _EREADONLY, _ESEALED; _EBODY, _ERECORD, _EUNCLEAN, EBADF,
 * as bloomfile_check() describes; in a child of fork, on first use, and for a series, any error of
 * bloomfile_open(). */
BLOOMFILE_API int bloomfile_sync(bloomfile_filter *f,
                                 const uint8_t watermark[BLOOMFILE_WATERMARK_SIZE]);

/* Ends writing, and records the counts of the handle. The last writer of a file also writes all of
 * it to disk and marks it clean. Even after an error, the handle is open only for reading from then
 * on, and adds return BLOOMFILE_EREADONLY. Close it with bloomfile_close(); before that,
 * bloomfile_rescue() may save data that could not be written. bloomfile_close() also ends writing,
 * but cannot report errors. A second call does nothing and returns the same value. Returns 0 if the
 * handle was not open for writing. Errors: an errno; BLOOMFILE_EPOISONED, _EREPLACED, _ECHANGED,
 * _EBODY, _ERECORD, _ESEALED, _EUNCLEAN, as for bloomfile_sync(). */
BLOOMFILE_API int bloomfile_finish(bloomfile_filter *f);

/* Seals the filter in place: its pages get checksums, and it never accepts adds again. The handle
 * stays open for reading. A crash leaves the file live or sealed. If it interrupts the last write,
 * readers refuse the file as BLOOMFILE_ERECORD. The next opening with BLOOMFILE_OPEN_WRITE then
 * completes the seal and returns BLOOMFILE_ESEALED.
 *   watermark  32 bytes, as for bloomfile_sync(); NULL keeps that of the file. Label and tag stay.
 *
 * After an error of the last write, and after BLOOMFILE_EREPLACED, the filter is sealed, as
 * bloomfile_get_info() shows. Returns 0, an errno, or one of
 *   EBUSY                there are other writers
 *   BLOOMFILE_EBODY      the body has set bits beyond m, or not the number of one bits that its
 *                        writers set (as far as all writers closed in order): bits are lost. The
 *                        filter then stays live, the handle answers "maybe" and can be rescued, and
 *                        closing it poisons the file
 *   BLOOMFILE_EISSERIES  a series or a layer: make a sealed copy
 * Other errors are BLOOMFILE_EREPLACED, _ECHANGED, _EPOISONED, _EREADONLY, _ESEALED, _ERECORD,
 * _EUNCLEAN, EBADF, as for bloomfile_sync(). */
BLOOMFILE_API int bloomfile_seal(bloomfile_filter *f,
                                 const uint8_t watermark[BLOOMFILE_WATERMARK_SIZE]);

/* Writes a sealed copy of a filter. The source may be live and in use: the copy has every key whose
 * add returned before this call, and the source is synced, so that no page of it can have been
 * lost. A sealed source is verified.
 *   metadata  replaces the source's metadata; NULL keeps all of it. All layers of a series get the
 *             label and the tag, the last layer the watermark
 *
 * With BLOOMFILE_TO_REPLACE the copy replaces only the file that was at the path when the call
 * began and, if `f` was opened by that path, only the file that was opened. bloomfile_fold(),
 * bloomfile_merge(), bloomfile_join(), bloomfile_project() and bloomfile_patch() do so too: two
 * processes that merge more keys into one file cannot drop each other's keys. If another process
 * has replaced, changed or removed the file since then, the call returns BLOOMFILE_EREPLACED and
 * leaves the current file in place. In the microseconds between its last check and its rename, it
 * excludes only processes that use this library on a local file system, by flock() on the old file.
 * If another program holds that lock, the call waits for one second and then renames anyway. If the
 * old file is live, the call also locks its second byte, so that no writer joins or leaves. It
 * returns EBUSY if it cannot get this lock within one second.
 *
 * A filter that is open for writing cannot be copied over its own file: keys added later would be
 * lost. The call returns BLOOMFILE_EREPLACED, also in a child of fork. Seal the filter in place, or
 * close it first.
 *
 * Returns 0, an errno (also of msync and fdatasync), an error of the destination (bloomfile_io.h),
 * BLOOMFILE_ETOOBIG, _EREPLACED, _ESTRUCTSIZE, _EVALUE (the label), or of the source
 *   BLOOMFILE_EPAGE      a page of it is damaged
 *   BLOOMFILE_EBODY      the body contradicts the header. In a live source: fewer one bits than
 *                        recorded (except in the counting layout), or any other number if all
 *                        writers have closed in order
 *   BLOOMFILE_EPOISONED  a write to disk failed
 *   BLOOMFILE_EUNCLEAN   a writer of it was killed during a sync
 *   BLOOMFILE_ECHANGED, BLOOMFILE_ERECORD  as bloomfile_check() describes
 *   BLOOMFILE_EISSLICE   a slice, to memory: it has no embedded form
 *   BLOOMFILE_EISSERIES  a layer from bloomfile_layer(): copy its series
 * and, if it is a live series, and in a child of fork, any error of bloomfile_open(). */
BLOOMFILE_API int bloomfile_copy_sealed(struct bloomfile_destination *to, const bloomfile_filter *f,
                                        const struct bloomfile_metadata *metadata);

/* Restricts which file a result made from `f` may replace. Use it to compare the existing file with
 * `f` before it is replaced: a file that another process puts there later is never lost.
 *
 *   f    a source of later calls of bloomfile_copy_sealed(), bloomfile_fold(), bloomfile_merge(),
 *        bloomfile_join(), bloomfile_project() or bloomfile_patch(); no other thread may use it now
 *   fd   a descriptor of the file, as it is now; the caller keeps it, and may close it. -1: the
 *        result may not replace any file
 *
 * This holds until the handle is closed, or until the next call. Those functions then return
 * BLOOMFILE_EREPLACED unless this file, unchanged, is at the path of the result. If several sources
 * have such a file, that of the first source counts. If this function was not called, they use the
 * file at the path when they begin. Returns 0, or an errno of fstat() or open(); then nothing
 * changes. */
BLOOMFILE_API int bloomfile_replace_only(bloomfile_filter *f, int fd);

/* Writes a live filter, as it is in memory, to a new live file. The filter may be poisoned.
 *   dst    the path, as for bloomfile_to_path().
 *   flags  BLOOMFILE_TO_REPLACE, or 0.
 *
 * If bloomfile_check() returns BLOOMFILE_ECHANGED, memory has the bytes of another file: this call
 * returns the same error, and writes nothing. If it returns any other error, pages that the kernel
 * dropped after a failed write have their old contents from disk. The new file is then
 * BLOOMFILE_EUNCLEAN: repeat the adds since the last good sync. It is also unclean if the filter
 * was accepted as unclean and no sync has cleared that. If the loss is detected only during this
 * call, the call returns an error: call it again.
 *
 * All layers of a series are on disk before any layer gets its name; the first layer gets its name
 * last. A SIGKILL between two names leaves layers without a first layer, and so does a fatal signal
 * that is delivered to another thread. The next call then returns EEXIST unless it replaces. A
 * series to be replaced is gone by then, and opening it returns BLOOMFILE_ESERIES; the same holds
 * if giving a name fails. A series to be replaced must not have more layers, and no other file may
 * have the name of a later layer: else BLOOMFILE_ESERIES, and nothing is written.
 *
 * Errors: an errno; those of bloomfile_to_path(); BLOOMFILE_ESEALED; _ESERIES; _EISSERIES (a layer
 * from bloomfile_layer()); _EFLAGS; _EVALUE (no path); _ETOOBIG; _ECHANGED; if the loss is detected
 * during the call, BLOOMFILE_EPOISONED, _EBODY, _ERECORD or _EUNCLEAN. For a series, also those of
 * bloomfile_open(), since the call first opens layers that other processes have made. */
BLOOMFILE_API int bloomfile_rescue(const char *dst, const bloomfile_filter *f, unsigned flags);

/* Removes the filter at `path`, sealed or live; for a live series, the files of all layers. If
 * `path` or a layer is a symbolic link, both the link and its file are removed. All files are
 * examined before any is removed; the newest layer is removed first. If an error or a crash
 * interrupts the removal, opening the remaining files fails (BLOOMFILE_EMISSINGLAYER). It may
 * succeed if a writer was killed while it made the newest layer. Another call removes the files.
 * Handles that are open for reading stay usable. A file that is not a filter, or whose header is
 * damaged, is not removed; the call returns the error that opening it would return. A filter
 * that is poisoned or unclean, or whose commit records or body are damaged, is removed.
 *   path  of a filter, or of the first file of a series.
 *
 * Returns 0, an errno, BLOOMFILE_EVALUE if the path is NULL, or one of
 *   EBUSY                a handle has it open for writing, in any process
 *   EACCES, EROFS        it is live, and may not be opened for writing
 *   EMLINK               a layer is a mount point
 *   BLOOMFILE_ESERIES    a file with the name of a layer is not a layer of this series, or `path`
 *                        is not the first layer; nothing was removed
 *   BLOOMFILE_EREPLACED  a file was replaced during the call, or writers kept making layers */
BLOOMFILE_API int bloomfile_unlink(const char *path);

#ifdef __cplusplus
}
#endif

#endif
