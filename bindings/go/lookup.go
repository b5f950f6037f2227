// SPDX-License-Identifier: MIT

// Lookups of a digest in one image, by layout. Sections 10, 11 and 14 of format-spec.md.

package bloomfile

import "math/bits"

const goldenC = 0x9E3779B97F4A7C15 // C of section 10

// test returns false if the digest is certainly absent.
func (l *layer) test(digest uint64) bool {
	switch l.layout {
	case Blocked:
		return l.testBlocked(digest)
	case Classic:
		return l.testClassic(digest)
	case Counting:
		return l.testCounting(digest)
	}
	return l.testRibbon(digest)
}

// testBlocked reads six bits before it branches: they are on one cache line, and a branch for each would be mispredicted.
// It is one function, because the calls of a lookup take as long as its work.
func (l *layer) testBlocked(digest uint64) bool {
	block, _ := bits.Mul64(digest, l.blocks)
	block -= l.first
	if block >= l.count {
		return true // a block of another slice
	}
	line := (*[64]byte)(l.body[block*64:])
	k := l.positions
	for g := digest * goldenC; ; g *= goldenC {
		if k < 6 {
			if inBlock(line, g, k) {
				return true
			}
			break
		}
		if line[g>>58]>>(g>>55&7)&(line[g>>49&63]>>(g>>46&7))&(line[g>>40&63]>>(g>>37&7))&
			(line[g>>31&63]>>(g>>28&7))&(line[g>>22&63]>>(g>>19&7))&(line[g>>13&63]>>(g>>10&7))&1 == 0 {
			break
		}
		if k -= 6; k == 0 {
			return true
		}
	}
	if page := block / 64; !l.good.has(page) {
		// The bytes may have changed before the check, so look again.
		return !l.sound(page) || l.testBlocked(digest)
	}
	return false
}

// inBlock reports whether the first k bits of a product are set, at most six.
func inBlock(line *[64]byte, g uint64, k uint32) bool {
	all := byte(1)
	for ; k > 0; k-- {
		all &= line[g>>58] >> (g >> 55 & 7)
		g <<= 9
	}
	return all != 0
}

// testClassic reads four bits before it branches, so that their cache misses overlap.
func (l *layer) testClassic(g uint64) bool {
	k := l.positions
	for ; k >= 4; k -= 4 {
		h := g
		a, _ := bits.Mul64(h, l.m)
		h *= goldenC
		b, _ := bits.Mul64(h, l.m)
		h *= goldenC
		c, _ := bits.Mul64(h, l.m)
		h *= goldenC
		d, _ := bits.Mul64(h, l.m)
		if l.body[a/8]>>(a%8)&(l.body[b/8]>>(b%8))&(l.body[c/8]>>(c%8))&(l.body[d/8]>>(d%8))&1 == 0 {
			if l.good.hasBit(a)&l.good.hasBit(b)&l.good.hasBit(c)&l.good.hasBit(d)&1 != 0 || !l.eachClassic(g, 4) {
				return false
			}
		}
		g = h * goldenC
	}
	return l.eachClassic(g, k)
}

// eachClassic checks each page before it relies on a zero.
func (l *layer) eachClassic(g uint64, k uint32) bool {
	for ; k > 0; k-- {
		x, _ := bits.Mul64(g, l.m)
		if l.body[x/8]>>(x%8)&1 == 0 && l.trusted(x/8/pageSize) && l.body[x/8]>>(x%8)&1 == 0 {
			return false
		}
		g *= goldenC
	}
	return true
}

func (l *layer) testCounting(g uint64) bool {
	for k := l.positions; k > 0; k-- {
		x, _ := bits.Mul64(g, l.m)
		shift := x % 2 * 4
		if l.body[x/2]>>shift&15 == 0 && l.trusted(x/2/pageSize) && l.body[x/2]>>shift&15 == 0 {
			return false
		}
		g *= goldenC
	}
	return true
}

// trusted reports whether zero bits of the page are valid. The caller must read the bit again
// afterwards.
func (l *layer) trusted(page uint64) bool { return l.good.has(page) || l.sound(page) }
