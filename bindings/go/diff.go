// SPDX-License-Identifier: MIT

// Making patches: patches.md 5.

package bloomfile

import (
	"fmt"
	"hash/crc32"
	"math/bits"
)

// Diff makes a patch that turns the filter old into the filter new: Apply. Both must have the same layout, size, K, seed
// and form. Build them with the same Bits and K.
func Diff(old, new *Filter) ([]byte, error) {
	patch, err := diffAll(old, new)
	if err != nil {
		return nil, fmt.Errorf("bloomfile: cannot make a patch: %w", err)
	}
	return patch, nil
}

func diffAll(old, new *Filter) (patch []byte, err error) {
	from, err := old.headers()
	if err != nil {
		return nil, err
	}
	to, err := new.headers()
	if err != nil {
		return nil, err
	}
	if err := comparePatched(from, to); err != nil {
		return nil, err
	}
	if from, err = old.verified(); err != nil {
		return nil, err
	}
	if to, err = new.verified(); err != nil {
		return nil, err
	}
	for i := range from {
		patch = appendPatch(patch, from[i], to[i])
	}
	return patch, nil
}

// comparePatched returns the first error of those that patches.md 5 lists.
func comparePatched(from, to []*layer) error {
	for i := 0; i < len(from) && i < len(to); i++ {
		if err := compareShapes([]*layer{from[i], to[i]}); err != nil && err != ErrKeyKind && err != ErrFeature {
			return err
		}
	}
	if from[0].layout == Ribbon {
		return ErrIsRibbon
	}
	if len(from) != len(to) || from[0].incompat != to[0].incompat {
		return ErrDiffBits
	}
	for i, a := range from {
		if b := to[i]; a.m != b.m || a.firstBlock != b.firstBlock || a.wholeBlocks != b.wholeBlocks {
			return ErrDiffBits
		}
	}
	if from[0].size != to[0].size {
		return ErrDiffForm
	}
	return nil
}

func appendPatch(patch []byte, base, result *layer) []byte {
	start := len(patch)
	var features byte
	if base.incompat == isLayer {
		features = ofLayer
		if !base.lastLayer() {
			features |= moreFollows
		}
	}
	patch = append(patch, patchMagic...)
	patch = append(patch, 1, features, byte(base.layout))
	for _, x := range []uint32{headerName(base.head), base.bodyCRC, headerName(result.head), result.bodyCRC} {
		patch = append32(patch, x)
	}
	edits := makeEdits(reduceHeader(base.head, base.bodyCRC), reduceHeader(result.head, result.bodyCRC))
	patch = appendVar(patch, base.bodySize)
	patch = appendVar(patch, uint64(len(edits)))
	patch = append(patch, edits...)
	patch = append32(patch, crc32.ChecksumIEEE(patch[start:]))
	return appendParts(patch, base, result)
}

func append32(b []byte, x uint32) []byte {
	return append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
}

// makeEdits makes as few edits as fewer than 3 equal bytes inside an edit permit.
func makeEdits(base, result []byte) (edits []byte) {
	end := 0
	for i := 0; i < len(base); i++ {
		if base[i] == result[i] {
			continue
		}
		start, last := i, i
		for ; i < len(base) && i-last <= 3; i++ {
			if base[i] != result[i] {
				last = i
			}
		}
		edits = appendVar(edits, uint64(start-end))
		edits = appendVar(edits, uint64(last+1-start))
		edits = append(edits, result[start:last+1]...)
		end = last + 1
		i = last
	}
	return edits
}

// changedCells returns the changed cells of a word, each by its lowest bit.
func changedCells(layout Layout, x uint64) uint64 {
	if layout == Counting {
		return (x | x>>1 | x>>2 | x>>3) & 0x1111111111111111
	}
	return x
}

