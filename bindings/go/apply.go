// SPDX-License-Identifier: MIT

// Applying patches: patches.md 5.

package bloomfile

import (
	"context"
	"fmt"
	"hash/crc32"
)

// Apply makes the filter that a patch leads to, in memory. The base must be the filter that the patch was made from.
func Apply(base *Filter, patch []byte) (*Filter, error) {
	image, err := applyAll(base, patch)
	if err != nil {
		return nil, fmt.Errorf("bloomfile: cannot apply the patch: %w", err)
	}
	return ownFilter(image, base)
}

func applyAll(base *Filter, patch []byte) ([]byte, error) {
	b, err := base.stable()
	if err != nil {
		return nil, err
	}
	layers, err := parseLayers(b, true)
	if err != nil {
		return nil, err
	}
	if layers[0].layout == Ribbon {
		return nil, ErrIsRibbon
	}
	image, err := allocate(uint64(len(b)))
	if err != nil {
		return nil, err
	}
	r := &patchReader{left: patch}
	for at, i := uint64(0), 0; i < len(layers); i++ {
		size := layers[i].imageSize()
		if err := r.apply(layers[i], i, image[at:at+size]); err != nil {
			return nil, err
		}
		at = roundUp(at+size, pageSize)
	}
	return image, nil
}

// patchReader reads consecutive patches.
type patchReader struct {
	left []byte
	last *result // of the layer before
}

// result is the header of the result of a patch.
type result struct {
	head   []byte
	header *header
	record *record
}

// take returns the next n bytes.
func (r *patchReader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.left)) {
		return nil, ErrTruncated
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b, nil
}

// number reads a number of variable size.
func (r *patchReader) number() (x uint64, err error) {
	for i := 0; ; i++ {
		b, err := r.take(1)
		if err != nil {
			return 0, err
		}
		if i == 9 && b[0] > 1 || i > 0 && b[0] == 0 {
			return 0, ErrPatch
		}
		x |= uint64(b[0]&127) << (7 * i)
		if b[0] < 128 {
			return x, nil
		}
	}
}

// patchStart is the head of a patch.
type patchStart struct {
	features                                       byte
	layout                                         Layout
	baseHeader, baseBody, resultHeader, resultBody uint32
	bodySize                                       uint64
	edits                                          []byte
}

// start reads the head, and checks P1 to P5.
func (r *patchReader) start() (*patchStart, error) {
	all := r.left
	if b, err := r.take(8); err != nil {
		return nil, err
	} else if string(b) != patchMagic {
		return nil, ErrPatch
	}
	if _, err := r.take(patchHead - 8); err != nil {
		return nil, err
	}
	s := &patchStart{
		features: all[9], layout: Layout(all[10]),
		baseHeader: u32(all, 11), baseBody: u32(all, 15), resultHeader: u32(all, 19), resultBody: u32(all, 23),
	}
	switch {
	case all[8] != 1:
		return nil, ErrVersion
	case s.features&^(ofLayer|moreFollows) != 0:
		return nil, ErrFeature
	case s.layout < Blocked || s.layout > Counting:
		return nil, ErrLayout
	case s.features == moreFollows:
		return nil, ErrPatch
	}
	return s, r.edits(s, all)
}

func (r *patchReader) edits(s *patchStart, all []byte) (err error) {
	if s.bodySize, err = r.number(); err != nil {
		return err
	}
	size, err := r.number()
	if err != nil {
		return err
	}
	if s.bodySize == 0 || s.bodySize%64 != 0 || size > maxEdits {
		return ErrPatch
	}
	if s.edits, err = r.take(size); err != nil {
		return err
	}
	return r.checksum(all)
}

// checksum reads the CRC-32 of the bytes since start.
func (r *patchReader) checksum(start []byte) error {
	sum := crc32.ChecksumIEEE(start[:len(start)-len(r.left)])
	b, err := r.take(4)
	if err == nil && u32(b, 0) != sum {
		err = ErrPatch
	}
	return err
}

// apply applies the next patch to a layer of the base.
func (r *patchReader) apply(base *layer, number int, image []byte) error {
	s, err := r.start()
	if err != nil {
		return err
	}
	switch {
	case !s.fits(base):
		return ErrDiffBase
	case s.layout != base.layout || s.bodySize != base.bodySize:
		return ErrPatch
	}
	made, err := s.result(base)
	if err != nil || !made.follows(base, r.last) {
		return ErrPatch
	}
	r.last = made
	if err := base.verify(context.Background(), number); err != nil {
		return err
	}
	copy(image, made.head)
	body := made.header.bodyOf(image)
	copy(body, base.body)
	if err := r.parts(base, body); err != nil {
		return err
	}
	if s.features&moreFollows == 0 && len(r.left) > 0 {
		return ErrTrailing
	}
	return made.finish(image)
}

