/* SPDX-License-Identifier: MIT
 *
 * bloomfile: live filters
 *
 * A live filter is a file that any number of threads and processes add to and query at once.
 *
 *     int err = bloomfile_open(&f, "seen.bloom", BLOOMFILE_OPEN_WRITE);
 *     ...
 *     bool was_new;
 *     err = bloomfile_add(f, url, size, &was_new);
 *     if (err == 0 && was_new)
 *         crawl(url, size);
 *
 * Adding sets bits atomically and takes no lock. An add is visible to everybody when it returns,
 * and survives the death of any process. It survives the death of the machine once a
 * bloomfile_sync() that began after it, on any handle, has returned 0.
 *
 * Unclean. A file that was open for writing when the machine died is BLOOMFILE_EUNCLEAN afterwards:
 * what was added since the last sync may be lost, and adding it again mends that. So is one whose
 * writer was killed while it synced (or closed, or sealed), which it may have been told to have
 * failed; any other death of a process needs no repair. BLOOMFILE_OPEN_ACCEPT_UNCLEAN opens it all
 * the same; with BLOOMFILE_OPEN_WRITE that speaks for everybody, and the file is not unclean any
 * more. A reader that has the file open then learns of it from bloomfile_check() (an errno, if the
 * locks cannot be examined), and all its lookups are "maybe" from then on. A writer learns from its
 * next sync whether a write has failed.
 *
 * Where. All who use a live file must be on one host and see one page cache: network and cluster
 * file systems are BLOOMFILE_EFILESYSTEM. On overlayfs a reader must be allowed to open the file
 * for writing, which gets it out of the layers below, where it would not see what writers add. A
 * system without /proc is BLOOMFILE_ENOBOOT, unless the file is clean and only read. A container
 * that is shown a boot_id of its own (as by systemd-nspawn) takes the files that its host has open
 * for writing for unclean, and the host those of the container; one that is shown the same after
 * each boot does not notice that the machine died.
 *
 * Disks. A live file never changes its size, and all of it is allocated when it is made: a full
 * disk is ENOSPC then, and never a SIGBUS later (but for what copies on write, such as Btrfs, files
 * with reflinks and thin volumes). A failed write to disk is final, because the kernel then forgets
 * what it had to write. Once a sync, the opening or closing of a writer, or a copy has been told of
 * it, the file is poisoned: every lookup in every process answers "maybe", adds are refused, and
 * bloomfile_rescue() saves what is in memory. The kernel tells each opening of the file, once; what
 * it tells nobody of ours is not noticed (doc/format/live.md 8): if all writers were killed and
 * another program synced the file, or memory was so short that the file left it; if a disk was
 * pulled out, remounted after an error, or is a snapshot. After that, treat the filter as unclean.
 *
 * Was it new? A key is "not new" if it was added before, or is a false positive. Of several writers
 * that add the same new key at the same moment, at least one is told that it is new. With
 * BLOOMFILE_OPEN_ADD_EXACT, exactly one of those who use that flag. A call with a new key costs a
 * lock, two system calls, which a killed process does not leave behind; if all its keys are there
 * already (blocked, classic) it costs a lookup. A batch waits for all who add one by one, and is
 * not favoured.
 *
 * Capacity. A filter is over capacity when its keys exceed the number at which its expected rate is
 * twice the target: fpr or, if that is 0, the rate at `capacity`. An add that would change the
 * filter then returns BLOOMFILE_EFULL and changes nothing. A key that is already found is still
 * "not new". EFULL is not sticky and is not a status: lookups, syncing, finishing and sealing go on
 * as before, and after removals a counting filter accepts adds again. One handle that adds alone
 * counts exactly; its threads may pass the number by one batch each if they add at the same moment.
 * Several handles estimate the number from samples, and meet it within about 1%.
 * BLOOMFILE_OPEN_OVER_CAPACITY lifts the limit: the rate then rises without end. A series never
 * meets the limit: one that grows makes the next layer, and one that forgets begins the next
 * generation.
 *
 * Counts. keys, ones and overflow in bloomfile_info (bloomfile_inspect.h) are those of the last
 * commits plus what this handle has added since: advisory while other writers are at work. After
 * all have closed they are exact, keys being the number of adds that were new. keys_estimated is 1
 * after a writer was killed. It can also become 1, and overflow too low, when a writer of a
 * counting filter closes before another one has committed counters that both have raised. A series
 * that forgets counts a key in two layers if a generation began while it was added.
 *
 * Series. With bloomfile_params.series a filter consists of layers. BLOOMFILE_SERIES_GROW: when a
 * layer is full, the writer that filled it makes the next one, with twice the capacity and a lower
 * rate, so that the rates of all layers add up to less than params.fpr, however many there are. G
 * generations, from 2 to 1000: when a layer is full, or its params.period is over, an empty one of
 * the same size follows, and the oldest of more than G layers is forgotten. A key that was new when
 * it was added is found until at least G - 1 further generations have begun. A key that was not
 * new, perhaps by a false positive, may be forgotten earlier, with the layer that seemed to have
 * it.
 *
 * Layers are files: PATH, PATH.1, PATH.2 and so on; a series that forgets reuses G names. They
 * belong together: opening PATH finds the others, even while writers add more, and a layer that is
 * missing or foreign is an error (BLOOMFILE_EMISSINGLAYER, _ESERIES). A key is new if no layer has
 * it. All that this page says of a file holds for each layer. If the next layer cannot be made, for
 * example because the disk is full, adding a new key returns that error; nothing is lost, and
 * lookups go on. A file with a second name (a hard link) gets no successor: EMLINK. If a layer is a
 * mount point, such as a single file that a container was given, its other name is in another
 * folder, and the next layer would be missing there: opening the series for writing is EMLINK, too.
 * Mount the folder. If a lookup meets a layer that it cannot open, it answers "maybe", and
 * bloomfile_check() says why.
 *
 * In memory a series belongs to the process that made it. A child of fork makes no layers; once its
 * parent has made one, the child's lookups are "maybe" and its adds BLOOMFILE_EMISSINGLAYER.
 * bloomfile_copy_sealed() writes all layers to one file, which is shipped and opened like any
 * other. Sealing in place, folding and merging are BLOOMFILE_EISSERIES.
 *
 * fork. A child may go on using the handles it inherits. Its first add, sync or copy opens the file
 * anew (it must be allowed to, and needs /proc); by an add or a sync it becomes a writer of its
 * own. Until then it shares its parent's opening, and if the parent is killed, keeps the locks that
 * were taken by it: of an exact add or a removal, for which others then wait until the child has
 * added, synced or closed the handle; and that of a writer, so that the file cannot be sealed in
 * place. The locks of a sync are not among them, as long as the parent may open the file anew:
 * fork() closes that opening in the child, by a handler of pthread_atfork(); a process that is
 * made without its handlers (vfork, clone) must exec or exit. Descriptors are closed by exec.
 */
