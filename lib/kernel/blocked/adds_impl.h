/* SPDX-License-Identifier: MIT
 *
 * The adds of the blocked layout for one instruction set. impl.h includes this file and lists the
 * macros that it needs.
 */
#ifndef BLOOMFILE_NO_BUILD

/* ---- adds to a part that only the caller uses */

/* Takes a pointer: compilers warn about vector arguments, whose calling convention depends on the
 * instruction set. */
TARGET KERNEL_INLINE bool OF_ISA(has_any)(const kernel_bits *of)
{
    const kernel_bits bits = *of;
#ifdef WIDE /* a block is one register */
    return _mm512_test_epi64_mask((__m512i)bits, (__m512i)bits) != 0;
#else
    uint64_t any = 0;
    for (unsigned w = 0; w < PROBE_BLOCK_BYTES / sizeof any; w++)
        any |= bits[w];
    return any != 0;
#endif
}

/* Sets the bits of the first `slices` slices of each digest's product with `multiplier`. rows[i] is
 * a block in which only bit i is set. Appends the digests that set no bit to `idle`, unless it is
 * NULL. */
TARGET KERNEL_INLINE void OF_ISA(add_slices)(uint8_t *part, uint64_t first, uint64_t blocks,
                                             uint8_t (*rows)[PROBE_BLOCK_BYTES],
                                             uint64_t multiplier, unsigned slices,
                                             const uint64_t *digests, size_t n,
                                             struct kernel_idle *idle)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t product = digests[i] * multiplier;
        const uint64_t block = probe_reduce(digests[i], blocks) - first;
        kernel_bits *at = (void *)(part + PROBE_BLOCK_BYTES * block), old = *at, bits = old;
        for (unsigned s = 0; s < slices; s++)
            bits |= *(const kernel_bits *)(const void *)rows[probe_slice(product, s)];
        *at = bits;
        bits ^= old;
        if (idle != NULL && __builtin_expect(!OF_ISA(has_any)(&bits), 0))
            kernel_note_idle(idle, digests[i]);
    }
}

TARGET KERNEL_INLINE void OF_ISA(add_by_rows)(uint8_t *part, uint64_t first, uint64_t blocks,
                                              unsigned k, uint8_t (*rows)[PROBE_BLOCK_BYTES],
                                              const uint64_t *digests, size_t n,
                                              struct kernel_idle *idle)
{
    for (uint64_t multiplier = PROBE_MULTIPLIER;; multiplier *= PROBE_MULTIPLIER) {
        switch (k) {
            KERNEL_ADD_CONSTANT_SLICES(1);
            KERNEL_ADD_CONSTANT_SLICES(2);
            KERNEL_ADD_CONSTANT_SLICES(3);
            KERNEL_ADD_CONSTANT_SLICES(4);
            KERNEL_ADD_CONSTANT_SLICES(5);
        default:
            OF_ISA(add_slices)
            (part, first, blocks, rows, multiplier, PROBE_SLICES, digests, n, idle);
        }
        idle = NULL; /* a repeated digest sets no bit of its first product either, so it is in the
                        list already */
        if (k <= PROBE_SLICES)
            break;
        k -= PROBE_SLICES;
    }
}

/* Not inlined, so that adding a few digests does not touch the 32 KiB of stack for the rows. */
TARGET static __attribute__((noinline)) void OF_ISA(add_many)(uint8_t *part, uint64_t first,
                                                              uint64_t blocks, unsigned k,
                                                              const uint64_t *digests, size_t n,
                                                              bool far, struct kernel_idle *idle)
{
    uint8_t rows[PROBE_BLOCK_BITS][PROBE_BLOCK_BYTES] __attribute__((aligned(PROBE_BLOCK_BYTES)));
    memset(rows, 0, sizeof rows);
    for (unsigned bit = 0; bit < PROBE_BLOCK_BITS; bit++)
        rows[bit][bit / 8] = (uint8_t)(1u << bit % 8);
    if (far)
        kernel_request_part(part, first, blocks, digests, n);
    for (size_t start = 0, count; start < n; start += count) {
        count = far && n - start > KERNEL_AHEAD ? KERNEL_AHEAD : n - start;
        if (far)
            kernel_request_part(part, first, blocks, digests + start + count, n - start - count);
        OF_ISA(add_by_rows)(part, first, blocks, k, rows, digests + start, count, idle);
    }
}