// fits checks P6.
func (s *patchStart) fits(base *layer) bool {
	isLayer := base.incompat&isLayer != 0
	return headerName(base.head) == s.baseHeader && base.bodyCRC == s.baseBody &&
		isLayer == (s.features&ofLayer != 0) && (!isLayer || base.lastLayer() == (s.features&moreFollows == 0))
}

// result checks P8, items 1 to 4.
func (s *patchStart) result(base *layer) (*result, error) {
	head := reduceHeader(base.head, base.bodyCRC)
	if err := applyEdits(head, s.edits); err != nil {
		return nil, err
	}
	restoreHeader(head, s.resultBody)
	if headerName(head) != s.resultHeader {
		return nil, ErrPatch
	}
	h, err := parseHeader(head, base.wholeSize(), true)
	if err != nil || h.size != base.size {
		return nil, ErrPatch
	}
	r, err := parseRecords(head, h)
	if err != nil || r.bodyCRC != s.resultBody {
		return nil, ErrPatch
	}
	return &result{head, h, r}, nil
}

func applyEdits(head, edits []byte) error {
	r := patchReader{left: edits}
	for len(r.left) > 0 {
		equal, err := r.number()
		if err != nil {
			return err
		}
		size, err := r.number()
		if err != nil {
			return err
		}
		if equal > uint64(len(head)) || size > uint64(len(head))-equal {
			return ErrPatch
		}
		b, err := r.take(size)
		if err != nil {
			return err
		}
		copy(head[equal:], b)
		head = head[equal+size:]
	}
	return nil
}

// follows checks P8, items 5 to 8.
func (r *result) follows(base *layer, last *result) bool {
	a, b := r.header, &base.header
	if !alike(a, b) || a.incompat != b.incompat || a.layers != b.layers || a.layer != b.layer {
		return false
	}
	switch {
	case a.incompat != isLayer:
		return true
	case last == nil:
		return a.link == 0
	}
	return last.header.next(a) && a.link == uint64(last.header.crc)|uint64(last.record.bodyCRC)<<32
}

// alike reports whether two images can have a patch.
func alike(a, b *header) bool {
	return a.size == b.size && a.layout == b.layout && a.m == b.m && a.k == b.k && a.seed == b.seed && a.hashID == b.hashID &&
		a.selfTest == b.selfTest && a.firstBlock == b.firstBlock && a.wholeBlocks == b.wholeBlocks
}

// finish checks P12, and writes the page checksums.
func (r *result) finish(image []byte) error {
	h, body := r.header, r.header.bodyOf(image)
	ones, overflow := countCells(h.layout, body)
	if crc32.ChecksumIEEE(body) != r.record.bodyCRC || ones != r.record.ones || overflow != r.record.overflow ||
		!cleanEnd(h, body, 0) {
		return ErrPatch
	}
	sealPages(image, h, r.record.bodyCRC)
	return nil
}

// parts reads the parts, and changes the body: P10.
func (r *patchReader) parts(base *layer, body []byte) error {
	pages := base.pages()
	for at := uint64(0); ; {
		all := r.left
		skip, err := r.number()
		if err != nil {
			return err
		}
		if skip > pages-at {
			return ErrPatch
		}
		if at += skip; at == pages {
			return nil
		}
		span, err := r.number()
		if err != nil {
			return err
		}
		if span == 0 || span > pages-at {
			return ErrPatch
		}
		if err := r.part(all, base, body, at, at+span); err != nil {
			return err
		}
		at += span
	}
}

// part reads a part of the patch, which changes pages start to end - 1, and applies it.
func (r *patchReader) part(all []byte, base *layer, body []byte, start, end uint64) error {
	start, end = start*pageSize, end*pageSize
	if end > base.bodySize {
		end = base.bodySize
	}
	var list []*changeString
	total := uint64(0)
	for _, kind := range changesOf(base.layout) {
		s, err := r.parameters(base.layout, kind)
		if err != nil {
			return err
		}
		if total += s.size; total > maxStrings {
			return ErrPatch
		}
		list = append(list, s)
	}
	for _, s := range list {
		b, err := r.take(s.size)
		if err != nil {
			return err
		}
		s.bits = bitReader{b: b}
	}
	if err := r.checksum(all); err != nil {
		return err
	}
	for _, s := range list {
		if err := s.apply(base.body[start:end], body[start:end]); err != nil {
			return err
		}
	}
	return nil
}

// changeString has the changes of one kind in a part.
type changeString struct {
	layout             Layout
	kind               change
	units, typical     uint64
	gapBits, countBits uint
	size               uint64
	bits               bitReader
}