// changesIn returns how many cells of page p change.
func changesIn(base, result *layer, p uint64) (count uint64) {
	a, b := base.page(p), result.page(p)
	for i := 0; i < len(a); i += 8 {
		count += uint64(bits.OnesCount64(changedCells(base.layout, u64(a, i)^u64(b, i))))
	}
	return count
}

// appendParts divides the body as patches.md 5, "The same bytes", does.
func appendParts(patch []byte, base, result *layer) []byte {
	pages, behind := base.pages(), uint64(0)
	for p := uint64(0); p < pages; p++ {
		changes := changesIn(base, result, p)
		if changes == 0 {
			continue
		}
		end := p + 1
		for q := end; q < pages && changes < partCells && (q-p < partPages || changes < 1024); q++ {
			if more := changesIn(base, result, q); more != 0 || q+1-p >= partPages && changes >= 1024 {
				changes += more
				end = q + 1
			}
		}
		patch = appendPart(patch, base, result, p-behind, p, end)
		behind, p = end, end-1
	}
	return appendVar(patch, pages-behind)
}

func appendPart(patch []byte, base, result *layer, skip, first, end uint64) []byte {
	start := len(patch)
	patch = appendVar(patch, skip)
	patch = appendVar(patch, end-first)
	from, to := first*pageSize, end*pageSize
	if to > base.bodySize {
		to = base.bodySize
	}
	var strings []byte
	for _, kind := range changesOf(base.layout) {
		c := collector{layout: base.layout, kind: kind, base: base.body[from:to], result: result.body[from:to]}
		if base.layout == Blocked {
			c.blocks()
		} else {
			c.scattered()
		}
		patch = c.appendParameters(patch)
		strings = append(strings, c.out.b...)
	}
	patch = append(patch, strings...)
	return append32(patch, crc32.ChecksumIEEE(patch[start:]))
}

// collector builds the string of a part's changes of one kind.
type collector struct {
	layout             Layout
	kind               change
	base, result       []byte
	units, typical     uint64
	gapBits, countBits uint
	out                bitWriter
}

func (c *collector) appendParameters(patch []byte) []byte {
	patch = appendVar(patch, c.units)
	if c.units == 0 {
		return patch
	}
	patch = append(patch, byte(c.gapBits))
	if c.layout == Blocked {
		patch = appendVar(patch, c.typical)
		patch = append(patch, byte(c.countBits))
	}
	return appendVar(patch, uint64(len(c.out.b)))
}

// changed returns the cells of a word that change in this way, each by its lowest bit.
func (c *collector) changed(i int) (cells uint64) {
	a, b := u64(c.base, i), u64(c.result, i)
	all := changedCells(c.layout, a^b)
	if c.layout != Counting {
		return all & eligible(c.layout, c.kind, a)
	}
	for left := all; left != 0; left &= left - 1 {
		shift := bits.TrailingZeros64(left)
		if distance := int(b>>shift&15) - int(a>>shift&15); kindOf(distance) == c.kind {
			cells |= 1 << shift
		}
	}
	return cells
}

func kindOf(distance int) change {
	switch distance {
	case 1:
		return raised
	case -1:
		return lowered
	}
	return moved
}

// walk calls visit with the number of eligible cells before each change of the bytes from start to end.
func (c *collector) walk(start, end int, visit func(gap uint64, bit int)) {
	gap := uint64(0)
	for i := start; i < end; i += 8 {
		can, done := eligible(c.layout, c.kind, u64(c.base, i)), c.changed(i)
		for ; done != 0; done &= done - 1 {
			lowest := done & -done
			visit(gap+uint64(bits.OnesCount64(can&(lowest-1))), 8*i+bits.TrailingZeros64(done))
			can &^= lowest | (lowest - 1)
			gap = 0
		}
		gap += uint64(bits.OnesCount64(can))
	}
}