TARGET static void OF_ISA(add_part)(uint8_t *part, uint64_t first, uint64_t last, uint64_t blocks,
                                    unsigned k, const uint64_t *digests, size_t n,
                                    struct kernel_idle *idle)
{
    const bool far = last - first > KERNEL_FAR_BYTES / PROBE_BLOCK_BYTES;
    if (n < KERNEL_MANY)
        kernel_add_few(part, first, blocks, k, digests, n, idle);
    else
        OF_ISA(add_many)(part, first, blocks, k, digests, n, far, idle);
}

#endif

#ifndef BLOOMFILE_NO_LIVE

/* ---- adds to a shared body: other threads may change it, except during add_alone().
 *
 * lacking() sets the words of `bits` to the bits of a key that a block lacks, and returns a mask of
 * the words that are not 0. find_lacks() appends these words to a list. */

#ifdef WIDE

/* Returns a block with the bits of the first `slices` slices of a product, computed in registers.
 * Storing words and loading them as one register would stall: the processor cannot forward several
 * small stores to one large load.
 *
 * All eight lanes shift 1 left, for each slice in turn, by the bit's position minus the first
 * position of the lane's word. VPSLLVQ gives 0 for counts of 64 and more, so only the lane with the
 * bit's word keeps a 1. Negative differences are huge counts. */
TARGET KERNEL_INLINE __m512i OF_ISA(want_slices)(uint64_t product, unsigned slices)
{
    const __m512i first = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    const __m512i down = _mm512_setr_epi64(55, 46, 37, 28, 19, 10, 0, 0);
    const __m512i shifted = _mm512_srlv_epi64(_mm512_set1_epi64((long long)product), down);
    /* Slices that k does not use get position 512, which is in no word. -1 would do too, but gcc 12
     * makes it by VPTERNLOG of a register with itself, and waits for the register's last value. */
    const __m512i nowhere = _mm512_set1_epi64(PROBE_BLOCK_BITS);
    const __m512i places = _mm512_mask_and_epi64(nowhere, (__mmask8)((1u << slices) - 1), shifted,
                                                 _mm512_set1_epi64(PROBE_BLOCK_BITS - 1));
    __m512i wanted = _mm512_setzero_si512();
    /* A broadcast from memory needs only a load port. A broadcast from a register takes shuffles,
     * and Intel cores have one port for 512-bit shuffles. The asm keeps gcc from broadcasting from
     * the register. This and the constant above made a batch take 2.8 ns a key instead of 4.2. */
    int64_t each[8] __attribute__((aligned(64)));
    _mm512_store_si512(each, places);
    __asm__("" : "+m"(each));
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++) {
        const __m512i place = _mm512_set1_epi64(each[i]);
        wanted = _mm512_or_si512(
            wanted, _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(place, first)));
    }
    return wanted;
}

TARGET KERNEL_INLINE __m512i OF_ISA(want_block)(unsigned k, uint64_t digest)
{
    __m512i wanted = _mm512_setzero_si512();
    for (; k > PROBE_SLICES; k -= PROBE_SLICES)
        wanted =
            _mm512_or_si512(wanted, OF_ISA(want_slices)(digest *= PROBE_MULTIPLIER, PROBE_SLICES));
    return _mm512_or_si512(wanted, OF_ISA(want_slices)(digest * PROBE_MULTIPLIER, k));
}

TARGET KERNEL_INLINE __m512i OF_ISA(lacking_block)(const uint8_t *block, unsigned k,
                                                   uint64_t digest)
{
    return _mm512_andnot_si512(_mm512_load_si512(block), OF_ISA(want_block)(k, digest));
}

