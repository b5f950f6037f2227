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

/* Those made so far are nobody's. */
static void remove_layers(const struct series *to, const struct layers *l, size_t from)
{
    for (size_t i = from; i < l->count; i++) {
        char *path = files_path(to, l->list[i]->header.layer);
        if (path != NULL)
            unlink(path);
        free(path);
    }
}

static int rescue_layer(const struct series *to, const struct layers *l, size_t i,
                        uint64_t identity, unsigned flags)
{
    char *path = files_path(to, l->list[i]->header.layer);
    int error = path == NULL ? ENOMEM : rescue(path, l->list[i], identity, i + 1 < l->count, flags);
    free(path);
    return error;
}

static int rescue_layers(const struct series *to, const struct layers *l, unsigned flags)
{
    uint64_t identity;
    int error = identity_new(&identity);
    for (size_t i = l->count; i-- > 0 && error == 0;) {
        error = rescue_layer(to, l, i, identity, flags);
        if (error != 0 && flags == 0)
            remove_layers(to, l, i + 1);
    }
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
