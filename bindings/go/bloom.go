// SPDX-License-Identifier: MIT

// BloomFilter: a filter in memory to which keys are added and looked up.

package bloomfile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// A BloomFilter is a filter in memory. Its methods have the names and meanings of github.com/bits-and-blooms/bloom/v3.
// It needs memory only for its bits. WriteFile and WriteTo write a sealed filter, which Open and every bloomfile program
// can read. The filter's number of keys is an estimate if a key was added twice. A BloomFilter accepts any number of keys;
// its false-positive rate rises.
//
// A lookup of a key that does not fit Params.KeyKind returns true, and Err returns ErrKeyKind. Such a key cannot be added:
// from then on, functions that write the filter return ErrKeyKind.
//
// Several goroutines may look up at the same time, but not while another calls any other method.
type BloomFilter struct {
	header
	image, body []byte
	counts
	lost      error // of the first key that could not be added
	sticky    *sticky
	unplanned bool // no capacity was given
}

// NewBloomFilter returns a filter without keys, of the layout Blocked or Classic. It needs Capacity or Bits.
func NewBloomFilter(p Params) (*BloomFilter, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.Slices != 0 || p.Layout > Classic || p.Capacity == 0 && p.Bits == 0 {
		return nil, fmt.Errorf("bloomfile: %w", ErrParams)
	}
	h, err := p.plan(0)
	if err == nil {
		var image []byte
		if image, err = newImage(h); err == nil {
			return &BloomFilter{*h, image, h.bodyOf(image), counts{watermark: p.Watermark}, nil, &sticky{},
				p.Capacity == 0}, nil
		}
	}
	return nil, fmt.Errorf("bloomfile: %w", err)
}

// NewWithEstimates returns a filter for n keys and a false-positive rate; a rate of 0 means 0.01. It panics if there is no such
// filter, or not enough memory for it; NewBloomFilter returns an error instead.
func NewWithEstimates(n uint, rate float64) *BloomFilter {
	if n == 0 {
		n = 1
	}
	return must(NewBloomFilter(Params{Capacity: uint64(n), Rate: rate}))
}

// New returns a filter of at least m bits, and k positions per key. More than 64 positions count as 64. It panics if there is
// not enough memory for it.
func New(m, k uint) *BloomFilter {
	if m == 0 {
		m = 1
	}
	if k == 0 {
		k = 1
	}
	if k > maxK {
		k = maxK
	}
	return must(NewBloomFilter(Params{Bits: uint64(m), K: int(k)}))
}

func must(f *BloomFilter, err error) *BloomFilter {
	if err != nil {
		panic(err)
	}
	return f
}

// EstimateParameters returns the m and k of NewWithEstimates. It panics if there is no such filter.
func EstimateParameters(n uint, rate float64) (m, k uint) {
	if n == 0 {
		n = 1
	}
	p := Params{Capacity: uint64(n), Rate: rate}
	err := p.check()
	var h *header
	if err == nil {
		h, err = p.plan(0)
	}
	if err != nil {
		panic(fmt.Errorf("bloomfile: %w", err))
	}
	return uint(h.m), uint(h.k)
}

// Cap returns the number of bits.
func (f *BloomFilter) Cap() uint { return uint(f.m) }

// K returns the number of positions of a key.
func (f *BloomFilter) K() uint { return uint(f.k) }

// Add adds a byte string.
func (f *BloomFilter) Add(key []byte) *BloomFilter {
	f.TestAndAdd(key)
	return f
}

// AddString adds a string.
func (f *BloomFilter) AddString(key string) *BloomFilter {
	f.TestAndAddString(key)
	return f
}

// AddUint64 adds an integer, as its 8 bytes, the lowest first.
func (f *BloomFilter) AddUint64(key uint64) *BloomFilter {
	if err := f.kind().fit(IntegerKeys, 8); err != nil {
		f.lose(err)
		return f
	}
	f.TestAndAddDigest(digestInteger(key, f.seed))
	return f
}

func (f *BloomFilter) kind() KeyKind { return KeyKind(f.keyKind) }

// lose notes a key that cannot be added.
func (f *BloomFilter) lose(err error) {
	if f.lost == nil {
		f.lost = err
	}
}

// typed returns the digest of a key, or the error if it does not fit the kind of the filter's keys.
func (f *BloomFilter) typed(key []byte, given KeyKind) (uint64, error) {
	if err := f.kind().fit(given, len(key)); err != nil {
		return 0, err
	}
	if f.kind() == LowerKeys {
		key = lower(key, nil)
	}
	return Digest(key, f.seed), nil
}

func (f *BloomFilter) testTyped(key []byte, given KeyKind) bool {
	digest, err := f.typed(key, given)
	if err != nil {
		f.doubt(err)
		return true
	}
	return f.TestDigest(digest)
}