TARGET KERNEL_INLINE unsigned OF_ISA(lacking)(const uint8_t *block, unsigned k, uint64_t digest,
                                              uint64_t *bits)
{
    const __m512i lacking = OF_ISA(lacking_block)(block, k, digest);
    _mm512_storeu_si512(bits, lacking);
    return _mm512_test_epi64_mask(lacking, lacking);
}

TARGET KERNEL_INLINE void OF_ISA(find_lacks)(uint8_t *block, unsigned k, uint64_t digest,
                                             uint8_t key, struct kernel_lacks *lacks)
{
    const __m512i offsets = _mm512_setr_epi64(0, 8, 16, 24, 32, 40, 48, 56);
    const __m512i words = _mm512_add_epi64(_mm512_set1_epi64((long long)(uintptr_t)block), offsets);
    const __m512i bits = OF_ISA(lacking_block)(block, k, digest);
    const __mmask8 lacking = _mm512_test_epi64_mask(bits, bits);
    const size_t count = lacks->count;
    _mm512_storeu_si512(lacks->bits + count, _mm512_maskz_compress_epi64(lacking, bits));
    _mm512_storeu_si512(lacks->word + count, _mm512_maskz_compress_epi64(lacking, words));
    memset(lacks->key + count, key, KERNEL_WORDS);
    lacks->count = count + (unsigned)__builtin_popcount(lacking);
}

#else

TARGET KERNEL_INLINE void OF_ISA(want)(unsigned k, uint64_t digest, uint64_t *bits)
{
    uint64_t product = digest;
    memset(bits, 0, PROBE_BLOCK_BYTES);
    for (unsigned left = k; left > 0;) {
        const unsigned slices = left < PROBE_SLICES ? left : PROBE_SLICES;
        product *= PROBE_MULTIPLIER;
        for (unsigned i = 0; i < slices; i++) {
            unsigned bit = probe_slice(product, i);
            bits[bit / 64] |= 1ULL << bit % 64;
        }
        left -= slices;
    }
}

TARGET KERNEL_INLINE unsigned OF_ISA(lacking)(const uint8_t *block, unsigned k, uint64_t digest,
                                              uint64_t *bits)
{
    unsigned lacking = 0;
    OF_ISA(want)(k, digest, bits);
#pragma GCC unroll 8
    for (unsigned w = 0; w < KERNEL_WORDS; w++) {
        bits[w] &= ~shared_load64(block + 8 * w);
        lacking |= (unsigned)(bits[w] != 0) << w;
    }
    return lacking;
}

TARGET KERNEL_INLINE void OF_ISA(find_lacks)(uint8_t *block, unsigned k, uint64_t digest,
                                             uint8_t key, struct kernel_lacks *lacks)
{
    uint64_t bits[KERNEL_WORDS];
    size_t count = lacks->count;
    OF_ISA(lacking)(block, k, digest, bits);
#pragma GCC unroll 8
    for (unsigned w = 0; w < KERNEL_WORDS; w++) {
        lacks->word[count] = block + 8 * w;
        lacks->bits[count] = bits[w];
        lacks->key[count] = key;
        count += bits[w] != 0;
    }
    lacks->count = count;
}

#endif

/* Calls find_lacks() for each absent key of a group. Returns whether any key is present. */
TARGET static __attribute__((noinline)) bool OF_ISA(find_new)(uint8_t *body, uint64_t blocks,
                                                              unsigned k, const uint64_t *digests,
                                                              size_t n, struct kernel_lacks *lacks)
{
    uint8_t key[KERNEL_GROUP];
    size_t lacking = 0;
    for (size_t j = 0; j < n; j++) {
        key[lacking] = (uint8_t)j;
        lacking += !OF_ISA(has)(kernel_block_in(body, blocks, digests[j]), k, digests[j]);
    }
    for (size_t j = 0; j < lacking; j++) {
        const uint64_t digest = digests[key[j]];
        OF_ISA(find_lacks)(kernel_block_in(body, blocks, digest), k, digest, key[j], lacks);
    }
    return lacking < n;
}

