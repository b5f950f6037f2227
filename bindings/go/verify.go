// SPDX-License-Identifier: MIT

// Verification of a whole body: section 12.4 of format-spec.md.

package bloomfile

import (
	"context"
	"hash/crc32"
	"math/bits"
)

// Verify checks the whole body. It returns nil, ErrPage (as a *PageError), ErrBody, ErrChanged, or the error of ctx.
// Lookups return "maybe" for damaged pages from then on. It also checks the file, as Err does.
func (f *Filter) Verify(ctx context.Context) error {
	c, err := f.open()
	if err != nil {
		return err
	}
	if err := c.look(); err != nil {
		return err
	}
	err = c.guard(func() error { return c.verify(ctx) })
	if err == ErrChanged || err == ErrBody {
		c.fail(err)
	}
	if now := c.look(); now != nil {
		return now
	}
	return err
}

// verify continues after a damaged layer, and returns the first error.
func (c *contents) verify(ctx context.Context) (first error) {
	for i, l := range c.layers {
		err := l.verify(ctx, i)
		switch { // findings count even if the context ends now
		case err == ErrChanged:
			return err
		case err == ErrBody:
			c.fail(err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if first == nil {
			first = err
		}
	}
	if first == nil && c.file != nil && c.cut() {
		return ErrChanged
	}
	return first
}

// tally has the counts of a verification. It reads a copy of each page.
type tally struct {
	crc            uint32
	ones, overflow uint64
	beyond         bool // a bit beyond m is set
	badHead        bool
	keys, carry    uint64 // of the ribbon heads
	uncounted      bool   // a head has 2^32 - 1 keys, or more
}

func (l *layer) verify(ctx context.Context, number int) error {
	var t tally
	buffer := make([]byte, pageSize)
	damaged := uint64(noPage)
	for p := uint64(0); p < l.pages(); p++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		page := buffer[:copy(buffer, l.page(p))]
		if right := crc32.ChecksumIEEE(page) == l.entry(p); !right && l.good.has(p) {
			return ErrChanged // an answer may have relied on it
		} else if right && !l.bad.has(p) {
			l.good.add(p)
			t.add(l, p, page)
		} else {
			l.reject(p)
			if damaged == noPage {
				damaged = p
			}
		}
	}
	if damaged != noPage {
		return &PageError{number, damaged}
	}
	if !t.agrees(l) {
		return ErrBody
	}
	return nil
}

// agrees compares with the record: steps 2 to 6.
func (t *tally) agrees(l *layer) bool {
	if t.crc != l.bodyCRC || t.ones != l.ones || t.overflow != l.overflow || t.beyond || t.badHead {
		return false
	}
	return l.layout != Ribbon || t.carry == 0 && (t.keys == l.n || t.uncounted && t.keys < l.n)
}

func (t *tally) add(l *layer, p uint64, page []byte) {
	t.crc = crc32.Update(t.crc, crc32.IEEETable, page)
	ones, overflow := countCells(l.layout, page)
	t.ones += ones
	t.overflow += overflow
	if used, start := l.usedBody(), p*pageSize; start+uint64(len(page)) >= used {
		t.beyond = t.beyond || !cleanEnd(&l.header, page, start)
	}
	if l.layout == Ribbon {
		t.addHead(u64(page, 0), l.pageWords(p))
	}
}

func (t *tally) addHead(head, words uint64) {
	var carry uint64
	t.badHead = t.badHead || !validHead(head, words)
	t.uncounted = t.uncounted || head>>32 == 1<<32-1
	t.keys, carry = bits.Add64(t.keys, head>>32, 0)
	t.carry |= carry
}

// cleanEnd reports whether the bits beyond m are zero. page begins at byte start of the body.
func cleanEnd(h *header, page []byte, start uint64) bool {
	cells := uint64(8) // in a byte
	if h.layout == Counting {
		cells = 2
	}
	whole := h.m / cells // bytes that m fills
	if rest := h.m % cells; rest != 0 && whole >= start && whole-start < uint64(len(page)) {
		if page[whole-start]>>(rest*8/cells) != 0 {
			return false
		}
		whole++
	}
	if whole < start {
		whole = start
	}
	return whole-start >= uint64(len(page)) || zero(page[whole-start:])
}

// countCells returns the number of one bits, or of counters above 0 and of counters of 15.
func countCells(layout Layout, b []byte) (ones, overflow uint64) {
	if layout != Counting {
		for ; len(b) >= 8; b = b[8:] {
			ones += uint64(bits.OnesCount64(u64(b, 0)))
		}
		return ones, 0
	}
	const low = 0x1111111111111111
	for ; len(b) >= 8; b = b[8:] {
		x := u64(b, 0)
		ones += uint64(bits.OnesCount64((x | x>>1 | x>>2 | x>>3) & low))
		overflow += uint64(bits.OnesCount64(x & (x >> 1) & (x >> 2) & (x >> 3) & low))
	}
	return ones, overflow
}
