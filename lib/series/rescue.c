/* SPDX-License-Identifier: MIT
 * A series of its own, which nobody can open before its first layer is there: that is made last. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "combine/rescue.h"
#include "series/files.h"
#include "series/identity.h"
#include "series/series.h"

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; names != NULL && i < count; i++)
        free(names[i]);
    free(names);
}

/* The paths of all layers, before any is made: what has been made must be removed without memory,
 * too. NULL: ENOMEM. */
static char **new_names(const struct series *to, const struct layers *l)
{
    char **names = calloc(l->count, sizeof *names);
    for (size_t i = 0; names != NULL && i < l->count; i++) {
        names[i] = files_path(to, l->list[i]->header.layer);
        if (names[i] == NULL) {
            free_names(names, i);
            return NULL;
        }
    }
    return names;
}

static int rescue_layers(const struct series *to, const struct layers *l, unsigned flags)
{
    uint64_t identity;
    char **names = new_names(to, l);
    int error = names == NULL ? ENOMEM : identity_new(&identity);
    for (size_t i = l->count; i-- > 0 && error == 0;) {
        error = rescue(names[i], l->list[i], identity, i + 1 < l->count, flags);
        for (size_t made = i + 1; error != 0 && flags == 0 && made < l->count; made++)
            unlink(names[made]); /* nobody's */
    }
    free_names(names, l->count);
    return error;
}

int series_rescue(const bloomfile *f, const char *path, unsigned flags)
{
    char *real = path != NULL ? realpath(path, NULL) : NULL, *copy = NULL;
    struct series to = { .generations = f->series->generations };
    if (path == NULL || !f->series->live)
        return path == NULL ? BLOOMFILE_EPARAMS : BLOOMFILE_ESEALED;
    if (real == NULL && (copy = strdup(path)) == NULL)
        return ENOMEM;
    to.path = real != NULL ? real : copy;
    const struct layers *l = layers_enter(f);
    int error = rescue_layers(&to, l, flags);
    layers_leave(f, l);
    free(real);
    free(copy);
    return error;
}
