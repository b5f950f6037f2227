// SPDX-License-Identifier: MIT

// Builder: a filter of a list of keys.

package bloomfile

import (
	"fmt"
	"math/bits"
)

// A Builder builds a filter from a list of keys, in any layout. It keeps 8 bytes per key: the number of different keys is
// exact, and the filter can be sized for it. The recorded kind of the keys is Params.KeyKind, whichever methods add them. With
// the same parameters, and TextKeys for lines, bfcreate makes the same bytes.
//
// A Builder must not be used by several goroutines at the same time.
type Builder struct {
	params  Params
	digests []uint64
	err     error
}

// NewBuilder returns a Builder without keys. It returns ErrParams if a parameter is out of range.
func NewBuilder(p Params) (*Builder, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Builder{params: p}, nil
}

// Add adds a byte string. If a key does not fit Params.KeyKind, Finish returns ErrKeyKind.
func (b *Builder) Add(key []byte) { b.add(key, BytesKeys) }

// AddString adds a string.
func (b *Builder) AddString(key string) {
	if b.params.KeyKind.plain(TextKeys) {
		b.AddDigest(digestString(key, b.params.Seed))
	} else {
		b.add([]byte(key), TextKeys)
	}
}

// AddUint64 adds an integer, as its 8 bytes, the lowest first.
func (b *Builder) AddUint64(key uint64) {
	b.fit(IntegerKeys, 8)
	b.AddDigest(digestInteger(key, b.params.Seed))
}

// AddInt64 adds an integer.
func (b *Builder) AddInt64(key int64) { b.AddUint64(uint64(key)) }

// AddDigest adds a key by its digest under Params.Seed. It does not check the kind of the key: with LowerKeys, compute the
// digest of the key in lower case.
func (b *Builder) AddDigest(digest uint64) { b.digests = append(b.digests, digest) }

func (b *Builder) add(key []byte, kind KeyKind) {
	b.fit(kind, len(key))
	if b.params.KeyKind == LowerKeys {
		key = lower(key, nil)
	}
	b.AddDigest(Digest(key, b.params.Seed))
}

func (b *Builder) fit(given KeyKind, size int) {
	if err := b.params.KeyKind.fit(given, size); err != nil && b.err == nil {
		b.err = fmt.Errorf("bloomfile: %w", err)
	}
}

// Finish builds the filter in memory; Filter.WriteFile writes it. More keys may be added afterwards, for another filter.
// With too many keys it returns ErrFull: see Params.OverCapacity.
func (b *Builder) Finish() (*Filter, error) {
	if b.err != nil {
		return nil, b.err
	}
	image, err := b.build()
	if err != nil {
		return nil, fmt.Errorf("bloomfile: cannot build the filter: %w", err)
	}
	return ownFilter(image)
}

func (b *Builder) build() ([]byte, error) {
	if b.params.Slices == 0 {
		b.digests = distinct(b.digests) // of a slice, repetitions count
	}
	h, err := b.params.plan(uint64(len(b.digests)))
	if err != nil {
		return nil, err
	}
	digests := b.digests
	if h.incompat == isSlice {
		digests = distinct(h.inSlice(digests))
	}
	if !b.params.OverCapacity && h.full(uint64(len(digests)), b.params.Capacity != 0) {
		return nil, fmt.Errorf("%d keys in %d bits, and a capacity of %d: %w", len(digests), h.m, h.capacity, ErrFull)
	}
	image, err := newImage(h)
	if err != nil {
		return nil, err
	}
	if err := h.fill(h.bodyOf(image), digests); err != nil {
		return nil, err
	}
	seal(image, h, counts{n: uint64(len(digests)), watermark: b.params.Watermark})
	return image, nil
}

// inSlice returns the digests whose block is in the slice, and records the input.
func (h *header) inSlice(digests []uint64) (here []uint64) {
	for _, digest := range digests {
		h.digestSum += digest
		if block, _ := bits.Mul64(digest, h.wholeBlocks); block-h.firstBlock < h.m/512 {
			here = append(here, digest)
		}
	}
	h.keysRead = uint64(len(digests))
	h.keysElsewhere = uint64(len(digests) - len(here))
	return here
}

func (h *header) fill(body []byte, digests []uint64) error {
	if h.layout == Ribbon {
		return h.solve(body, digests)
	}
	for _, digest := range digests {
		h.add(body, digest)
	}
	return nil
}

// ownFilter opens an image that this process has made in memory, of sources that have the same hash function.
func ownFilter(image []byte, sources ...*Filter) (*Filter, error) {
	o := options{anyHash: true}
	for _, source := range sources {
		if source.hash != nil {
			o.hash = source.hash
		}
	}
	f, err := newFilter(image, nil, o)
	if err != nil {
		return nil, fmt.Errorf("bloomfile: %w", err)
	}
	return f, nil
}

// distinct sorts digests, and removes repetitions.
func distinct(sorted []uint64) []uint64 {
	sortDigests(sorted)
	n := 0
	for i, digest := range sorted {
		if i == 0 || digest != sorted[n-1] {
			sorted[n] = digest
			n++
		}
	}
	return sorted[:n]
}

// sortDigests is a radix sort, because digests are random: 8 bits in each pass, the lowest first.
func sortDigests(digests []uint64) {
	from, to := digests, make([]uint64, len(digests))
	for shift := 0; shift < 64; shift += 8 {
		var ends [256]int
		for _, digest := range from {
			ends[digest>>shift&255]++
		}
		start := 0
		for i, count := range ends {
			ends[i] = start
			start += count
		}
		for _, digest := range from {
			i := &ends[digest>>shift&255]
			to[*i] = digest
			*i++
		}
		from, to = to, from
	}
}
