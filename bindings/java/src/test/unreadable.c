/* SPDX-License-Identifier: MIT
 * For the tests of Java: makes all pages but the last of what is mapped of a file named *unreadable
 * fail when they are read, as those that the kernel gave up and a disk does not give again. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 8

struct range {
    unsigned long begin, end;
};

/* How many, of more than a page. */
static int find(struct range *all)
{
    char line[4096];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && n < MOST && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "unreadable\n") != NULL &&
            sscanf(line, "%lx-%lx", &all[n].begin, &all[n].end) == 2 &&
            all[n].end - all[n].begin > 4096)
            n++;
    if (maps != NULL)
        fclose(maps);
    return n;
}

/* static native int lose(), of io.github.bloomfile.FilterTest: how many mappings. */
int Java_io_github_bloomfile_FilterTest_lose(void *environment, void *class);

int Java_io_github_bloomfile_FilterTest_lose(void *environment, void *class)
{
    struct range all[MOST];
    const int n = find(all), empty = memfd_create("empty", MFD_CLOEXEC);
    (void)environment, (void)class;
    for (int i = 0; i < n; i++)
        if (empty == -1 || mmap((void *)all[i].begin, all[i].end - all[i].begin - 4096, PROT_READ,
                                MAP_SHARED | MAP_FIXED, empty, 0) == MAP_FAILED)
            return -1;
    close(empty);
    return n;
}
