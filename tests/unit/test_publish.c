/* SPDX-License-Identifier: MIT
 * Files that bloomfile_builder_write() publishes: whole or not at all, and only over regular
 * files. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "publish/publish.h"

enum {
    NOBODY = 65534
};

static struct stat status_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status;
}

/* Runs `act` in a child process and returns its status. */
static int in_child(int (*act)(void))
{
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0)
        _exit(act());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

enum {
    AS_EXPECTED = 0,
    NOT_AS_EXPECTED = 1,
    CANNOT = 2
};

/* ---- files */

TEST_IN_DIR(a_new_file_has_the_permissions_of_the_umask)
{
    write_file("new", "", 0);
    set_mode("new", 0640);
    assert_int_equal(unlink("new"), 0);
    mode_t before = umask(027);
    assert_error(publish_filter("new", 0, 10), 0);
    umask(before);
    assert_filter_of("new", 10);
    assert_int_equal(status_of("new").st_mode, S_IFREG | 0640);
    assert_int_equal(status_of("new").st_nlink, 1);
    assert_int_equal(entries_in_dir(), 1);
}

TEST_IN_DIR(publish_keeps_an_existing_file_without_to_replace)
{
    write_file("old", "old content", 11);
    assert_error(publish_filter("old", 0, 10), EEXIST);
    assert_file_holds("old", "old content", 11);
    assert_error(publish_filter("old", BLOOMFILE_TO_REPLACE, 20), 0);
    assert_filter_of("old", 20);
    assert_error(publish_filter("old", 0, 30), EEXIST);
    assert_filter_of("old", 20);
    assert_int_equal(entries_in_dir(), 1);
}