#ifndef BLOOMFILE_PUBLIC_LIVE_H
#define BLOOMFILE_PUBLIC_LIVE_H

#include <bloomfile.h>
#include <bloomfile_open.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLOOMFILE_SERIES_GROW 1u /* for bloomfile_params.series */

/* Makes a live filter at `path`, atomically, and opens it for writing; params say how large:
 * `capacity` or `bits` must be given. Given bits alone, capacity becomes the largest number of
 * keys, from 1 to `bits`, that keeps the rate `fpr` (0.01 if that is 0).
 * flags: BLOOMFILE_TO_REPLACE, BLOOMFILE_OPEN_OVER_CAPACITY, BLOOMFILE_OPEN_ADD_EXACT. Writers of a
 * file that is replaced keep adding to the old file (bloomfile_is_stale). A new series may replace
 * a series of several layers: the old layers are then removed, as by bloomfile_unlink() (EBUSY if
 * the old series has writers). A single filter may not: BLOOMFILE_ESERIES; call bloomfile_unlink()
 * first. params.series: capacity is that of the first layer and must be given; a series that grows
 * takes neither bits nor hashes. Errors as bloomfile_builder_new() and _write(), with
 * BLOOMFILE_ECAPACITY if neither capacity nor bits is given; BLOOMFILE_EFULL if the given bits
 * would be over capacity with fewer than `capacity` keys, unless BLOOMFILE_OPEN_OVER_CAPACITY is
 * given; _EISRIBBON for the layout ribbon; _ESERIES for a series in the counting layout, or if a
 * file is where a further layer will be; ENOSPC if the disk cannot hold all of it; those of
 * bloomfile_open(). */
