/* SPDX-License-Identifier: MIT
 * power-disk FILE IMAGE SEED SECTOR: a disk of sectors of that size, with a volatile cache, mounted
 * over FILE (by FUSE, without libfuse). Writes go to the cache. They reach the platter, IMAGE, at a
 * flush, or before it at the disk's discretion.
 *
 * A command on standard input is "PERCENT REQUESTS PAGE": the power fails after this many more
 * writes and flushes. Each sector not flushed reaches the platter with that probability, in any
 * order. If PAGE, an offset, is not 0, only writes to the 4096 bytes there are counted, and the
 * sectors not flushed there are torn: each reaches the platter up to some byte. Then the disk
 * writes "lost SECTORS of SECTORS" to standard output, and every request is EIO. The program ends
 * when the file is unmounted, or at the end of standard input. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    LARGEST_WRITE = 1 << 17
};

struct disk {
    int fuse;
    uint64_t size;
    size_t sector; /* bytes that reach the platter whole, or not at all */
    uint8_t *platter;
    uint8_t *seen;       /* platter and cache, as reads see them */
    uint8_t *unflushed;  /* 1 for each sector in the cache */
    uint64_t first, end; /* all of them lie in first .. end - 1 */
    bool dead;
    long requests_left; /* until the power fails; -1: never */
    long percent;
    uint64_t page; /* the page to tear; 0: no tearing */
};

/* ---- cache and platter */

static void reach_platter(struct disk *d, uint64_t sector)
{
    memcpy(d->platter + sector * d->sector, d->seen + sector * d->sector, d->sector);
}

static void flush(struct disk *d)
{
    for (uint64_t sector = d->first; sector < d->end; sector++)
        if (d->unflushed[sector]) {
            reach_platter(d, sector);
            d->unflushed[sector] = 0;
        }
    d->first = d->size / d->sector;
    d->end = 0;
}

/* A sector that is written again may have been evicted from the cache in between. */
static void write_cache(struct disk *d, uint64_t offset, const void *bytes, size_t size)
{
    const uint64_t first = offset / d->sector, end = (offset + size + d->sector - 1) / d->sector;
    d->first = first < d->first ? first : d->first;
    d->end = end > d->end ? end : d->end;
    for (uint64_t sector = first; sector < end; sector++) {
        if (d->unflushed[sector] && random() % 2 == 0)
            reach_platter(d, sector);
        d->unflushed[sector] = 1;
    }
    memcpy(d->seen + offset, bytes, size);
}

static bool touches_page(const struct disk *d, uint64_t offset, size_t size)
{
    return d->page != 0 && offset < d->page + PAGE && d->page < offset + size;
}

/* Decides the fate of a sector in the cache: whether it is lost, or some of it. */
static bool loses(struct disk *d, uint64_t sector)
{
    const uint64_t offset = sector * d->sector;
    if (touches_page(d, offset, d->sector)) {
        memcpy(d->platter + offset, d->seen + offset, (size_t)random() % d->sector);
        return true;
    }
    if (random() % 100 >= d->percent)
        return true;
    reach_platter(d, sector);
    return false;
}

static void lose_power(struct disk *d)
{
    uint64_t unflushed = 0, lost = 0;
    for (uint64_t sector = 0; sector < d->size / d->sector; sector++)
        if (d->unflushed[sector]) {
            unflushed++;
            lost += loses(d, sector);
        }
    d->dead = true;
    printf("lost %llu of %llu\n", (unsigned long long)lost, (unsigned long long)unflushed);
    fflush(stdout);
}

/* Runs before a write or a flush; returns whether there is power for it. */
static bool powered(struct disk *d, bool counts)
{
    if (!d->dead && d->requests_left == 0)
        lose_power(d);
    if (d->requests_left > 0 && counts)
        d->requests_left--;
    return !d->dead;
}

/* ---- requests of the kernel */

static void reply(const struct disk *d, uint64_t unique, int error, const void *data, size_t size)
{
    struct fuse_out_header out = { .len = (uint32_t)(sizeof out + size),
                                   .error = -error,
                                   .unique = unique };
    struct iovec parts[] = { { &out, sizeof out }, { (void *)(uintptr_t)data, size } };
    if (writev(d->fuse, parts, 2) < 0 && errno != ENOENT)
        err(2, "cannot answer a request for the disk");
}

static void reply_init(const struct disk *d, uint64_t unique)
{
    const struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
                                       .minor = FUSE_KERNEL_MINOR_VERSION,
                                       .max_readahead = LARGEST_WRITE,
                                       .flags = FUSE_BIG_WRITES,
                                       .max_write = LARGEST_WRITE };
    reply(d, unique, 0, &out, sizeof out);
}