func (f *BloomFilter) addTyped(key []byte, given KeyKind) bool {
	digest, err := f.typed(key, given)
	if err != nil {
		f.lose(err)
		return true
	}
	return f.TestAndAddDigest(digest)
}

// doubt notes why a lookup returned true.
func (f *BloomFilter) doubt(err error) {
	f.sticky.set(err)
}

// Err returns ErrKeyKind if a key did not fit the kind of the filter's keys, ErrParams for the zero value, or nil.
func (f *BloomFilter) Err() error {
	switch {
	case len(f.image) == 0: // the zero value
		return errNoSize
	case f.lost != nil:
		return f.lost
	}
	return f.sticky.get()
}

var errNoSize = fmt.Errorf("bloomfile: a BloomFilter without a size: %w", ErrParams)

// Test reports whether a byte string may be in the filter.
func (f *BloomFilter) Test(key []byte) bool {
	if !f.kind().plain(BytesKeys) {
		return f.testTyped(key, BytesKeys)
	}
	return f.TestDigest(Digest(key, f.seed))
}

// TestString reports whether a string may be in the filter.
func (f *BloomFilter) TestString(key string) bool {
	if !f.kind().plain(TextKeys) {
		return f.testTyped([]byte(key), TextKeys)
	}
	return f.TestDigest(digestString(key, f.seed))
}

// TestUint64 reports whether an integer may be in the filter.
func (f *BloomFilter) TestUint64(key uint64) bool {
	if err := f.kind().fit(IntegerKeys, 8); err != nil {
		f.doubt(err)
		return true
	}
	return f.TestDigest(digestInteger(key, f.seed))
}

// TestDigest reports whether the key of a digest may be in the filter. It does not check the kind of the key: in a filter
// of LowerKeys, compute the digest of the key in lower case.
func (f *BloomFilter) TestDigest(digest uint64) bool {
	if f.layout == Blocked {
		block, _ := bits.Mul64(digest, f.m/512)
		return f.inLine((*[64]byte)(f.body[64*block:]), digest)
	}
	for i := f.k; i > 0; i-- {
		x, _ := bits.Mul64(digest, f.m)
		if f.body[x/8]>>(x%8)&1 == 0 {
			return false
		}
		digest *= goldenC
	}
	return true
}

func (f *BloomFilter) inLine(line *[64]byte, g uint64) bool {
	for k := f.k; ; k -= 6 {
		g *= goldenC
		if k <= 6 {
			return inBlock(line, g, k)
		}
		if !inBlock(line, g, 6) {
			return false
		}
	}
}

// TestAndAdd adds a byte string, and reports whether it may have been in the filter before.
func (f *BloomFilter) TestAndAdd(key []byte) bool {
	if !f.kind().plain(BytesKeys) {
		return f.addTyped(key, BytesKeys)
	}
	return f.TestAndAddDigest(Digest(key, f.seed))
}

// TestAndAddString is TestAndAdd for a string.
func (f *BloomFilter) TestAndAddString(key string) bool {
	if !f.kind().plain(TextKeys) {
		return f.addTyped([]byte(key), TextKeys)
	}
	return f.TestAndAddDigest(digestString(key, f.seed))
}

// TestOrAdd is TestAndAdd: adding a key again changes nothing.
func (f *BloomFilter) TestOrAdd(key []byte) bool { return f.TestAndAdd(key) }

// TestOrAddString is TestAndAddString.
func (f *BloomFilter) TestOrAddString(key string) bool { return f.TestAndAddString(key) }

// TestAndAddDigest is TestAndAdd for a digest. The rules of TestDigest apply.
func (f *BloomFilter) TestAndAddDigest(digest uint64) bool {
	if f.add(f.body, digest) {
		f.n++
		return false
	}
	f.estimated = true // a key that was added before, or a false positive
	return true
}

// ApproximatedSize estimates how many different keys were added.
func (f *BloomFilter) ApproximatedSize() uint32 {
	ones, _ := countCells(f.layout, f.body)
	return uint32(math.Min(estimate(&f.header, ones), math.MaxUint32))
}

// ClearAll removes all keys.
func (f *BloomFilter) ClearAll() *BloomFilter {
	for i := range f.body {
		f.body[i] = 0
	}
	f.counts = counts{watermark: f.watermark}
	f.lost, f.sticky = nil, &sticky{}
	return f
}

// Copy returns a filter with the same keys.
func (f *BloomFilter) Copy() *BloomFilter {
	c := *f
	c.image = append([]byte(nil), f.image...)
	c.body = c.bodyOf(c.image)
	c.sticky = &sticky{}
	return &c
}

// Equal reports whether two filters have the same shape and the same bits.
func (f *BloomFilter) Equal(g *BloomFilter) bool {
	return alike(&f.header, &g.header) && bytes.Equal(f.body, g.body)
}

