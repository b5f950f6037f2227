// SPDX-License-Identifier: MIT

// Reading a filter from a stream: section 5 of format-spec.md.

package bloomfile

import (
	"bytes"
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
	var b bytes.Buffer
	if err := fetch(&b, r, 16); err != nil && err != ErrTruncated {
		return nil, err
	}
	size := uint64(math.MaxUint64)
	if b.Len() < 16 {
		size = uint64(b.Len())
	}
	length, err := headerSize(b.Bytes(), size)
	if err != nil {
		return nil, err
	}
	if err := fetch(&b, r, length-16); err != nil {
		return nil, err
	}
	h, err := parseStatic(b.Bytes(), anyHash)
	if err != nil {
		return nil, err
	}
	if err := fetch(&b, r, h.wholeSize()-length); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fetch appends size bytes. It allocates as they come.
func fetch(b *bytes.Buffer, r io.Reader, size uint64) error {
	if size > math.MaxInt64 {
		return ErrTruncated
	}
	n, err := io.CopyN(b, r, int64(size))
	if err == io.EOF && n < int64(size) {
		return ErrTruncated
	}
	return err
}