TEST_IN_DIR(to_replace_creates_a_missing_file)
{
    assert_error(publish_filter("new", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_filter_of("new", 10);
    assert_int_equal(entries_in_dir(), 1);
}

TEST_IN_DIR(a_replacement_keeps_the_permissions)
{
    static const mode_t modes[] = { 0600, 0644, 0440, 0777, 0000 };
    for (size_t i = 0; i < ROWS(modes); i++) {
        write_file("old", "", 0);
        set_mode("old", modes[i]);
        assert_error(publish_filter("old", BLOOMFILE_TO_REPLACE, 10), 0);
        assert_int_equal(status_of("old").st_mode, S_IFREG | modes[i]);
        assert_int_equal(unlink("old"), 0);
    }
}

/* Other users never get more access than to the old file at that moment. */
TEST_IN_DIR(replacement_follows_a_mode_change_during_the_write)
{
    struct publication *p;
    struct stat status;
    int fd;
    write_file("old", "", 0);
    set_mode("old", 0600);
    assert_error(publish_start(&p, "old", true, &fd), 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
    set_mode("old", 0640);
    assert_error(publish_finish(p), 0);
    assert_int_equal(status_of("old").st_mode, S_IFREG | 0640);
}

TEST_IN_DIR(replacement_keeps_the_owner_if_permitted)
{
    write_file("old", "", 0);
    if (chown("old", NOBODY, NOBODY) != 0)
        skip("only root may give files away");
    assert_error(publish_filter("old", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_int_equal(status_of("old").st_uid, NOBODY);
    assert_int_equal(status_of("old").st_gid, NOBODY);
}

static const gid_t group = 12345;
static bool in_group;

static int replace_as_nobody(void)
{
    if (setgroups(in_group, &group) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return CANNOT;
    return publish_filter("old", BLOOMFILE_TO_REPLACE, 10) == 0 ? AS_EXPECTED : NOT_AS_EXPECTED;
}

TEST_IN_DIR(permissions_of_a_group_stay_with_that_group)
{
    set_mode(".", 0777);
    for (unsigned member = 0; member < 2; member++) {
        write_file("old", "", 0);
        set_mode("old", 0664);
        if (chown("old", 0, group) != 0)
            skip("only root may give files away");
        in_group = member != 0;
        int result = in_child(replace_as_nobody);
        if (result == CANNOT)
            skip("users cannot be changed");
        assert_int_equal(result, AS_EXPECTED);
        assert_int_equal(status_of("old").st_gid, member ? group : NOBODY);
        assert_int_equal(status_of("old").st_mode, S_IFREG | (member ? 0664 : 0604));
        assert_int_equal(unlink("old"), 0);
    }
}

/* ---- access control lists, by the bytes of the attribute */

#define LIST "system.posix_acl_access"

/* The owner rw, the group and user NOBODY + 1 as given, a mask of rw, everyone else nothing. */
static void give_list(const char *path, const char *attribute, uint16_t user, uint16_t of_group)
{
    const struct {
        uint32_t version;
        struct {
            uint16_t tag, rights;
            uint32_t id;
        } entries[5];
    } list = { 2,
               { { 1, 6, UINT32_MAX },
                 { 2, user, NOBODY + 1 },
                 { 4, of_group, UINT32_MAX },
                 { 0x10, 6, UINT32_MAX },
                 { 0x20, 0, UINT32_MAX } } };
    if (setxattr(path, attribute, &list, sizeof list, 0) != 0)
        skip("the file system has no access control lists, or the machine is big-endian");
}

static size_t list_of(const char *path, uint8_t list[100])
{
    ssize_t size = getxattr(path, LIST, list, 100);
    return size < 0 ? 0 : (size_t)size;
}

/* A list's mask takes the place of the group's permissions, so chmod() alone would give them to
 * the group. */
TEST_IN_DIR(a_replacement_keeps_the_access_control_list)
{
    write_file("old", "", 0);
    give_list("old", LIST, 6, 0);
    uint8_t before[100], after[100];
    const mode_t mode = status_of("old").st_mode;
    const size_t size = list_of("old", before);
    assert_true(size > 0);
    assert_error(publish_filter("old", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_filter_of("old", 10);
    assert_int_equal(status_of("old").st_mode, mode);
    assert_int_equal(list_of("old", after), size);
    assert_memory_equal(before, after, size);
}

TEST_IN_DIR(replacement_does_not_inherit_the_default_acl)
{
    uint8_t list[100];
    write_file("old", "", 0);
    set_mode("old", 0660);
    give_list(".", "system.posix_acl_default", 6, 6);
    assert_error(publish_filter("old", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_int_equal(list_of("old", list), 0);
    assert_int_equal(status_of("old").st_mode, S_IFREG | 0660);
    assert_error(publish_filter("new", 0, 10), 0);
    assert_true(list_of("new", list) > 0); /* like any new file */
}

/* The new file cannot name the users and the group that had access, so they lose it. */
TEST_IN_DIR(lost_group_drops_the_access_control_list_and_grants_nothing)
{
    uint8_t list[100];
    set_mode(".", 0777);
    write_file("old", "", 0);
    if (chown("old", 0, group) != 0)
        skip("only root may give files away");
    give_list("old", LIST, 6, 4);
    set_mode("old", 0777);
    in_group = false;
    int result = in_child(replace_as_nobody);
    if (result == CANNOT)
        skip("users cannot be changed");
    assert_int_equal(result, AS_EXPECTED);
    assert_int_equal(list_of("old", list), 0);
    assert_int_equal(status_of("old").st_mode, S_IFREG | 0700);
}

TEST_IN_DIR(members_of_a_lost_group_gain_no_permissions)
{
    set_mode(".", 0777);
    write_file("old", "", 0);
    set_mode("old", 0646);
    if (chown("old", 0, group) != 0)
        skip("only root may give files away");
    in_group = false;
    int result = in_child(replace_as_nobody);
    if (result == CANNOT)
        skip("users cannot be changed");
    assert_int_equal(result, AS_EXPECTED);
    assert_int_equal(status_of("old").st_mode, S_IFREG | 0604);
}

TEST_IN_DIR(replaced_file_stays_intact_for_its_readers)
{
    assert_error(publish_filter("name", 0, 10), 0);
    make_hard_link("name", "old");
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "name", 0), 0);
    assert_error(publish_filter("name", BLOOMFILE_TO_REPLACE, 10000), 0);
    assert_filter_of("old", 10);
    assert_filter_of("name", 10000);
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    bloomfile_close(f);
}

TEST_IN_DIR(unknown_flags_are_refused)
{
    assert_error(publish_filter("new", 2, 10), BLOOMFILE_EFLAGS);
    assert_error(publish_filter("new", 1u << 31 | BLOOMFILE_TO_REPLACE, 10), BLOOMFILE_EFLAGS);
    assert_int_equal(entries_in_dir(), 0);
}

/* ---- symbolic links */

TEST_IN_DIR(a_symbolic_link_is_followed)
{
    assert_int_equal(mkdir("elsewhere", 0777), 0);
    write_file("elsewhere/target", "", 0);
    make_symlink("elsewhere/target", "link");
    make_symlink("link", "link to link");
    assert_error(publish_filter("link to link", 0, 10), EEXIST);
    assert_error(publish_filter("link to link", BLOOMFILE_TO_REPLACE, 10), 0);
    assert_filter_of("elsewhere/target", 10);
    assert_true(S_ISLNK(status_of("link").st_mode));
    assert_true(S_ISLNK(status_of("link to link").st_mode));
    assert_int_equal(entries_in_dir(), 3);
    assert_int_equal(chdir("elsewhere"), 0);
    assert_int_equal(entries_in_dir(), 1);
}

TEST_IN_DIR(a_symbolic_link_to_nothing_is_an_error)
{
    make_symlink("missing", "link");
    assert_error(publish_filter("link", 0, 10), ENOENT);
    assert_error(publish_filter("link", BLOOMFILE_TO_REPLACE, 10), ENOENT);
    make_symlink("loop", "loop");
    assert_error(publish_filter("loop", BLOOMFILE_TO_REPLACE, 10), ELOOP);
    assert_int_equal(entries_in_dir(), 2);
}

/* ---- files that are never replaced */

static void assert_never_replaced(const char *path, int error)
{
    struct stat before = status_of(path);
    size_t entries = entries_in_dir();
    assert_error(publish_filter(path, 0, 10), error);
    assert_error(publish_filter(path, BLOOMFILE_TO_REPLACE, 10), error);
    struct stat after = status_of(path);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(entries_in_dir(), entries);
}

TEST_IN_DIR(directories_are_never_replaced)
{
    assert_int_equal(mkdir("dir", 0777), 0);
    make_symlink("dir", "link");
    static const char *const paths[] = { "dir", "dir/", "link",  ".",    "..",
                                         "/",   "/usr", "./dir", "dir/." };
    for (size_t i = 0; i < ROWS(paths); i++)
        assert_never_replaced(paths[i], EISDIR);
}

TEST_IN_DIR(special_files_are_never_replaced)
{
    make_pipe("fifo", 0666);
    assert_never_replaced("fifo", BLOOMFILE_ENOTREGULAR);
    bool own_device = mknod("null", S_IFCHR | 0666, makedev(1, 3)) == 0; /* spares the system's */
    const char *device = own_device ? "null" : "/dev/null";
    assert_never_replaced(device, BLOOMFILE_ENOTREGULAR);
    make_symlink(device, "link");
    assert_never_replaced("link", BLOOMFILE_ENOTREGULAR);
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_never_replaced("socket", BLOOMFILE_ENOTREGULAR);
    close(fd);
}

/* ---- places where no file can be made */

TEST_IN_DIR(a_directory_that_is_missing_is_an_error)
{
    assert_error(publish_filter("missing/new", 0, 10), ENOENT);
    assert_error(publish_filter("missing/new", BLOOMFILE_TO_REPLACE, 10), ENOENT);
    assert_error(publish_filter("", BLOOMFILE_TO_REPLACE, 10), ENOENT);
    assert_error(publish_filter("/missing/new", 0, 10), ENOENT);
    write_file("file", "", 0);
    assert_error(publish_filter("file/new", BLOOMFILE_TO_REPLACE, 10), ENOTDIR);
    assert_int_equal(entries_in_dir(), 1);
}

TEST_IN_DIR(name_of_255_bytes_is_accepted_and_256_refused)
{
    char name[NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[NAME_MAX] = '\0';
    assert_error(publish_filter(name, 0, 10), 0);
    assert_error(publish_filter(name, BLOOMFILE_TO_REPLACE, 20), 0);
    assert_filter_of(name, 20);
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = '\0';
    assert_error(publish_filter(name, BLOOMFILE_TO_REPLACE, 10), ENAMETOOLONG);
    assert_int_equal(entries_in_dir(), 1);
}

static int publish_without_permission(void)
{
    if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return CANNOT;
    return publish_filter("new", 0, 10) != EACCES ||
           publish_filter("old", BLOOMFILE_TO_REPLACE, 10) != EACCES;
}

TEST_IN_DIR(a_directory_that_is_not_writable_is_an_error)
{
    write_file("old", "old", 3);
    set_mode("old", 0666);
    set_mode(".", 0555);
    int result = in_child(publish_without_permission);
    set_mode(".", 0777);
    if (result == CANNOT)
        skip("users cannot be changed");
    assert_int_equal(result, AS_EXPECTED);
    assert_file_holds("old", "old", 3);
    assert_int_equal(entries_in_dir(), 1);
}

static int publish_past_the_size_limit(void)
{
    const struct rlimit limit = { 5000, 5000 };
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return CANNOT;
    return publish_filter("new", 0, 100) != EFBIG ||
           publish_filter("old", BLOOMFILE_TO_REPLACE, 100) != EFBIG;
}

TEST_IN_DIR(file_above_the_size_limit_is_not_published)
{
    write_file("old", "old", 3);
    assert_int_equal(in_child(publish_past_the_size_limit), AS_EXPECTED);
    assert_file_holds("old", "old", 3);
    assert_int_equal(entries_in_dir(), 1);
}

int main(void)
{
    return run_all(NULL, NULL);
}