/* Adds one key. A key that is already present costs no store. */
TARGET static unsigned OF_ISA(set_shared)(uint8_t *body, uint64_t blocks, unsigned k,
                                          uint64_t digest)
{
    uint8_t *block = kernel_block_in(body, blocks, digest);
    uint64_t bits[KERNEL_WORDS];
    unsigned ones = 0;
    __builtin_prefetch(block, 1); /* to be written */
#ifndef WIDE
    if (OF_ISA(has)(block, k, digest))
        return 0;
#endif
    for (unsigned left = OF_ISA(lacking)(block, k, digest, bits); left != 0; left &= left - 1) {
        const unsigned w = (unsigned)__builtin_ctz(left);
        ones += (unsigned)__builtin_popcountll(shared_set64(block + 8 * w, bits[w]));
    }
    return ones;
}

TARGET static void OF_ISA(add_shared)(uint8_t *body, uint64_t blocks, unsigned k,
                                      const uint64_t *digests, size_t n, bool *was_new,
                                      struct kernel_change *change)
{
    const struct kernel_view view = { .body = body, .units = blocks, .k = k };
    struct kernel_lacks lacks;
    bool repeated = true;
    for (size_t i = 0; i < n && i < KERNEL_RING; i++)
        kernel_request(&view, digests[i]);
    /* A lookup takes a tenth of the time of an add, and saves two thirds of the time of a repeated
     * add. While keys do not repeat, only one group in KERNEL_LOOK is looked up. */
    for (size_t start = 0; start < n; start += KERNEL_GROUP) {
        const size_t count = n - start < KERNEL_GROUP ? n - start : KERNEL_GROUP;
        const size_t next = start + KERNEL_RING < n ? start + KERNEL_RING : n;
        const size_t ahead = n - next < KERNEL_GROUP ? n - next : KERNEL_GROUP;
        bool is_new[KERNEL_GROUP] = { false };
        lacks.count = 0;
        if (!repeated && start % (KERNEL_GROUP * KERNEL_LOOK) != 0)
            for (size_t j = start; j < start + count; j++) {
                uint8_t *block = kernel_block_in(body, blocks, digests[j]);
                OF_ISA(find_lacks)(block, k, digests[j], (uint8_t)(j - start), &lacks);
            }
        else
            repeated = OF_ISA(find_new)(body, blocks, k, digests + start, count, &lacks);
        kernel_set_lacks(&lacks, is_new, change, &view, digests + next, ahead);
        for (size_t j = 0; j < count; j++) {
            if (was_new != NULL)
                was_new[start + j] = is_new[j];
            change->keys += is_new[j];
        }
    }
}

/* ---- adds by the only writer: whole words, or the block if that is one register, are stored
 *
 * OF_ISA(ones) counts the bits that a group of keys sets. With BITALG it has a sum for each byte of
 * a block (VPOPCNTB), which is reduced once for the 16 keys of a group. A byte's sum cannot
 * overflow: a byte of one block has 8 bits, so 16 keys add at most 128 to it. */
#ifdef PICKS
typedef __m512i OF_ISA(ones);

TARGET KERNEL_INLINE int64_t OF_ISA(sum)(const __m512i *ones)
{
    return _mm512_reduce_add_epi64(_mm512_sad_epu8(*ones, _mm512_setzero_si512()));
}
#else
typedef int64_t OF_ISA(ones);

TARGET KERNEL_INLINE int64_t OF_ISA(sum)(const int64_t *ones)
{
    return *ones;
}
#endif

/* Adds a key. Returns whether it is new. If `look` is set, first tests whether the key is present.
 * Without AVX-512 this test always comes first: adding a new key takes 25 ns with it on Sapphire
 * Rapids, and 27 to 30 ns when the words that lack bits are searched at once. */
