/* SPDX-License-Identifier: MIT
 * CRC-32. libdeflate computes it, except in a read-only build, which has its own code at a tenth of
 * the speed and needs no library. */
#include "format/checksum.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0xEDB88320u /* bits are reversed: bit 31 is the coefficient of x^0 */

#ifndef BLOOMFILE_NO_BUILD

#include <libdeflate.h>

uint32_t checksum_more(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return libdeflate_crc32(crc, bytes, size);
}

#else

/* crc_tables[i][b] is the CRC of byte b followed by i zero bytes, so that a round can combine 8
 * bytes. */
static uint32_t crc_tables[8][256];

static void make_crc_tables(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        crc_tables[0][byte] = crc;
    }
    for (unsigned i = 1; i < 8; i++)
        for (unsigned byte = 0; byte < 256; byte++) {
            const uint32_t crc = crc_tables[i - 1][byte];
            crc_tables[i][byte] = crc >> 8 ^ crc_tables[0][crc & 255];
        }
}

uint32_t checksum_more(uint32_t crc, const uint8_t *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_crc_tables);
    crc = ~crc;
    for (; size >= 8; size -= 8, bytes += 8) {
        const uint64_t word = get64(bytes) ^ crc;
        crc = 0;
        for (unsigned i = 0; i < 8; i++)
            crc ^= crc_tables[7 - i][word >> 8 * i & 255];
    }
    for (; size > 0; size--)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *bytes++) & 255];
    return ~crc;
}

#endif

/* The product of two polynomials, modulo the polynomial of the CRC. */
static uint32_t crc_product(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; a != 0; a <<= 1) {
        product ^= a >> 31 != 0 ? b : 0;
        b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
    }
    return product;
}

/* Returns x^(8 * size) modulo the polynomial, by squaring. Multiplying a CRC by it appends `size`
 * zero bytes. */
static uint32_t crc_shift(uint64_t size)
{
    uint32_t shift = 1u << 31;
    for (uint32_t power = 1u << 23; size > 0; size >>= 1) {
        if ((size & 1) != 0)
            shift = crc_product(shift, power);
        power = crc_product(power, power);
    }
    return shift;
}

/* Returns the CRC of bytes whose CRC is `crc`, followed by zeros. */
static uint32_t append_zeros(uint32_t crc, uint64_t size)
{
    return crc_product(crc, crc_shift(size));
}

/* with_zeros[i][n] is the CRC n << 4 * i after a page of zeros is appended. Appending zeros is
 * linear, so for any CRC the result is the XOR of eight entries, one for each nibble. */
static uint32_t with_zeros[8][16];

static void make_with_zeros(void)
{
    for (unsigned i = 0; i < 8; i++)
        for (unsigned n = 1; n < 16; n++) {
            const uint32_t lowest = n & -n;
            with_zeros[i][n] = n == lowest ? append_zeros(n << 4 * i, CHECKSUM_PAGE)
                                           : with_zeros[i][n ^ lowest] ^ with_zeros[i][lowest];
        }
}

static uint32_t append_page_of_zeros(uint32_t crc)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_with_zeros);
    uint32_t sum = 0;
    for (unsigned i = 0; i < 8; i++)
        sum ^= with_zeros[i][crc >> 4 * i & 15];
    return sum;
}

void checksum_append(struct checksum_sum *sum, uint32_t crc, uint64_t size)
{
    sum->crc = crc ^ (size == CHECKSUM_PAGE ? append_page_of_zeros(sum->crc)
                                            : append_zeros(sum->crc, size));
}

uint32_t checksum(const uint8_t *bytes, size_t size)
{
    return checksum_more(0, bytes, size);
}

/* Not inlined: where gcc knows that the size is at most a page, it compiles memcpy() to `rep
 * movsq`, which takes twice as long as the function. */
void checksum_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    memcpy(to, from, size);
}
