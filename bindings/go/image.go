// SPDX-License-Identifier: MIT

// Making sealed images: headers, records and checksums.

package bloomfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

func put32(b []byte, offset int, x uint32) { binary.LittleEndian.PutUint32(b[offset:], x) }
func put64(b []byte, offset int, x uint64) { binary.LittleEndian.PutUint64(b[offset:], x) }

// newImage sets the fields of h that follow from other fields, and returns an image of zeros.
func newImage(h *header) ([]byte, error) {
	h.bodySize = h.wantedBody()
	return allocate(h.imageSize())
}

// allocate returns zero bytes, or ErrParams for a size that this process cannot have.
func allocate(size uint64) (b []byte, err error) {
	defer func() {
		if recover() != nil { // make: len out of range
			b, err = nil, tooLarge(size)
		}
	}()
	if !canAllocate(size) {
		return nil, tooLarge(size)
	}
	return make([]byte, size), nil
}

func tooLarge(size uint64) error {
	return fmt.Errorf("%d bytes are too many for this process: %w", size, ErrParams)
}

func (h *header) bodyOf(image []byte) []byte { return image[h.size : h.size+h.bodySize] }

// counts are the fields of a record that a sealer chooses.
type counts struct {
	n         uint64
	estimated bool
	watermark [32]byte
}

// seal writes header, records and page checksums around the body of an image.
func seal(image []byte, h *header, c counts) {
	r := record{n: c.n, watermark: c.watermark}
	if c.estimated {
		r.flags = flagEstimated
	}
	body := h.bodyOf(image)
	r.ones, r.overflow = countCells(h.layout, body)
	r.bodyCRC = crc32.ChecksumIEEE(body)
	sealPages(image, h, r.bodyCRC)
	h.encode(image[:h.size/2])
	h.crc = u32(image, int(h.size/2)-4)
	first, second := image[h.size/2:3*h.size/4], image[3*h.size/4:h.size]
	r.encode(first, h.crc)
	copy(second, first)
}

// sealPages writes the page checksums.
func sealPages(image []byte, h *header, bodyCRC uint32) {
	body, table := h.bodyOf(image), image[h.size+h.bodySize:]
	for i := 0; len(body) > 0; i++ {
		page := body[:shorter(len(body), pageSize)]
		put32(table, 4*i, crc32.ChecksumIEEE(page)^bodyCRC)
		body = body[len(page):]
	}
}

// encode writes all of b, the static header.
func (h *header) encode(b []byte) {
	copy(b, make([]byte, len(b)))
	copy(b, magic)
	for offset, x := range map[int]uint32{
		8: 1, 12: uint32(h.size), 16: h.compat, 24: h.incompat, 28: h.provenance, 32: uint32(h.layout), 36: h.hashID,
		40: h.k, 44: h.keyKind,
	} {
		put32(b, offset, x)
	}
	for offset, x := range map[int]uint64{
		48: h.m, 56: h.seed, 64: h.selfTest, 72: h.size, 80: h.bodySize, 88: h.capacity, 96: h.fpr, 104: h.unfolded,
	} {
		put64(b, offset, x)
	}
	copy(b[112:], h.tag[:])
	copy(b[128:], h.label[:])
	if h.incompat == isSlice {
		h.encodeSlice(b)
	}
	put32(b, len(b)-4, crc32.ChecksumIEEE(b[:len(b)-4]))
}

func (h *header) encodeSlice(b []byte) {
	for i, x := range [...]uint64{h.firstBlock, h.wholeBlocks, h.keysRead, h.keysElsewhere, h.digestSum} {
		put64(b, 240+8*i, x)
	}
}

func (r *record) encode(b []byte, headerCRC uint32) {
	copy(b, make([]byte, len(b)))
	put64(b, 0, lastSequence)
	put32(b, 8, stateSealed)
	put32(b, 12, r.flags)
	put64(b, 16, r.n)
	put64(b, 24, r.ones)
	put64(b, 32, r.overflow)
	put32(b, 56, r.bodyCRC)
	put32(b, 60, headerCRC)
	copy(b[72:], r.watermark[:])
	put32(b, len(b)-4, crc32.ChecksumIEEE(b[:len(b)-4]))
}

// add sets the cells of a digest in a body of the layouts blocked, classic and counting. It reports whether a cell
// was 0.
func (h *header) add(body []byte, digest uint64) bool {
	switch h.layout {
	case Blocked:
		block, _ := bits.Mul64(digest, h.wholeOf())
		block -= h.firstBlock
		return addToBlock((*[64]byte)(body[64*block:]), digest, h.k)
	case Classic:
		return h.addClassic(body, digest)
	}
	return h.addCounting(body, digest)
}

// wholeOf returns the number of blocks from which the block of a digest follows.
func (h *header) wholeOf() uint64 {
	if h.incompat&isSlice != 0 {
		return h.wholeBlocks
	}
	return h.m / 512
}

func addToBlock(line *[64]byte, g uint64, k uint32) (added bool) {
	for i := uint32(0); i < k; i++ {
		if i%6 == 0 {
			g *= goldenC
		}
		x := g >> (55 - 9*(i%6)) & 511
		added = added || line[x/8]>>(x%8)&1 == 0
		line[x/8] |= 1 << (x % 8)
	}
	return added
}

func (h *header) addClassic(body []byte, g uint64) (added bool) {
	for i := uint32(0); i < h.k; i++ {
		x, _ := bits.Mul64(g, h.m)
		added = added || body[x/8]>>(x%8)&1 == 0
		body[x/8] |= 1 << (x % 8)
		g *= goldenC
	}
	return added
}

func (h *header) addCounting(body []byte, g uint64) (added bool) {
	for i := uint32(0); i < h.k; i++ {
		x, _ := bits.Mul64(g, h.m)
		shift := x % 2 * 4
		value := body[x/2] >> shift & 15
		added = added || value == 0
		if value < 15 {
			body[x/2] += 1 << shift
		}
		g *= goldenC
	}
	return added
}