BLOOMFILE_API int bloomfile_create(bloomfile_filter **out, const char *path,
                                   const struct bloomfile_params *params, unsigned flags);

/* The same in memory only, for this process and its children; memory is taken as it is touched.
 * flags: BLOOMFILE_OPEN_ADD_EXACT, BLOOMFILE_OPEN_SOLE_ADDER, BLOOMFILE_OPEN_OVER_CAPACITY, or 0.
 * Errors: BLOOMFILE_EFLAGS and those of the params; BLOOMFILE_EISRIBBON; ENOMEM, EMFILE; EFBIG if
 * it is larger than files may be (RLIMIT_FSIZE). Adds to a series return that, too.
 *
 * BLOOMFILE_OPEN_SOLE_ADDER promises that adds come one after the other, from one thread and
 * process at a time, and makes them two to three times as fast (blocked, classic). Lookups may come
 * from anywhere meanwhile. Adds that break the promise lose keys. */
BLOOMFILE_API int bloomfile_create_memory(bloomfile_filter **out,
                                          const struct bloomfile_params *params, unsigned flags);

/* Adds a key; *was_new (may be NULL) tells whether that changed the filter. In the counting layout
 * every add counts, of a key that is there too.
 * Errors: BLOOMFILE_EFULL (see Capacity above; the key was not added), _EREADONLY, _EPOISONED,
 * _ESEALED; any error of bloomfile_check(); _EHASH (bloomfile_open_with()). With
 * BLOOMFILE_OPEN_ADD_EXACT, errors of fcntl(). In a child of fork, on first use, errors of
 * bloomfile_open(). When a series needs another layer: errors of creating a file, EMLINK, or
 * BLOOMFILE_EREPLACED if its path now names another file. After any other error than EFULL the key
 * may or may not have been added. */
BLOOMFILE_API int bloomfile_add(bloomfile_filter *f, const void *key, size_t size, bool *was_new);

/* The same for a digest, of bloomfile_digest_of(). */
BLOOMFILE_API int bloomfile_add_digest(bloomfile_filter *f, bloomfile_digest digest, bool *was_new);

/* n keys, one after the other, several times faster than one by one on filters larger than the
 * caches. was_new[i] is set for each, *new_keys to how many were new, *done to how many were added;
 * all three may be NULL. Errors as bloomfile_add(). After an error the first *done keys are added,
 * their was_new[] is valid, and *new_keys counts those of them that were new; the rest of was_new[]
 * means nothing. After BLOOMFILE_EFULL no later key was added; after another error some may have
 * been. */
BLOOMFILE_API int bloomfile_add_many(bloomfile_filter *f, const struct bloomfile_key *keys,
                                     size_t n, bool *was_new, size_t *new_keys, size_t *done);
BLOOMFILE_API int bloomfile_add_digests(bloomfile_filter *f, const bloomfile_digest *digests,
                                        size_t n, bool *was_new, size_t *new_keys, size_t *done);

/* Takes back one add of a key, in the counting layout. Only for adds that were made: a key that is
 * certainly not there is refused (BLOOMFILE_EABSENT) and nothing changes, but one that is a false
 * positive cannot be told from one that was added, and removing it may lose other keys. For the
 * same reason a removal that was cut off by the death of its process or machine must not be
 * repeated (what it leaves are false positives), and an add that was cut off must be, before the
 * key may be removed. A counter that has reached 15 stays there: its keys may never go away, and
 * are never lost.
 * Errors: BLOOMFILE_ENOTCOUNTING, _EABSENT; those of bloomfile_add() and fcntl. */
BLOOMFILE_API int bloomfile_remove(bloomfile_filter *f, const void *key, size_t size);

/* The same for a digest, of bloomfile_digest_of(). */
BLOOMFILE_API int bloomfile_remove_digest(bloomfile_filter *f, bloomfile_digest digest);

/* Reports the file and the reason if a series could not open or create a layer. report->error is
 * the error of the last such attempt, or 0. Errors: BLOOMFILE_ESTRUCTSIZE. */
