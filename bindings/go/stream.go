// SPDX-License-Identifier: MIT

// Reading a filter from a stream: section 5 of format-spec.md.

package bloomfile

import (
	"fmt"
	"io"
	"math"
)

// Read reads one filter from r, and no byte after it. At the end of the stream it returns ErrEmpty.
func Read(r io.Reader, list ...Option) (*Filter, error) {
	o := optionsOf(list)
	image, err := readImage(r, o.anyHash || o.hash != nil)
	if err == nil {
		var f *Filter
		if f, err = newFilter(image, nil, o); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("bloomfile: cannot read: %w", err)
}

func readImage(r io.Reader, anyHash bool) ([]byte, error) {
	b, err := fetch(nil, r, 16)
	if err != nil && err != ErrTruncated {
		return nil, err
	}
	size := uint64(math.MaxUint64)
	if len(b) < 16 {
		size = uint64(len(b))
	}
	length, err := headerSize(b, size)
	if err != nil {
		return nil, err
	}
	if b, err = fetch(b, r, length); err != nil {
		return nil, err
	}
	h, err := parseStatic(b, anyHash)
	if err != nil {
		return nil, err
	}
	if math.MaxInt < math.MaxInt64 && h.wholeSize() > math.MaxInt { // do not read gigabytes first
		return nil, tooLarge(h.wholeSize())
	}
	return fetch(b, r, h.wholeSize())
}

// fetch reads until b has size bytes. It allocates memory as the bytes arrive.
func fetch(b []byte, r io.Reader, size uint64) ([]byte, error) {
	for have := uint64(len(b)); have < size; have = uint64(len(b)) {
		next := 2*have + pageSize
		if next > size {
			next = size
		}
		larger, err := allocate(next)
		if err != nil {
			return nil, err
		}
		n, err := io.ReadFull(r, larger[copy(larger, b):])
		b = larger[:have+uint64(n)]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return b, ErrTruncated
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
