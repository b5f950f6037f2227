// SPDX-License-Identifier: MIT

// Params: the shape of a new filter.

package bloomfile

import (
	"fmt"
	"math"
)

// Params describes a new filter. The zero value is a blocked filter of 1% false positives, sized for its keys.
type Params struct {
	Layout    Layout  // 0: Blocked
	Capacity  uint64  // the number of keys to size for; 0: as many as are added
	Rate      float64 // the false-positive rate at Capacity; 0: 0.01
	Bits      uint64  // m; 0: as many as Rate needs
	K         int     // positions of a key, 1 to 64; 0: the best
	Seed      uint64  // of the hash; make it random if strangers may choose the keys
	KeyKind   KeyKind // recorded in the header, and checked by each lookup
	Embedded  bool    // a header of 512 bytes, for filters inside another file; otherwise 4096
	Label     string  // for people: at most 112 bytes
	Tag       [16]byte
	Watermark [32]byte

	// Builders only: make slice number Slice, from 1 to Slices, of a blocked filter for Capacity keys. Every slice may be
	// given all keys: it keeps those of its range.
	Slice, Slices int

	// OverCapacity makes Finish accept any number of keys. Without it, Finish returns ErrFull if the expected rate is over
	// twice the target: Rate, or if that is 0 the rate at Capacity. If only Bits is set, it returns ErrFull over 50%. A
	// BloomFilter always accepts more keys.
	OverCapacity bool
}

func (p Params) check() error {
	size := p.KeyKind >> 8
	ok := p.Layout <= Ribbon && p.Capacity <= maxBits && p.Rate >= 0 && p.Rate < 1 && p.Bits <= maxBits &&
		p.K >= 0 && p.K <= maxK && (p.Layout != Ribbon || p.K == 0) &&
		!p.KeyKind.newer() && size < 1<<24 && len(p.Label) <= 112 && cleanLabel([]byte(p.Label))
	if p.Slice != 0 || p.Slices != 0 {
		ok = ok && p.Slice >= 1 && p.Slice <= p.Slices && p.Slices <= 65536 && !p.Embedded && p.Capacity != 0 &&
			(p.Layout == Blocked || p.Layout == 0)
	}
	if !ok {
		return fmt.Errorf("bloomfile: %w", ErrParams)
	}
	return nil
}

// plan returns the header of a filter of n keys.
func (p Params) plan(n uint64) (*header, error) {
	h := &header{
		size: fileHeader, layout: p.Layout, hashID: xxh3ID, seed: p.Seed, selfTest: selfTest(p.Seed), tag: p.Tag,
		capacity: p.Capacity, fpr: math.Float64bits(p.Rate), m: p.Bits, k: uint32(p.K), keyKind: uint32(p.KeyKind),
	}
	if h.layout == 0 {
		h.layout = Blocked
	}
	if p.Embedded {
		h.size = embeddedHeader
	}
	if p.KeyKind != UnknownKeys {
		h.compat = compatKeyKind
	}
	copy(h.label[:], p.Label)
	if h.capacity == 0 {
		h.capacity = n
	}
	if h.capacity == 0 {
		h.capacity = 1
	}
	if err := h.choose(p.Rate); err != nil {
		return nil, err
	}
	h.unfolded = h.m
	if p.Slices != 0 {
		return h, h.cut(uint64(p.Slice-1), uint64(p.Slices))
	}
	return h, nil
}

// choose sets m and k where they are 0: sizes.md.
func (h *header) choose(rate float64) (err error) {
	if h.inBlocks() {
		h.m = roundUp(h.m, 512)
	}
	if h.m != 0 {
		if h.k == 0 && h.layout != Ribbon {
			h.k = uint32(bestK(h.layout, h.capacity, h.m))
		}
		return nil
	}
	if rate == 0 {
		rate = defaultRate
	}
	h.fpr = math.Float64bits(rate)
	if h.layout == Ribbon {
		lines, err := ribbonLines(h.capacity, rate)
		if h.size == fileHeader {
			lines = roundUp(lines, 64)
		}
		h.m = 512 * lines
		return err
	}
	m, k, err := sizeFor(h.layout, h.capacity, rate, int(h.k))
	h.m, h.k = m, uint32(k)
	return err
}

// cut turns the header into that of a slice, counted from 0: slices.md 1.3.
func (h *header) cut(slice, slices uint64) error {
	h.wholeBlocks = h.m / 512
	pages := (h.wholeBlocks + 63) / 64
	if slices > pages {
		return fmt.Errorf("%d slices of %d pages: %w", slices, pages, ErrParams)
	}
	h.firstBlock = cutPage(pages, slice, slices) * 64
	end := cutPage(pages, slice+1, slices) * 64
	if end > h.wholeBlocks {
		end = h.wholeBlocks
	}
	h.m = 512 * (end - h.firstBlock)
	h.unfolded, h.incompat = h.m, isSlice
	return nil
}

// cutPage returns the first page of a slice. pages is below 2^45 and slice at most 2^16.
func cutPage(pages, slice, slices uint64) uint64 { return pages * slice / slices }