BLOOMFILE_API int bloomfile_layer_report(const bloomfile_filter *f,
                                         struct bloomfile_open_report *report);

/* Writes all adds to disk: those that returned before this call are there, by whichever handle they
 * were made, when it returns 0. One sync of a file is done after the other, and opening it for
 * writing waits for one that is under way. An error of msync poisons the file (see above); any
 * other may be tried again. BLOOMFILE_EREPLACED: all is on disk, but in a file that the path does
 * not name any more, so that nobody will open it again; what was added belongs into the one that is
 * there now. A process that may not look at the path notices only that its file has no name left.
 * BLOOMFILE_ECHANGED: somebody has copied another file over it or cut it, and what was added is
 * lost with what was there. Errors: BLOOMFILE_EREADONLY, _EPOISONED, _ESEALED, _EREPLACED,
 * _ECHANGED; what else bloomfile_check() tells; those of msync, fcntl and write; the first time in
 * a child of fork, and for a series, those of bloomfile_open().
 *
 * watermark: 32 bytes of the caller's, such as the number of the last block that was added; NULL
 * keeps the watermark of the file. A new one is recorded after the adds are on disk. So every add
 * that returned before the sync which recorded it is in the filter: after a loss of power, in a
 * rescued file, and in a file that is opened as unclean. Later adds may be in the filter too. A
 * program that starts again repeats all adds after the watermark. A repeated key is not new, but a
 * counting filter counts it twice. The file has one watermark, that of the last sync: several
 * producers must agree on it. bloomfile_get_info() returns it; of a series, that of the newest
 * layer. Sealing keeps it, and so do copies. */
BLOOMFILE_API int bloomfile_sync(bloomfile_filter *f,
                                 const uint8_t watermark[BLOOMFILE_WATERMARK_SIZE]);

/* Ends writing: what the handle counted is recorded, and the last writer of a file writes all of it
 * to disk and marks it clean. Whatever it returns, the handle is one opened for reading from then
 * on; adds are BLOOMFILE_EREADONLY. bloomfile_close() is still due, and before it
 * bloomfile_rescue() may save what could not be written. bloomfile_close() does the same, and
 * cannot tell what failed. A second call returns the same, and does nothing; 0 if the handle was
 * not open for writing. Errors as bloomfile_sync(). */
BLOOMFILE_API int bloomfile_finish(bloomfile_filter *f);

/* Seals the filter in place: its pages get checksums and nothing is ever added again. The handle
 * stays open, for reading. EBUSY if there are other writers. A crash leaves the file live or
 * sealed; one whose sealing was cut off in the middle of the last write, which readers refuse as
 * BLOOMFILE_ERECORD, is completed when it is next opened with BLOOMFILE_OPEN_WRITE (which says
 * BLOOMFILE_ESEALED).
 * Errors as bloomfile_sync(); one of that last write, and BLOOMFILE_EREPLACED, come after the
 * filter is sealed, as bloomfile_get_info() tells. BLOOMFILE_EBODY if the body has bits beyond m,
 * which nobody sets, or not as many ones as its writers have set, as far as all of them left in
 * order: bits are lost. It stays live then, the handle answers "maybe" and rescues, and closing it
 * poisons the file.
 *
 * watermark: as of bloomfile_sync(); NULL keeps that of the file. Label and tag stay. */
BLOOMFILE_API int bloomfile_seal(bloomfile_filter *f,
                                 const uint8_t watermark[BLOOMFILE_WATERMARK_SIZE]);

