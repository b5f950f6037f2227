// SPDX-License-Identifier: MIT

// Patches between filters: the code shared by making and applying, patches.md 1, 2 and 4.

package bloomfile

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

const (
	patchMagic  = "\xBFDLT\r\n\x1A\n"
	patchHead   = 27 // bytes that every version has
	ofLayer     = 1  // bits of features
	moreFollows = 2
	maxEdits    = 8192
	maxStrings  = 1 << 20
	maxRiceBits = 56
	maxNumber   = 1 << 62 // a number of a string is less
	partCells   = 32768   // changes that end a part
	partPages   = 1024    // pages that end a part of 1024 changes
)

// headerName returns the name of a header: patches.md 2.
func headerName(head []byte) uint32 {
	h := len(head)
	var b [12]byte
	copy(b[0:], head[h/2-4:h/2])
	copy(b[4:], head[3*h/4-4:3*h/4])
	copy(b[8:], head[h-4:])
	return crc32.ChecksumIEEE(b[:])
}

// reduceHeader returns a header without the parts that follow from the rest.
func reduceHeader(head []byte, bodyCRC uint32) []byte {
	b := append([]byte(nil), head...)
	h := len(b)
	put32(b, h/2-4, 0)
	for _, record := range [][]byte{b[h/2 : 3*h/4], b[3*h/4:]} {
		put32(record, 60, 0)
		put32(record, h/4-4, 0)
		put32(record, 56, u32(record, 56)^bodyCRC)
	}
	xorRecords(b)
	return b
}

// restoreHeader undoes reduceHeader in place.
func restoreHeader(b []byte, bodyCRC uint32) {
	h := len(b)
	xorRecords(b)
	crc := crc32.ChecksumIEEE(b[:h/2-4])
	put32(b, h/2-4, crc)
	for _, record := range [][]byte{b[h/2 : 3*h/4], b[3*h/4:]} {
		put32(record, 56, u32(record, 56)^bodyCRC)
		put32(record, 60, crc)
		put32(record, h/4-4, crc32.ChecksumIEEE(record[:h/4-4]))
	}
}

// xorRecords replaces record 1 by its exclusive or with record 0.
func xorRecords(b []byte) {
	h := len(b)
	for i := h / 2; i < 3*h/4; i++ {
		b[i+h/4] ^= b[i]
	}
}

// change is a kind of change: patches.md, "Changes".
type change int

const (
	raised change = iota
	lowered
	moved
)

// changesOf returns the kinds of changes of a layout.
func changesOf(layout Layout) []change {
	if layout == Counting {
		return []change{raised, lowered, moved}
	}
	return []change{raised, lowered}
}

// cells walks over the eligible cells of a range of a base's body.
type cells struct {
	body    []byte
	layout  Layout
	kind    change
	word    int    // the number of the current word of 64 bits
	left    uint64 // its eligible cells that are ahead, each by its lowest bit
	started bool
}

// eligible returns the eligible cells of a word, each by its lowest bit.
func eligible(layout Layout, kind change, x uint64) uint64 {
	const low = 0x1111111111111111
	switch {
	case layout != Counting && kind == raised:
		return ^x
	case layout != Counting:
		return x
	case kind == raised:
		return ^(x & (x >> 1) & (x >> 2) & (x >> 3)) & low
	case kind == lowered:
		return (x | x>>1 | x>>2 | x>>3) & low
	}
	return low
}

// pass passes over count eligible cells, and returns the number of the bit at which the next begins. It returns false if
// the range ends before.
func (c *cells) pass(count uint64) (bit int, ok bool) {
	if !c.started {
		c.word, c.started = -1, true
	}
	for {
		here := uint64(bits.OnesCount64(c.left))
		if count < here {
			break
		}
		count -= here
		c.word++
		if 8*c.word >= len(c.body) {
			return 0, false
		}
		c.left = eligible(c.layout, c.kind, u64(c.body, 8*c.word))
	}
	for ; count > 0; count-- {
		c.left &= c.left - 1
	}
	bit = 64*c.word + bits.TrailingZeros64(c.left)
	c.left &= c.left - 1
	return bit, true
}

// bestBits is best of patches.md 4.
func bestBits(sum, count uint64) (parameter uint) {
	for parameter < maxRiceBits && count <= (2*sum+count)>>(parameter+2) {
		parameter++
	}
	return parameter
}

// appendVar appends a number of variable size.
func appendVar(b []byte, x uint64) []byte {
	var buffer [binary.MaxVarintLen64]byte
	return append(b, buffer[:binary.PutUvarint(buffer[:], x)]...)
}

// truncation returns the parameters of truncated(count): patches.md 4.
func truncation(count uint64) (width uint, short uint64) {
	width = uint(bits.Len64(count)) - 1
	return width, 1<<(width+1) - count
}
