/* SPDX-License-Identifier: MIT
 * From a caller's parameters to the header of a filter to be. */
#ifndef BLOOMFILE_PARAMS_H
#define BLOOMFILE_PARAMS_H

#include "format/header.h"

/* Copies and checks what the caller gave, NULL too. The label still is the caller's. */
int params_take(struct bloomfile_params *p, const struct bloomfile_params *given);

/* BLOOMFILE_EPARAMS if they have what only builders use. */
int params_refuse_of_builder(const struct bloomfile_params *p);

/* Everything in *h that describes the filter, as image_describe() needs it, for n keys so far.
 * p->label is valid. BLOOMFILE_EUNREACHABLE. */
int params_plan(const struct bloomfile_params *p, uint64_t n, uint32_t header_size,
                struct header *h);

/* Whether layout, k and m depend on the number of keys. */
bool params_need_keys(const struct bloomfile_params *p);

/* Where they do not: tells *h, planned for another number of keys, how many there are. */
void params_set_keys(const struct bloomfile_params *p, uint64_t n, struct header *h);

#endif
