/* SPDX-License-Identifier: MIT */
#include "row.h"

#include <string.h>

int bytes_compare(struct bytes a, struct bytes b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int difference = common == 0 ? 0 : memcmp(a.data, b.data, common);
    return difference != 0 ? difference : (a.size > b.size) - (a.size < b.size);
}

bool row_decode(struct row *row, struct bytes key, struct bytes stored)
{
    if (stored.size == 0 || stored.data[0] > ROW_VALUE)
        return false;
    const struct bytes value = { stored.data + 1, stored.size - 1 };
    *row = (struct row){ key, value, stored.data[0] == ROW_DELETED };
    return true;
}