static void reply_attributes(const struct disk *d, uint64_t unique)
{
    const struct fuse_attr_out out = { .attr_valid = 1 << 20,
                                       .attr = { .ino = FUSE_ROOT_ID,
                                                 .size = d->size,
                                                 .blocks = d->size / 512,
                                                 .mode = S_IFREG | 0600,
                                                 .nlink = 1,
                                                 .blksize = 4096 } };
    reply(d, unique, 0, &out, sizeof out);
}

static void reply_read(const struct disk *d, uint64_t unique, const struct fuse_read_in *in)
{
    uint64_t rest = in->offset < d->size ? d->size - in->offset : 0;
    if (d->dead)
        reply(d, unique, EIO, NULL, 0);
    else
        reply(d, unique, 0, d->seen + in->offset, in->size < rest ? in->size : (size_t)rest);
}

static void reply_write(struct disk *d, uint64_t unique, const struct fuse_write_in *in)
{
    const struct fuse_write_out out = { .size = in->size };
    if (in->offset > d->size || in->size > d->size - in->offset) {
        reply(d, unique, EFBIG, NULL, 0);
    } else if (!powered(d, d->page == 0 || touches_page(d, in->offset, in->size))) {
        reply(d, unique, EIO, NULL, 0);
    } else {
        write_cache(d, in->offset, in + 1, in->size);
        reply(d, unique, 0, &out, sizeof out);
    }
}

static void reply_flush(struct disk *d, uint64_t unique)
{
    bool works = powered(d, d->page == 0);
    if (works)
        flush(d);
    reply(d, unique, works ? 0 : EIO, NULL, 0);
}

static void handle(struct disk *d, const struct fuse_in_header *in)
{
    const struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };
    const void *argument = in + 1;
    switch (in->opcode) {
    case FUSE_INIT:
        reply_init(d, in->unique);
        break;
    case FUSE_GETATTR:
        reply_attributes(d, in->unique);
        break;
    case FUSE_OPEN:
        reply(d, in->unique, 0, &opened, sizeof opened);
        break;
    case FUSE_READ:
        reply_read(d, in->unique, argument);
        break;
    case FUSE_WRITE:
        reply_write(d, in->unique, argument);
        break;
    case FUSE_FSYNC:
        reply_flush(d, in->unique);
        break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        reply(d, in->unique, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        reply(d, in->unique, ENOSYS, NULL, 0);
    }
}

/* ---- setting up */

static void *map(int fd, uint64_t size, int flags)
{
    void *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED)
        err(2, "cannot map the image");
    return memory;
}

static void load(struct disk *d, const char *image)
{
    struct stat status;
    int fd = open(image, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        err(2, "%s: cannot open it", image);
    d->size = (uint64_t)status.st_size;
    d->first = d->size / d->sector;
    d->platter = map(fd, d->size, MAP_SHARED);
    d->seen = map(fd, d->size, MAP_PRIVATE);
    d->unflushed = map(-1, d->size / d->sector, MAP_PRIVATE | MAP_ANONYMOUS);
    close(fd);
}

static void mount_at(struct disk *d, const char *file)
{
    char options[100];
    d->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (d->fuse < 0)
        err(2, "/dev/fuse: cannot open it");
    snprintf(options, sizeof options, "fd=%d,rootmode=100000,user_id=0,group_id=0,allow_other",
             d->fuse);
    if (mount("power-disk", file, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
        err(2, "%s: cannot mount the disk there", file);
}

static bool obey(struct disk *d)
{
    char line[64];
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    char *end;
    d->percent = strtol(line, &end, 10);
    d->requests_left = strtol(end, &end, 10);
    d->page = strtoull(end, NULL, 10);
    if (d->requests_left == 0 && !d->dead)
        lose_power(d);
    return true;
}

int main(int argc, char **argv)
{
    static _Alignas(struct fuse_in_header) uint8_t request[LARGEST_WRITE + (1 << 16)];
    struct disk d = { .requests_left = -1 };
    if (argc != 5)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    srandom((unsigned)strtoul(argv[3], NULL, 10));
    setvbuf(stdin, NULL, _IONBF, 0);
    d.sector = strtoul(argv[4], NULL, 10);
    load(&d, argv[2]);
    mount_at(&d, argv[1]);
    puts("ready");
    fflush(stdout);
    struct pollfd watched[] = { { d.fuse, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
    while (poll(watched, 2, -1) >= 0 || errno == EINTR) {
        if (watched[1].revents != 0 && !obey(&d))
            return 0;
        if (watched[0].revents == 0)
            continue;
        ssize_t size = read(d.fuse, request, sizeof request);
        if (size < 0 && errno == ENODEV)
            return 0;
        if (size < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN)
            err(2, "cannot read a request for the disk");
        if (size > 0)
            handle(&d, (const struct fuse_in_header *)(const void *)request);
    }
    err(2, "poll");
}
