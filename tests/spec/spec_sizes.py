# SPDX-License-Identifier: MIT
"""doc/format/sizes.md, written from the text: the m and k of a filter. The tests compare it with the C library.

Rates are computed in other ways than in the library: of classic and counting exactly, in decimals of 80 digits; of
a block from the distribution of its number of set bits."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import spec_ribbon

BLOCK, MOST_CELLS, MOST_K, MARGIN = 512, 1 << 60, 64, 2.0 ** -26
FULL = 4096  # with more throws a block counts as full
EXACT = 2048  # with more throws the rate follows from mean and variance
COMPOSITE = [1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560, 10080, 15120, 20160,
             25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720]


@lru_cache(maxsize=None)
def block_rates():
    """[k][j]: the mean of (X / 512)^k after j * k throws into a block."""
    shares = [x / BLOCK for x in range(BLOCK + 1)]
    powers = [[share ** k for share in shares] for k in range(MOST_K + 1)]
    rates = [[] for _ in powers]
    chance = [1.0] + [0.0] * BLOCK  # of that many set bits
    for throws in range(FULL + 1):
        for k in range(1, MOST_K + 1):
            if throws % k == 0:
                rates[k].append(sum(map(float.__mul__, chance, powers[k])))
        hits_an_empty_cell = [0.0] + [c * (1 - share) for c, share in zip(chance, shares)]
        chance = [c * share + new for c, share, new in zip(chance, shares, hits_an_empty_cell)]
    return rates


def binomial_mean(n, odds, rate):
    """The mean of the rate of a binomial number of n keys, from its mode; it has `odds` against each."""
    middle = int(n / (1 + odds))
    weights, found = 1.0, rate(middle)
    weight, j = 1.0, middle
    while j < n and weight > 1e-16 * found:
        weight *= (n - j) / ((j + 1) * odds)
        j += 1
        weights, found = weights + weight, found + weight * rate(j)
    weight, j = 1.0, middle
    while j > 0 and weight > 1e-16:
        weight *= j * odds / (n - j + 1)
        j -= 1
        weights, found = weights + weight, found + weight * rate(j)
    return found / weights


def rate_of_blocks(blocks, n, k):
    def rate(j):
        return rates[j] if j < len(rates) else 1.0

    rates = block_rates()[k]
    if blocks == 1 or n // blocks > 2 * FULL:
        return rate(n // blocks)
    return binomial_mean(n, blocks - 1, rate)


@lru_cache(maxsize=None)
def stirling(i, s):
    """The number of ways in which i throws hit s cells, for any such cells."""
    if i == 0 or s == 0:
        return int(i == s)
    return s * stirling(i - 1, s) + stirling(i - 1, s - 1)


def exact_rate(m, n, k):
    """(X / m)^k is (1 - E / m)^k with E empty cells. The moments of E follow from the probability that s given
    cells are empty."""
    with localcontext(Context(prec=80)):
        total = Decimal(0)
        for s in range(min(k, m) + 1):
            cells = math.prod(range(m - s + 1, m + 1))
            factor = sum((-1) ** i * math.comb(k, i) * stirling(i, s) * Decimal(cells) / Decimal(m) ** i
                         for i in range(s, k + 1))
            total += factor * ((Decimal(m - s) / m) ** (n * k) if n * k else 1)
        return float(total)


def rate_of_cells(m, n, k):
    if n <= EXACT // k:
        return exact_rate(m, n, k)
    x = n * k / m
    f = -math.expm1(-x)
    difference = x * x / 2 - x ** 3 / 3 + x ** 4 / 8 if x < 1e-3 else f - x * math.exp(-x)
    v = math.exp(-x) * difference / (m * f * f)
    return (f + math.exp(-x) * x / (2 * m)) ** k * math.exp(v * k * (k - 1) / 2)


FURTHER = [0, 0, 0.008, 0.05, 0.23, 0.58, 1.07, 1.75, 2.8, 3.75, 4.4, 5.5, 6.8, 8.2, 9.6, 11, 12.4, 12.4]


@lru_cache(maxsize=None)
def rate_of_crowd(crowd, words):
    thousands, rest = divmod(min(crowd, 16000), 1000)
    further = FURTHER[thousands] + (FURTHER[thousands + 1] - FURTHER[thousands]) * rest / 1000
    first = math.floor(further) + max(2, -(-41 * crowd // 1280))
    now, more = (1 if groups > words // 2 else spec_ribbon.Columns(words, groups).rate() for groups in (first, first + 1))
    return float(now + (more - now) * Fraction(further % 1))


def rate_of_ribbon(all_lines, n):
    total = 0.0
    for lines, of_all in (64, all_lines - all_lines % 64), (all_lines % 64, all_lines % 64):
        def rate(crowd, words=16 * lines - 2):
            return rate_of_crowd(crowd, words)

        if of_all and lines == all_lines or n * 64 > 20 ** 4 * all_lines:  # none is solved
            total += of_all * rate(n)
        elif of_all:
            total += of_all * binomial_mean(n, (all_lines - lines) / lines, rate)
    return total / all_lines


def size_of_ribbon(n, p, whole_pages):
    """m and k, or None."""
    def enough(lines):
        return rate("ribbon", n, BLOCK * lines, 0) <= min(p, 0.24) * (1 + MARGIN)

    high = MOST_CELLS // BLOCK
    if p <= n / 2 ** 64 or not enough(high):
        return None
    while high > 1 and enough(high // 2):
        high //= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return BLOCK * (-(-high // 64) * 64 if whole_pages else high), 0


def rate(layout, n, m, k):
    """The expected rate."""
    r = (rate_of_ribbon(m // BLOCK, n) if layout == "ribbon" else
         rate_of_blocks(m // BLOCK, n, k) if layout == "blocked" else rate_of_cells(m, n, k))
    return min(1.0, r + (1 - r) * (n / 2 ** 64))


def least(layout, n, p, k):
    """u(k), or None."""
    def enough(units):
        return rate(layout, n, units * unit, k) <= p * (1 + MARGIN)

    unit = BLOCK if layout == "blocked" else 1
    high = max(1, int(n * k / -math.log1p(-p ** (1 / k)) / unit))  # first guess
    high = min(high, MOST_CELLS // unit)
    while not enough(high):
        if high == MOST_CELLS // unit:
            return None
        high = min(2 * high, MOST_CELLS // unit)
    low = high
    while low > 0 and enough(low):
        low, high = low // 2, low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def rounded(u, most):
    factors = COMPOSITE + [COMPOSITE[-1] << i for i in range(1, 60)]
    multiples = (-(-u // h) * h for h in reversed(factors))
    return next(multiple for multiple in multiples if multiple - u <= u // 200 and multiple <= most)


def size(layout, n, p, k=0, whole_pages=False):
    """m and k for n and p, or None."""
    if layout == "ribbon":
        return size_of_ribbon(n, p, whole_pages)
    unit = BLOCK if layout == "blocked" else 1
    best = None
    if p <= n / 2 ** 64:
        return None
    for i in range(k or 1, (k or MOST_K) + 1):
        u = least(layout, n, p, i)
        if u is not None and (best is None or u < best[0]):
            best = u, i
        elif best is not None and i == best[1] + 3:
            break
    return best and (rounded(best[0], MOST_CELLS // unit) * unit, best[1])


def size_given(layout, n, m, k=0):
    """m and k for n and m."""
    m = -(-m // BLOCK) * BLOCK if layout in ("blocked", "ribbon") else m
    if layout == "ribbon":
        return m, 0
    best = None
    for i in range(1, MOST_K + 1 if k == 0 else 1):
        r = rate(layout, n, m, i)
        if best is None or r < best[0] * (1 - MARGIN):
            best = r, i
        elif i == best[1] + 3:
            break
    return m, k or best[1]
