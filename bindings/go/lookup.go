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

func (l *layer) testBlocked(digest uint64) bool {
	block, _ := bits.Mul64(digest, l.blocks)
	block -= l.first
	if block >= l.count {
		return true // a block of another slice
	}
	line := (*[64]byte)(l.body[block*64:])
	if inBlock(line, digest, l.k) {
		return true
	}
	if page := block / 64; !l.good.has(page) {
		// The bytes may have changed before the check, so look again.
		return !l.sound(page) || inBlock(line, digest, l.k)
	}
	return false
}

// inBlock reports whether all bits of the digest are set. It reads six bits before it branches: they are on one
// cache line, and a branch for each would be mispredicted.
func inBlock(line *[64]byte, g uint64, k uint32) bool {
	for ; k >= 6; k -= 6 {
		g *= goldenC
		a, b, c, d, e, f := g>>55, g>>46&511, g>>37&511, g>>28&511, g>>19&511, g>>10&511
		if line[a/8]>>(a%8)&(line[b/8]>>(b%8))&(line[c/8]>>(c%8))&
			(line[d/8]>>(d%8))&(line[e/8]>>(e%8))&(line[f/8]>>(f%8))&1 == 0 {
			return false
		}
	}
	g *= goldenC
	all := byte(1)
	for ; k > 0; k-- {
		all &= line[g>>58] >> (g >> 55 & 7)
		g <<= 9
	}
	return all != 0
}

func (l *layer) testClassic(g uint64) bool {
	for i := l.k; i > 0; i-- {
		x, _ := bits.Mul64(g, l.m)
		if l.body[x/8]>>(x%8)&1 == 0 && l.trusted(x/8/pageSize) && l.body[x/8]>>(x%8)&1 == 0 {
			return false
		}
		g *= goldenC
	}
	return true
}

func (l *layer) testCounting(g uint64) bool {
	for i := l.k; i > 0; i-- {
		x, _ := bits.Mul64(g, l.m)
		shift := x % 2 * 4
		if l.body[x/2]>>shift&15 == 0 && l.trusted(x/2/pageSize) && l.body[x/2]>>shift&15 == 0 {
			return false
		}
		g *= goldenC
	}
	return true
}

// trusted reports whether a zero of the page counts. The caller looks at the zero again.
func (l *layer) trusted(page uint64) bool { return l.good.has(page) || l.sound(page) }
