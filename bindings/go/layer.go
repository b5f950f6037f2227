// SPDX-License-Identifier: MIT

// One open image: a filter, or a layer of a series. Section 12 and 14 of format-spec.md.

package bloomfile

import (
	"hash/crc32"
	"math"
	"math/bits"
	"sync/atomic"
)

// layer is an open image. body and table may be mapped: their bytes may change or fault, the fields do not.
type layer struct {
	// A lookup needs these.
	body                 []byte
	blocks, first, count uint64 // blocks of the whole, before the image, of the image
	good                 bitmap // pages whose checksum was right
	positions            uint32 // k

	header
	record
	head  []byte // a copy of the H bytes
	image []byte // all bytes, mapped or in memory
	table []byte
	*damage
}

// damage outlives the bytes of a closed filter.
type damage struct {
	bad      bitmap        // pages whose checksum was wrong
	firstBad atomic.Uint64 // the first page found wrong, or noPage
}

const noPage = math.MaxUint64

// parseLayer opens the image at the start of b.
func parseLayer(b []byte, anyHash bool) (*layer, error) {
	head := append([]byte(nil), b[:shorter(len(b), fileHeader)]...)
	h, err := parseHeader(head, uint64(len(b)), anyHash)
	if err != nil {
		return nil, err
	}
	if bitmaps := h.pages() / 4; !canAllocate(bitmaps) {
		return nil, tooLarge(bitmaps)
	}
	head = head[:h.size]
	r, err := parseRecords(head, h)
	if err != nil {
		return nil, err
	}
	end := h.size + h.bodySize
	l := &layer{
		header: *h, record: *r, head: head, image: b[:h.imageSize()], body: b[h.size:end], table: b[end:h.imageSize()],
		blocks: h.m / 512, count: h.m / 512,
		good: newBitmap(h.pages()), positions: h.k, damage: &damage{bad: newBitmap(h.pages())},
	}
	l.firstBad.Store(noPage)
	if h.incompat&isSlice != 0 {
		l.blocks, l.first = h.wholeBlocks, h.firstBlock
	}
	return l, nil
}

// parseLayers opens the image or the sealed series that fills b: slices.md 2.2.
func parseLayers(b []byte, anyHash bool) ([]*layer, error) {
	first, err := parseLayer(b, anyHash)
	if err != nil {
		return nil, err
	}
	layers := []*layer{first}
	if first.layers == 0 {
		return layers, nil
	}
	if first.layer != 0 || first.link != 0 {
		return nil, ErrSeries
	}
	for last := first; !last.lastLayer(); {
		b = b[roundUp(last.imageSize(), pageSize):]
		l, err := parseLayer(b, anyHash)
		if err != nil {
			return nil, err
		}
		if !last.next(&l.header) || l.link != uint64(last.header.crc)|uint64(last.bodyCRC)<<32 {
			return nil, ErrSeries
		}
		layers = append(layers, l)
		last = l
	}
	return layers, nil
}

// bitmap is a set of pages that any number of threads may read and extend.
type bitmap []uint32

func newBitmap(size uint64) bitmap { return make(bitmap, (size+31)/32) }

func (b bitmap) has(i uint64) bool { return atomic.LoadUint32(&b[i/32])>>(i%32)&1 != 0 }

// hasBit returns 1, and higher bits, if the page of bit x of the body is in the set.
func (b bitmap) hasBit(x uint64) uint32 {
	return atomic.LoadUint32(&b[x/8/pageSize/32]) >> (x / 8 / pageSize % 32)
}

func (b bitmap) add(i uint64) {
	for {
		old := atomic.LoadUint32(&b[i/32])
		if atomic.CompareAndSwapUint32(&b[i/32], old, old|1<<(i%32)) {
			return
		}
	}
}

func (b bitmap) len() (count uint64) {
	for i := range b {
		count += uint64(bits.OnesCount32(atomic.LoadUint32(&b[i])))
	}
	return count
}

// page returns the bytes of page p.
func (l *layer) page(p uint64) []byte {
	end := (p + 1) * pageSize
	if end > l.bodySize {
		end = l.bodySize
	}
	return l.body[p*pageSize : end]
}

// entry returns the CRC-32 that page p must have.
func (l *layer) entry(p uint64) uint32 { return u32(l.table[4*p:], 0) ^ l.bodyCRC }

// sound reports whether the checksum of page p is right. It checks a page once.
func (l *layer) sound(p uint64) bool {
	if l.good.has(p) {
		return true
	}
	return !l.bad.has(p) && l.check(p)
}

func (l *layer) check(p uint64) bool {
	if crc32.ChecksumIEEE(l.page(p)) == l.entry(p) {
		l.good.add(p)
		return true
	}
	l.reject(p)
	return false
}

// reject notes that page p is wrong.
func (l *layer) reject(p uint64) {
	l.bad.add(p)
	l.firstBad.CompareAndSwap(noPage, p)
}
