// SPDX-License-Identifier: MIT

// Opening filters: files, ranges of other containers, and bytes in memory.

package bloomfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

type hashName struct {
	id       uint32
	selfTest uint64
}

type options struct {
	hash     *hashName
	anyHash  bool
	inMemory bool
}

// An Option changes how a filter is opened.
type Option func(*options)

// WithHash names the hash function of an application that makes the digests of the lookups. Filters of another
// function are refused: ErrHash, ErrSelfTest. The results of Fold, Merge, Intersect, Join and Apply keep the name.
func WithHash(id uint32, selfTest uint64) Option {
	return func(o *options) { o.hash = &hashName{id, selfTest} }
}

// AnyHash opens filters of every application's hash function, to verify, fold, merge or copy them. Lookups in such a
// filter return "maybe".
func AnyHash() Option { return func(o *options) { o.anyHash = true } }

// InMemory reads the file instead of mapping it, so that other programs cannot change the bytes later.
func InMemory() Option { return func(o *options) { o.inMemory = true } }

func optionsOf(list []Option) (o options) {
	for _, option := range list {
		option(&o)
	}
	return o
}

// Open opens a filter, a slice, or a sealed series. It maps the file, which takes microseconds; on Windows and other
// systems without mmap it reads the file. Open checks the header. A page is checked when a lookup first needs it.
func Open(path string, list ...Option) (*Filter, error) {
	f, err := openPath(path, optionsOf(list))
	if err != nil {
		return nil, fmt.Errorf("bloomfile: cannot open %s: %w", path, err)
	}
	return f, nil
}

func openPath(path string, o options) (*Filter, error) {
	// A pipe would block os.Open.
	if info, err := os.Stat(path); err != nil {
		return nil, plain(err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file: %w", fs.ErrInvalid)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer file.Close()
	info, err := file.Stat() // before the header is read, so that a later write shows
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file: %w", fs.ErrInvalid)
	}
	if o.inMemory || !canMap || info.Size() == 0 {
		return readAt(file, info.Size(), o)
	}
	return openMapped(file, path, info, o)
}

// plain leaves out the path of an error of the system, because the caller names it.
func plain(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	return err
}

func openMapped(file *os.File, path string, info os.FileInfo, o options) (*Filter, error) {
	m, err := mapFile(file, info.Size())
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var f *Filter
	guardian := &contents{file: m, sticky: &sticky{}} // the file may be truncated while it is opened
	if err := guardian.guard(func() (err error) {
		f, err = newFilter(m.bytes, m, o)
		if err == nil {
			c := f.opened.Load()
			c.at, c.canary = lastByte(m.bytes)
			c.origin = &origin{path: absolute, info: info}
		}
		return err
	}); err != nil {
		return nil, err
	}
	return f, nil
}

// lastByte returns the last byte that is not 0, and its offset, or the last byte of the file if its last page of memory
// is zero.
func lastByte(b []byte) (at int, value byte) {
	start := (len(b) - 1) / os.Getpagesize() * os.Getpagesize()
	if used := len(bytes.TrimRight(b[start:], "\x00")); used > 0 {
		return start + used - 1, b[start+used-1]
	}
	return len(b) - 1, 0
}

// OpenAt reads a filter of size bytes from the start of r into memory. Use io.NewSectionReader for a filter inside
// another file.
func OpenAt(r io.ReaderAt, size int64, list ...Option) (*Filter, error) {
	f, err := readAt(r, size, optionsOf(list))
	if err != nil {
		return nil, fmt.Errorf("bloomfile: %w", err)
	}
	return f, nil
}

func readAt(r io.ReaderAt, size int64, o options) (*Filter, error) {
	if size < 0 || int64(int(size)) != size {
		return nil, ErrParams
	}
	// Allocate nothing before the header is known to fit the size, and the last byte to exist.
	head := make([]byte, shorter(int(size), fileHeader))
	if err := readWhole(r, head, 0); err != nil {
		return nil, err
	}
	if _, err := parseHeader(head, uint64(size), o.anyHash || o.hash != nil); err != nil {
		return nil, err
	}
	if err := readWhole(r, make([]byte, 1), size-1); err != nil {
		return nil, err
	}
	b, err := allocate(uint64(size))
	if err != nil {
		return nil, err
	}
	if err := readWhole(r, b, 0); err != nil {
		return nil, err
	}
	return newFilter(b, nil, o)
}

// readWhole fills b, or returns an error. It does not trust r to return an error with each short read.
func readWhole(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return err
	case n != len(b):
		return ErrTruncated
	}
	return nil
}

// Parse opens a filter in memory, such as the bytes of go:embed. The caller must not change the bytes.
func Parse(image []byte, list ...Option) (*Filter, error) {
	f, err := newFilter(image, nil, optionsOf(list))
	if err != nil {
		return nil, fmt.Errorf("bloomfile: %w", err)
	}
	return f, nil
}