func (r *patchReader) parameters(layout Layout, kind change) (s *changeString, err error) {
	s = &changeString{layout: layout, kind: kind}
	if s.units, err = r.number(); err != nil || s.units == 0 {
		return s, err
	}
	if s.gapBits, err = r.riceBits(); err != nil {
		return nil, err
	}
	if layout == Blocked {
		if s.typical, err = r.number(); err != nil {
			return nil, err
		}
		if s.countBits, err = r.riceBits(); err != nil {
			return nil, err
		}
		if s.typical < 1 || s.typical > 512 {
			return nil, ErrPatch
		}
	}
	if s.size, err = r.number(); err == nil && s.size > maxStrings {
		err = ErrPatch
	}
	return s, err
}

func (r *patchReader) riceBits() (uint, error) {
	b, err := r.take(1)
	if err != nil {
		return 0, err
	}
	if b[0] > maxRiceBits {
		return 0, ErrPatch
	}
	return uint(b[0]), nil
}

// apply changes body, whose base it reads.
func (s *changeString) apply(base, body []byte) error {
	walk := s.scattered
	if s.layout == Blocked {
		walk = s.blocks
	}
	if !walk(base, body) || !s.bits.ended() {
		return ErrPatch
	}
	return nil
}

func (s *changeString) scattered(base, body []byte) bool {
	c := cells{body: base, layout: s.layout, kind: s.kind}
	for i := uint64(0); i < s.units; i++ {
		gap, ok := s.bits.rice(s.gapBits)
		if !ok {
			return false
		}
		bit, ok := c.pass(gap)
		if !ok || !s.alter(base, body, bit) {
			return false
		}
	}
	return true
}

// alter changes the cell that begins at a bit.
func (s *changeString) alter(base, body []byte, bit int) bool {
	switch {
	case s.layout != Counting:
		body[bit/8] ^= 1 << (bit % 8)
	case s.kind == raised:
		body[bit/8] += 1 << (bit % 8)
	case s.kind == lowered:
		body[bit/8] -= 1 << (bit % 8)
	default:
		code, ok := s.bits.rice(0)
		value := int64(base[bit/8] >> (bit % 8) & 15)
		if distance := int64(code/2 + 2); code%2 == 0 {
			value += distance
		} else {
			value -= distance
		}
		if !ok || value < 0 || value > 15 {
			return false
		}
		body[bit/8] = body[bit/8]&^(15<<(bit%8)) | byte(value)<<(bit%8)
	}
	return true
}

func (s *changeString) blocks(base, body []byte) bool {
	count, at := uint64(len(base)/64), uint64(0)
	for i := uint64(0); i < s.units; i++ {
		gap, ok := s.bits.rice(s.gapBits)
		if !ok || gap >= count-at {
			return false
		}
		at += gap
		if !s.block(base[64*at:64*at+64], body[64*at:64*at+64]) {
			return false
		}
		at++
	}
	return true
}

// block reads the changes of a block.
func (s *changeString) block(base, body []byte) bool {
	left, _ := countCells(s.layout, base)
	if s.kind == raised {
		left = 512 - left
	}
	code, ok := s.bits.rice(s.countBits)
	changes := s.typical - code/2
	if code%2 == 1 {
		changes = s.typical + code/2 + 1
	}
	if !ok || changes < 1 || changes > left {
		return false
	}
	c := cells{body: base, layout: s.layout, kind: s.kind}
	for more := changes; more > 0; more-- {
		gap, ok := s.bits.gap(left, more)
		if !ok || gap > left-more {
			return false
		}
		bit, _ := c.pass(gap)
		s.alter(base, body, bit)
		left -= gap + 1
	}
	return true
}

// bitReader reads a string of bits.
type bitReader struct {
	b  []byte
	at uint64
}

func (r *bitReader) bits(count uint) (x uint64, ok bool) {
	if uint64(count) > 8*uint64(len(r.b))-r.at {
		return 0, false
	}
	for i := uint(0); i < count; i++ {
		x |= uint64(r.b[r.at/8]>>(r.at%8)&1) << i
		r.at++
	}
	return x, true
}

func (r *bitReader) rice(parameter uint) (uint64, bool) {
	for zeros := uint64(0); ; zeros++ {
		bit, ok := r.bits(1)
		if !ok || zeros >= maxNumber>>parameter {
			return 0, false
		}
		if bit == 1 {
			rest, ok := r.bits(parameter)
			return zeros<<parameter + rest, ok
		}
	}
}

// gap reads the gap before the next of more changes among left cells.
func (r *bitReader) gap(left, more uint64) (uint64, bool) {
	if more > 1 {
		return r.rice(bestBits(left-more, more+1))
	}
	width, short := truncation(left)
	first, ok := r.bits(width)
	if !ok || first < short {
		return first, ok
	}
	last, ok := r.bits(1)
	return 2*first + last - short, ok
}

// ended reports whether only zeros of the last byte are left.
func (r *bitReader) ended() bool {
	rest := 8*uint64(len(r.b)) - r.at
	x, _ := r.bits(uint(rest & 7))
	return rest < 8 && x == 0
}
