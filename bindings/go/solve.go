// SPDX-License-Identifier: MIT

// The solution of ribbon pages: ribbon.md 5.

package bloomfile

import (
	"errors"
	"math"
	"math/bits"
)

var errSolution = errors.New("a ribbon page does not have its keys")

// solve fills a ribbon body with sorted, distinct digests.
func (h *header) solve(body []byte, digests []uint64) error {
	lines := h.m / 512
	for p := uint64(0); 64*p < lines; p++ {
		n := 0
		for n < len(digests) {
			line, _ := bits.Mul64(digests[n], lines)
			if line/64 != p {
				break
			}
			n++
		}
		page := body[p*pageSize:]
		if err := solvePage(page[:4*h.pageWords(p)+8], digests[:n]); err != nil {
			return err
		}
		digests = digests[n:]
	}
	return nil
}

// solvePage fills a page of zeros.
func solvePage(page []byte, digests []uint64) error {
	words := uint64(len(page)-8) / 4
	keys := uint64(len(digests))
	if keys > math.MaxUint32 {
		keys = math.MaxUint32
	}
	put64(page, 0, keys<<32)
	for groups := firstGroups(uint64(len(digests))); groups <= words/2; groups++ {
		for seed := uint64(0); seed < 16; seed++ {
			b := newBand(groups)
			if !b.insertAll(digests, seed) {
				continue
			}
			put64(page, 0, groups|seed<<16|keys<<32)
			b.write(page[8:], shapeOf(words, groups))
			return checkPage(page, words, digests)
		}
	}
	return nil
}

// checkPage looks up all keys, because a wrong solution cannot be detected later.
func checkPage(page []byte, words uint64, digests []uint64) error {
	for _, digest := range digests {
		if !solvedMaybe(page, words, digest) {
			return errSolution
		}
	}
	return nil
}

// band has the rows in echelon form. A row of 64 coefficients is stored at its leading slot, which is bit 0.
type band struct {
	rows   []uint64
	rights []uint32
}

func newBand(groups uint64) *band {
	return &band{make([]uint64, 32*groups), make([]uint32, 32*groups)}
}

// insertAll returns false if the rows are dependent.
func (b *band) insertAll(digests []uint64, seed uint64) bool {
	groups := uint64(len(b.rows) / 32)
	for _, digest := range digests {
		hash, group, coefficients := equation(digest, seed, groups)
		if !b.insert(32*group, coefficients, uint32(hash)) {
			return false
		}
	}
	return true
}

func (b *band) insert(slot, row uint64, right uint32) bool {
	for row != 0 {
		zeros := bits.TrailingZeros64(row)
		slot += uint64(zeros)
		row >>= zeros
		if b.rows[slot] == 0 {
			b.rows[slot], b.rights[slot] = row, right
			return true
		}
		row ^= b.rows[slot]
		right ^= b.rights[slot]
	}
	return false
}

// write computes the solution from the last slot to the first, with free slots 0, and writes each group when it is
// complete.
func (b *band) write(words []byte, s shape) {
	var windows [33]uint64 // for each column, the bits of the solution from the current slot on
	columns, _ := s.columns(s.groups - 1)
	for slot := uint64(len(b.rows)); slot > 0; {
		slot--
		row, right := b.rows[slot], b.rights[slot]
		for col := range windows[:columns] {
			window := windows[col] << 1
			if row != 0 {
				window |= uint64(bits.OnesCount64(window&row))&1 ^ uint64(right>>col&1)
			}
			windows[col] = window
		}
		if slot%32 == 0 {
			count, first := s.columns(slot / 32)
			for col := uint64(0); col < count; col++ {
				put32(words, int(4*(first+col)), uint32(windows[col]))
			}
		}
	}
}