// Merge adds the keys of g, which must have the same layout, form, bits, K and seed. If only one of the two has keys of a
// known kind, the kind of the result is unknown.
func (f *BloomFilter) Merge(g *BloomFilter) error {
	err := compareShapes([]*layer{{header: f.header}, {header: g.header}})
	switch {
	case err == nil && f.m != g.m:
		err = ErrDiffBits
	case err == nil && f.size != g.size:
		err = ErrDiffForm
	case err == nil:
		err = g.lost
	}
	if err != nil {
		return fmt.Errorf("bloomfile: cannot merge: %w", err)
	}
	if f.keyKind != g.keyKind {
		f.keyKind, f.compat = uint32(UnknownKeys), 0
	}
	combine(f.layout, f.body, g.body, false)
	ones, _ := countCells(f.layout, f.body)
	merged := mergedCounts([]*layer{f.counted(), g.counted()}, &f.header, united, ones)
	f.n, f.estimated, f.provenance = merged.n, merged.estimated, f.provenance|united
	return nil
}

// counted returns a layer that has only the counts of f.
func (f *BloomFilter) counted() *layer {
	l := &layer{record: record{n: f.n}}
	if f.estimated {
		l.flags = flagEstimated
	}
	return l
}

// Filter returns a sealed copy, for the functions that take a Filter.
func (f *BloomFilter) Filter() (*Filter, error) {
	image, err := f.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return ownFilter(image)
}

// seal completes the image, if it has all keys.
func (f *BloomFilter) seal() error {
	switch {
	case f.lost != nil:
		return fmt.Errorf("bloomfile: a key could not be added: %w", f.lost)
	case len(f.image) == 0: // the zero value
		return errNoSize
	}
	if f.unplanned { // as in a filter that a Builder sizes
		f.capacity = uint64(math.Min(math.Max(float64(f.n), 1), maxBits))
	}
	seal(f.image, &f.header, f.counts)
	return nil
}

// WriteTo writes the sealed filter.
func (f *BloomFilter) WriteTo(w io.Writer) (int64, error) {
	if err := f.seal(); err != nil {
		return 0, err
	}
	n, err := w.Write(f.image)
	return int64(n), err
}

// WriteFile writes the sealed filter to a file, as Filter.WriteFile does.
func (f *BloomFilter) WriteFile(path string) error {
	if err := f.seal(); err != nil {
		return err
	}
	return writeImage(path, f.image)
}

// MarshalBinary returns the bytes of the sealed filter.
func (f BloomFilter) MarshalBinary() ([]byte, error) {
	c := f.Copy()
	if err := c.seal(); err != nil {
		return nil, err
	}
	return c.image, nil
}

// MarshalJSON returns the bytes of the sealed filter as a string of base64.
func (f BloomFilter) MarshalJSON() ([]byte, error) {
	image, err := f.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(image)
}

// UnmarshalJSON reads what MarshalJSON returned. It does not read the JSON of bits-and-blooms.
func (f *BloomFilter) UnmarshalJSON(text []byte) error {
	var image []byte
	if err := json.Unmarshal(text, &image); err != nil {
		return err
	}
	return f.UnmarshalBinary(image)
}

// ReadFrom replaces f with the next filter of a stream, and verifies it. The filter must be blocked or classic, and must
// not be a slice or a series.
func (f *BloomFilter) ReadFrom(r io.Reader) (int64, error) {
	counted := &counter{r: r}
	image, err := readImage(counted, false)
	if err == nil {
		err = f.take(image)
	}
	if err != nil {
		return counted.n, fmt.Errorf("bloomfile: cannot read: %w", err)
	}
	return counted.n, nil
}

// UnmarshalBinary replaces f with the filter in image. The same rules apply as to ReadFrom.
func (f *BloomFilter) UnmarshalBinary(image []byte) error {
	if err := f.take(append([]byte(nil), image...)); err != nil {
		return fmt.Errorf("bloomfile: %w", err)
	}
	return nil
}

// take makes f the filter of an image that belongs to it.
func (f *BloomFilter) take(image []byte) error {
	l, err := parseLayer(image, false)
	switch {
	case err != nil:
		return err
	case l.incompat == isSlice:
		return ErrIsSlice
	case l.incompat == isLayer:
		return ErrIsSeries
	case l.layout > Classic:
		return ErrLayout
	}
	if err := l.verify(context.Background(), 0); err != nil {
		return err
	}
	*f = BloomFilter{*l.result(), image, l.body, counts{l.n, l.flags&flagEstimated != 0, l.watermark},
		nil, &sticky{}, false}
	f.bodySize = l.bodySize
	return nil
}

// counter counts the bytes of a stream.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