func (c *collector) scattered() {
	var gaps, codes []uint64
	sum := uint64(0)
	c.walk(0, len(c.base), func(gap uint64, bit int) {
		gaps = append(gaps, gap)
		sum += gap
		if c.kind == moved {
			codes = append(codes, c.code(bit))
		}
	})
	c.units = uint64(len(gaps))
	if c.units == 0 {
		return
	}
	c.gapBits = bestBits(sum, c.units)
	for i, gap := range gaps {
		c.out.rice(c.gapBits, gap)
		if c.kind == moved {
			c.out.rice(0, codes[i])
		}
	}
	c.out.end()
}

// code returns how a moved counter is written.
func (c *collector) code(bit int) uint64 {
	distance := int(c.result[bit/8]>>(bit%8)&15) - int(c.base[bit/8]>>(bit%8)&15)
	if distance < 0 {
		return uint64(2*(-distance-2) + 1)
	}
	return uint64(2 * (distance - 2))
}

// blockChanges are the changes of a block.
type blockChanges struct {
	gap  uint64 // blocks passed over
	gaps []uint64
	left uint64 // eligible cells
}

func (c *collector) blocks() {
	list, gapSum, changes := c.changedBlocks()
	c.units = uint64(len(list))
	if c.units == 0 {
		return
	}
	c.gapBits = bestBits(gapSum, c.units)
	c.typical = (2*changes + c.units) / (2 * c.units)
	codeSum := uint64(0)
	for _, b := range list {
		codeSum += c.countCode(b)
	}
	c.countBits = bestBits(codeSum, c.units)
	for _, b := range list {
		c.out.rice(c.gapBits, b.gap)
		c.out.rice(c.countBits, c.countCode(b))
		left := b.left
		for i, gap := range b.gaps {
			c.out.gap(left, uint64(len(b.gaps)-i), gap)
			left -= gap + 1
		}
	}
	c.out.end()
}

func (c *collector) countCode(b blockChanges) uint64 {
	if n := uint64(len(b.gaps)); n > c.typical {
		return 2*(n-c.typical) - 1
	} else {
		return 2 * (c.typical - n)
	}
}

func (c *collector) changedBlocks() (list []blockChanges, gapSum, changes uint64) {
	gap := uint64(0)
	for at := 0; at < len(c.base); at += 64 {
		b := blockChanges{gap: gap}
		c.walk(at, at+64, func(gap uint64, _ int) { b.gaps = append(b.gaps, gap) })
		if len(b.gaps) == 0 {
			gap++
			continue
		}
		for i := at; i < at+64; i += 8 {
			b.left += uint64(bits.OnesCount64(eligible(c.layout, c.kind, u64(c.base, i))))
		}
		list = append(list, b)
		gapSum += gap
		changes += uint64(len(b.gaps))
		gap = 0
	}
	return list, gapSum, changes
}

// bitWriter makes a string of bits.
type bitWriter struct {
	b    []byte
	word uint64
	used uint
}

func (w *bitWriter) bits(x uint64, count uint) {
	for i := uint(0); i < count; i++ {
		w.word |= x >> i & 1 << w.used
		if w.used++; w.used == 8 {
			w.end()
		}
	}
}

func (w *bitWriter) rice(parameter uint, x uint64) {
	for zeros := x >> parameter; zeros > 0; zeros-- {
		w.bits(0, 1)
	}
	w.bits(1, 1)
	w.bits(x, parameter)
}

// gap writes the gap before the next of more changes among left cells.
func (w *bitWriter) gap(left, more, gap uint64) {
	if more > 1 {
		w.rice(bestBits(left-more, more+1), gap)
		return
	}
	width, short := truncation(left)
	if gap < short {
		w.bits(gap, width)
		return
	}
	w.bits((gap+short)/2, width)
	w.bits((gap+short)%2, 1)
}

// end completes the last byte.
func (w *bitWriter) end() {
	if w.used > 0 {
		w.b = append(w.b, byte(w.word))
		w.word, w.used = 0, 0
	}
}
