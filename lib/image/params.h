/* SPDX-License-Identifier: MIT
 * The caller's parameters, turned into the header of a new filter. */
#ifndef BLOOMFILE_PARAMS_H
#define BLOOMFILE_PARAMS_H

#include "format/header.h"

/* Copies and checks the caller's parameters, which may be NULL. The label is not copied. */
int params_take(struct bloomfile_params *p, const struct bloomfile_params *given);

/* Copies and checks the caller's metadata for a new filter; `given` may be NULL. Label, tag and
 * watermark are not copied. */
int metadata_take(struct bloomfile_metadata *m, const struct bloomfile_metadata *given);

/* Sets the fields that were given. */
void metadata_put(struct header *h, const struct bloomfile_metadata *m);

/* Returns BLOOMFILE_EVALUE if a parameter is set that only builders use. */
int params_refuse_of_builder(const struct bloomfile_params *p);

/* Returns BLOOMFILE_EVALUE if a parameter is set that only new live filters use. */
int params_refuse_of_live(const struct bloomfile_params *p);

/* Sets the fields of *h that describe the filter, as image_describe() needs them, for n keys so
 * far. p->label must be valid. Returns 0, BLOOMFILE_EUNREACHABLE, or BLOOMFILE_EVALUE if there are
 * fewer pages than slices. */
int params_plan(const struct bloomfile_params *p, uint64_t n, uint32_t header_size,
                struct header *h);

/* If bits are given without a capacity, sets the capacity to the largest number of keys that keeps
 * the rate. */
void params_fill(struct bloomfile_params *p);

/* Returns whether layout, k and m depend on the number of keys. */
bool params_need_keys(const struct bloomfile_params *p);

/* If not params_need_keys(): changes the number of keys in an *h that was planned for another
 * number. */
void params_set_keys(const struct bloomfile_params *p, uint64_t n, struct header *h);

#endif