/* Writes a sealed copy of a filter. The source may be live and in use: the copy has every key whose
 * add returned before this call, and the source is synced, so that no page of it can have been
 * lost. A sealed source is verified; of a live one the ones are counted: fewer than have been
 * recorded are BLOOMFILE_EBODY, and in the layout counting others than those, if no handle has it
 * open for writing. With BLOOMFILE_TO_REPLACE it replaces only the file that was at the path when
 * the call began, and if `f` was opened by that path, only the file that was opened. So do all
 * functions that make a filter of other filters: two processes that merge more keys into one file
 * cannot drop each other's keys. If another process has replaced, changed or removed the file since
 * then, the call returns BLOOMFILE_EREPLACED and leaves the current file in place. In the
 * microseconds between its last check and its rename, it excludes only processes that use this
 * library on a local file system, by flock() on the old file. If another program holds that lock,
 * the call waits for one second and then renames anyway. Errors: those of the destination;
 * BLOOMFILE_ETOOBIG; ENOMEM; BLOOMFILE_EPAGE, _EBODY, _EPOISONED, _ECHANGED for the source, and
 * _EUNCLEAN if a writer of it was killed while it synced; BLOOMFILE_EISSLICE for a slice in memory;
 * those of msync and fdatasync; of a live series, and in a child of fork, those of
 * bloomfile_open(); BLOOMFILE_ESTRUCTSIZE, and BLOOMFILE_EVALUE for the label.
 *
 *   metadata  what the copy gets in place of the source's; NULL keeps all. All layers of a series
 *             get the label and the tag, the last one the watermark */
BLOOMFILE_API int bloomfile_copy_sealed(struct bloomfile_destination *to, const bloomfile_filter *f,
                                        const struct bloomfile_metadata *metadata);

/* Restricts which file may be replaced by what is made of `f`. Use it to compare the existing file
 * with `f` before it is replaced: a file that another process puts there later is never lost.
 *
 *   f    a source of later calls of bloomfile_copy_sealed(), bloomfile_fold(), bloomfile_merge(),
 *        bloomfile_join(), bloomfile_project() or bloomfile_patch(); no other thread may use it now
 *   fd   a descriptor of the file, as it is now; the caller keeps it, and may close it. -1: none,
 *        so that the result replaces no file
 *
 * It holds until the handle is closed, or until the next call. Those functions then return
 * BLOOMFILE_EREPLACED unless this file, unchanged, is at the path of the result. If several sources
 * have such a file, the first one counts. Without this call the file counts that is at the path
 * when they begin. Returns 0, or an errno of fstat(); then nothing changes. */
BLOOMFILE_API int bloomfile_replace_only(bloomfile_filter *f, int fd);

/* Writes what a live filter's memory holds to a new live file `dst`, poisoned or not, as
 * bloomfile_to_path() describes it; flags: BLOOMFILE_TO_REPLACE, or 0. If
 * bloomfile_check() is not 0, pages that the kernel has dropped since a failed write are as they
 * were on disk, so the new file is BLOOMFILE_EUNCLEAN: what was added since the last good sync
 * should be added again. If it turns out to be lost only now, that is an error: call it again. Of a
 * series, all layers are on disk before one gets its name; the first layer gets its name last. A
 * SIGKILL between two names, or another signal that ends the process and comes to another thread,
 * leaves layers without a first one: the next call returns EEXIST unless it replaces. A series that
 * was to be replaced is gone by then, and opening it returns BLOOMFILE_ESERIES; so it is if giving
 * a name fails. One that is replaced must not have more layers, and no other file may be where a
 * further layer will be: BLOOMFILE_ESERIES, and nothing is written. Errors as
 * bloomfile_copy_sealed(); BLOOMFILE_ESEALED; for a series those of
 * bloomfile_open(), since it first opens layers that other processes have made. */
BLOOMFILE_API int bloomfile_rescue(const char *dst, const bloomfile_filter *f, unsigned flags);

/* Removes the filter at `path`, sealed or live; of a live series the files of all layers. If
 * `path` or a layer is a symbolic link, both the link and its file are removed. All files are
 * examined before any is removed; the newest layer is removed first. If an error or a crash
 * interrupts the removal, opening the remaining files fails (BLOOMFILE_EMISSINGLAYER), and another
 * call removes them. Handles that are open for reading stay usable. A file that is not a valid
 * filter is not removed; the call returns the error that opening it would return.
 *
 *   path   of a filter, or of the first file of a series
 *
 * Returns 0, an errno, or one of
 *   EBUSY                 a handle has it open for writing, in any process
 *   EACCES, EROFS         it is live, and may not be opened for writing
 *   EMLINK                a layer is a mount point
 *   BLOOMFILE_ESERIES     a file that has the name of a layer is not one of this series, or `path`
 *                         is not the first; nothing was removed
 *   BLOOMFILE_EREPLACED   a file was replaced during the call */
BLOOMFILE_API int bloomfile_unlink(const char *path);

#ifdef __cplusplus
}
#endif

#endif
