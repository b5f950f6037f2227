// SPDX-License-Identifier: MIT

// The layout ribbon: ribbon.md 1 to 4 and 6.

package bloomfile

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	ribbonC2 = 0xD1B54A32D192ED03
	ribbonC3 = 0x8CB92BA72F3D8DD7
)

func mix(left, right uint64) uint64 {
	high, low := bits.Mul64(left, right)
	return high ^ low
}

// equation returns the hash, group and coefficients of a digest in a page.
func equation(digest, pageSeed, groups uint64) (hash, group, coefficients uint64) {
	hash = (mix(digest^ribbonC2, goldenC) ^ pageSeed*goldenC) * ribbonC2
	return hash, (hash >> 32) * (groups - 1) >> 32, mix(hash^ribbonC3, goldenC)
}

// shape has the columns of the groups of a page.
type shape struct{ groups, low, few uint64 }

func shapeOf(words, groups uint64) shape {
	s := shape{groups, uint64(uint32(words) / uint32(groups)), groups} // a short division is faster
	if s.low >= 32 {
		s.low = 32
	} else {
		s.few = groups*(s.low+1) - words
	}
	return s
}

// columns returns the number of columns of a group and the word at which they begin.
func (s shape) columns(group uint64) (columns, first uint64) {
	if group < s.few {
		return s.low, group * s.low
	}
	return s.low + 1, group*s.low + group - s.few
}

// pageWords returns the number of words of ribbon page p.
func (h *header) pageWords(p uint64) uint64 {
	lines := h.m/512 - 64*p
	if lines > 64 {
		lines = 64
	}
	return 16*lines - 2
}

// solvedGroups returns the groups of a head, or 0 if its page answers "maybe" to all.
func solvedGroups(head, words uint64) uint64 {
	groups := head & 0xFFFF
	if groups < 2 || groups > words/2 || head>>23&511 != 0 {
		return 0
	}
	return groups
}

// validHead checks the rules of ribbon.md 2.
func validHead(head, words uint64) bool {
	groups := head & 0xFFFF
	return head>>23&511 == 0 && groups != 1 && groups <= words/2
}

func (l *layer) testRibbon(digest uint64) bool {
	line, _ := bits.Mul64(digest, l.blocks)
	p := line / 64
	words := l.pageWords(p)
	return solvedMaybe(l.page(p), words, digest) || !l.trusted(p) || solvedMaybe(l.page(p), words, digest)
}

// solvedMaybe looks the digest up in a page, whatever its checksum.
func solvedMaybe(page []byte, words, digest uint64) bool {
	head := u64(page, 0)
	groups := solvedGroups(head, words)
	if groups == 0 {
		return true
	}
	hash, group, coefficients := equation(digest, head>>16&127, groups)
	columns, first := shapeOf(words, groups).columns(group)
	left := page[8+4*first:]
	right := left[4*columns : 8*columns]
	left = left[:len(right)]
	// A branch for each column would be mispredicted.
	for ; len(left) >= 16; left, right = left[16:], right[16:] {
		wrong := (parity(left, right, coefficients) ^ hash) | (parity(left[4:], right[4:], coefficients) ^ hash>>1) |
			(parity(left[8:], right[8:], coefficients) ^ hash>>2) | (parity(left[12:], right[12:], coefficients) ^ hash>>3)
		if wrong&1 != 0 {
			return false
		}
		hash >>= 4
	}
	wrong := uint64(0)
	for ; len(left) >= 4; left, right = left[4:], right[4:] {
		wrong |= parity(left, right, coefficients) ^ hash
		hash >>= 1
	}
	return wrong&1 == 0
}

// parity returns the parity of a column, and higher bits.
func parity(left, right []byte, coefficients uint64) uint64 {
	pair := uint64(binary.LittleEndian.Uint32(left)) | uint64(binary.LittleEndian.Uint32(right))<<32
	return uint64(bits.OnesCount64(pair & coefficients))
}

// pageRate returns the rate of a page: ribbon.md 6.
func pageRate(words, groups uint64) float64 {
	if groups == 0 {
		return 1
	}
	s := shapeOf(words, groups)
	few := s.few
	if few > groups-1 {
		few = groups - 1
	}
	low := math.Ldexp(1, -int(s.low))
	return (float64(few)*low + float64(groups-1-few)*low/2) / float64(groups-1)
}
