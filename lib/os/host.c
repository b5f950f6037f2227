/* SPDX-License-Identifier: MIT
 * Properties of this machine: its file systems, by the magic numbers of statfs(2); its boot_id,
 * from /proc; and random identities. */
#include "os/host.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/file.h"

#define OVERLAY 0x794C7630u
#define FUSE    0x65735546u

/* From statfs(2), linux/magic.h, and the list of remote file systems in coreutils. Not FUSE,
 * because the file system behind it cannot be identified. */
static const uint32_t shared_by_hosts[] = {
    0x00006969, /* NFS */
    0x0000517B, /* SMB */
    0xFF534D42, /* CIFS */
    0xFE534D42, /* SMB2 */
    0x01021997, /* 9P */
    0x00C36400, /* Ceph */
    0x5346414F, /* OpenAFS */
    0x6B414653, /* AFS */
    0x73757245, /* Coda */
    0x0BD00BD0, /* Lustre */
    0x47504653, /* GPFS */
    0x7461636F, /* OCFS2 */
    0x01161970, /* GFS2 */
    0x786F4256, /* VirtualBox shared folders */
    0xBACBACBC, /* VMware shared folders */
    0x7C7C6673, /* Parallels shared folders */
    0x00C0FFEE, /* hostfs, of User-mode Linux */
    0x20030528, /* OrangeFS, PVFS2 */
    0x19830326, /* BeeGFS */
    0xAAD7AAEA, /* PanFS */
    0xBEEFDEAD, /* StorNext */
    0x61636673, /* ACFS */
    0xA501FCF5, /* VxFS, which a cluster may share */
    0x013111A8, /* IBRIX */
    0x0000564C, /* NCP */
    0x61756673, /* aufs, where a reader may keep an older copy */
};

static int type_of(int fd, uint32_t *type)
{
    *type = 0;
    struct statfs status;
    int result;
    do
        result = fstatfs(fd, &status);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return errno;
    *type = (uint32_t)status.f_type;
    return 0;
}

int filesystem_check(int fd, bool *layered)
{
    uint32_t type;
    int error = type_of(fd, &type);
    if (error != 0)
        return error;
    *layered = type == OVERLAY;
    for (size_t i = 0; i < sizeof shared_by_hosts / sizeof shared_by_hosts[0]; i++)
        if (type == shared_by_hosts[i])
            return BLOOMFILE_EFILESYSTEM;
    return 0;
}

int filesystem_links_apart(int fd, bool *apart)
{
    uint32_t type;
    int error = type_of(fd, &type);
    *apart = error == 0 && type == FUSE;
    return error;
}

static const uint32_t local[] = {
    0x0000EF53, /* ext2, ext3, ext4 */
    0x58465342, /* XFS */
    0x9123683E, /* Btrfs */
    0xF2F52010, /* F2FS */
    0x2FC12FC1, /* ZFS */
    0xCA451A4E, /* bcachefs */
    0x01021994, /* tmpfs */
    0x858458F6, /* ramfs */
    OVERLAY,
};

bool filesystem_is_local(int fd)
{
    uint32_t type;
    if (type_of(fd, &type) != 0)
        return false;
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        if (type == local[i])
            return true;
    return false;
}

/* ---- The identity of the running system's boot, read from /proc. */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses 16 bytes as hexadecimal digits, with dashes between some of them. */
static bool parse(const char *text, uint8_t id[BOOT_ID_SIZE])
{
    unsigned digits = 0;
    uint8_t any = 0;
    for (; digits < 2 * BOOT_ID_SIZE && *text != '\0'; text++) {
        int value = hex_value(*text);
        if (value < 0 && *text != '-')
            return false;
        if (value < 0)
            continue;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
        any |= (uint8_t)value;
        digits++;
    }
    return digits == 2 * BOOT_ID_SIZE && any != 0;
}

/* Replaces ENOENT, which the caller would report as a missing filter. */
static int not_opened(int error)
{
    return error == ENOENT || error == ENOTDIR ? BLOOMFILE_ENOBOOT : error;
}

int boot_id(uint8_t id[BOOT_ID_SIZE])
{
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return not_opened(errno);
    size_t size = 0, more = 1;
    int error = 0;
    for (; error == 0 && more > 0 && size < sizeof text - 1; size += more) {
        more = 0;
        error = file_read_some(fd, FILE_HERE, text + size, sizeof text - 1 - size, &more);
    }
    close(fd);
    if (error != 0)
        return error;
    memset(id, 0, BOOT_ID_SIZE);
    return parse(text, id) ? 0 : BLOOMFILE_ENOBOOT;
}

/* ---- Random identities. */

int random_identity(void *bytes, size_t size)
{
    uint8_t any = 0;
    while (any == 0) {
        const ssize_t drawn = getrandom(bytes, size, 0);
        if (drawn < 0 && errno != EINTR)
            return errno;
        for (size_t i = 0; drawn == (ssize_t)size && i < size; i++)
            any |= ((const uint8_t *)bytes)[i];
    }
    return 0;
}