TARGET KERNEL_INLINE bool OF_ISA(set_block)(uint8_t *block, unsigned k, uint64_t digest, bool look,
                                            OF_ISA(ones) * ones)
{
#ifdef WIDE
    if (look && OF_ISA(has)(block, k, digest))
        return false;
    const __m512i lacking = OF_ISA(lacking_block)(block, k, digest);
    if (_mm512_test_epi64_mask(lacking, lacking) == 0)
        return false;
    _mm512_store_si512((void *)block, _mm512_or_si512(_mm512_load_si512(block), lacking));
#ifdef PICKS
    *ones = _mm512_add_epi8(*ones, _mm512_popcnt_epi8(lacking));
#else
    uint64_t bits[KERNEL_WORDS];
    _mm512_storeu_si512(bits, lacking);
#pragma GCC unroll 8
    for (unsigned w = 0; w < KERNEL_WORDS; w++)
        *ones += __builtin_popcountll(bits[w]);
#endif
#else
    (void)look;
    if (OF_ISA(has)(block, k, digest))
        return false;
    uint64_t bits[KERNEL_WORDS];
    OF_ISA(want)(k, digest, bits);
#pragma GCC unroll 8
    for (unsigned w = 0; w < KERNEL_WORDS; w++)
        *ones += __builtin_popcountll(shared_set64_alone(block + 8 * w, bits[w]));
#endif
    return true;
}

TARGET static unsigned OF_ISA(set_alone)(uint8_t *body, uint64_t blocks, unsigned k,
                                         uint64_t digest)
{
    uint8_t *block = kernel_block_in(body, blocks, digest);
    OF_ISA(ones) ones = { 0 };
    return OF_ISA(set_block)(block, k, digest, false, &ones) ? (unsigned)OF_ISA(sum)(&ones) : 0;
}

/* few: k is at most PROBE_SLICES, a constant for the compiler: it drops the loop over products, and
 * keeps the constants of the first product in registers. */
TARGET KERNEL_INLINE void OF_ISA(add_run)(uint8_t *body, uint64_t blocks, unsigned k,
                                          const uint64_t *digests, size_t n, bool *was_new,
                                          struct kernel_change *change, bool few)
{
    if (few && k > PROBE_SLICES)
        __builtin_unreachable();
    const struct kernel_view view = { .body = body, .units = blocks, .k = k };
    int64_t sum = 0, keys = 0;
    bool repeated = true;
    for (size_t i = 0; i < n && i < KERNEL_RING; i++)
        kernel_request(&view, digests[i]);
    /* add_shared() explains which groups are looked up first. */
    for (size_t start = 0; start < n; start += KERNEL_GROUP) {
        const size_t end = n - start < KERNEL_GROUP ? n : start + KERNEL_GROUP;
        const bool look = repeated || start % (KERNEL_GROUP * KERNEL_LOOK) == 0;
        const int64_t before = keys;
        OF_ISA(ones) ones = { 0 };
        repeated = false;
        for (size_t i = start; i < end; i++) {
            if (i + KERNEL_RING < n)
                kernel_request(&view, digests[i + KERNEL_RING]);
            uint8_t *block = kernel_block_in(body, blocks, digests[i]);
            const bool is_new = OF_ISA(set_block)(block, k, digests[i], look, &ones);
            repeated |= !is_new;
            keys += is_new;
            if (was_new != NULL)
                was_new[i] = is_new;
        }
        if (keys != before)
            sum += OF_ISA(sum)(&ones);
    }
    change->ones += sum;
    change->keys += keys;
}

TARGET static void OF_ISA(add_alone)(uint8_t *body, uint64_t blocks, unsigned k,
                                     const uint64_t *digests, size_t n, bool *was_new,
                                     struct kernel_change *change)
{
    if (k <= PROBE_SLICES)
        OF_ISA(add_run)(body, blocks, k, digests, n, was_new, change, true);
    else
        OF_ISA(add_run)(body, blocks, k, digests, n, was_new, change, false);
}

#endif
