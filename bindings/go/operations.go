// SPDX-License-Identifier: MIT

// Folding, union and intersection: operations.md.

package bloomfile

import (
	"bytes"
	"context"
	"fmt"
	"math"
)

const (
	intersected     = 1 // bits of provenance
	united          = 2
	knownProvenance = 7
)

// headers returns the layers of a filter, so that they can be compared before their bodies are read.
func (f *Filter) headers() ([]*layer, error) {
	c, err := f.open()
	if err != nil {
		return nil, err
	}
	return c.layers, nil
}

// single returns the layer of a filter that is neither a series nor a slice.
func (f *Filter) single() (*layer, error) {
	layers, err := f.headers()
	if err != nil {
		return nil, err
	}
	switch layers[0].incompat {
	case isLayer:
		return nil, ErrIsSeries
	case isSlice:
		return nil, ErrIsSlice
	}
	return layers[0], nil
}

// verified returns layers whose bytes cannot change, after it has verified them.
func (f *Filter) verified() ([]*layer, error) {
	c, err := f.open()
	if err != nil {
		return nil, err
	}
	b, err := f.stable()
	if err != nil {
		return nil, err
	}
	layers, err := parseLayers(b, true)
	if err != nil {
		return nil, err
	}
	for i, l := range layers {
		if i >= len(c.layers) || !l.sameHeader(c.layers[i]) {
			c.fail(ErrChanged)
			return nil, ErrChanged
		}
		if err := l.verify(context.Background(), i); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

// sameHeader reports whether a later read of a layer found the same static header and record in force.
func (l *layer) sameHeader(earlier *layer) bool {
	return l.size == earlier.size && bytes.Equal(l.head[:l.size/2], earlier.head[:l.size/2]) &&
		bytes.Equal(l.raw, earlier.raw)
}

// result returns the header of an image that an operation makes of l. The caller sets the rest.
func (l *layer) result() *header {
	h := &header{
		size: l.size, provenance: l.provenance & knownProvenance, layout: l.layout,
		hashID: l.hashID, k: l.k, keyKind: l.keyKind, m: l.m, seed: l.seed, selfTest: l.selfTest, capacity: l.capacity,
		fpr: l.fpr, unfolded: l.unfolded, tag: l.tag, label: l.label,
	}
	if h.keyKind != uint32(UnknownKeys) {
		h.compat = compatKeyKind
	}
	return h
}

func (h *header) unit() uint64 {
	if h.inBlocks() {
		return 512
	}
	return 1
}

// Fold makes a filter smaller by a factor, which must divide the number of its blocks, or of its bits in other layouts
// than Blocked. The result has the form of f, and is in memory.
func Fold(f *Filter, factor uint64) (*Filter, error) {
	folded, err := fold(f, factor)
	if err != nil {
		return nil, fmt.Errorf("bloomfile: cannot fold: %w", err)
	}
	return folded, nil
}

func fold(f *Filter, factor uint64) (*Filter, error) {
	l, err := f.single()
	switch {
	case err != nil:
		return nil, err
	case l.layout == Ribbon && factor != 1:
		return nil, ErrIsRibbon
	case factor == 0 || l.m/l.unit()%factor != 0:
		return nil, ErrFactor
	}
	layers, err := f.verified()
	if err != nil {
		return nil, err
	}
	l = layers[0]
	h := l.result()
	h.m = l.m / factor
	image, err := newImage(h)
	if err != nil {
		return nil, err
	}
	l.foldInto(h.bodyOf(image), factor, false)
	seal(image, h, counts{l.n, l.flags&flagEstimated != 0, l.watermark})
	return ownFilter(image, f)
}

// foldInto combines the folded body with another body.
func (l *layer) foldInto(body []byte, factor uint64, and bool) {
	if factor > 1 {
		small := make([]byte, len(body))
		l.shrink(small, factor)
		combine(l.layout, body, small, and)
	} else {
		combine(l.layout, body, l.body[:l.usedBody()], and)
	}
}

func (l *layer) shrink(small []byte, factor uint64) {
	switch l.layout {
	case Blocked:
		for i, b := range l.body[:l.usedBody()] {
			small[uint64(i)/64/factor*64+uint64(i)%64] |= b
		}
	case Classic:
		for x := uint64(0); x < l.m; x++ {
			small[x/factor/8] |= l.body[x/8] >> (x % 8) & 1 << (x / factor % 8)
		}
	default:
		for x := uint64(0); x < l.m; x++ {
			addNibble(small, x/factor, l.body[x/2]>>(x%2*4)&15)
		}
	}
}

func addNibble(b []byte, x uint64, value byte) {
	shift := x % 2 * 4
	sum := b[x/2]>>shift&15 + value
	if sum > 15 {
		sum = 15
	}
	b[x/2] = b[x/2]&^(15<<shift) | sum<<shift
}

// combine changes to into the union or the intersection with from.
func combine(layout Layout, to, from []byte, and bool) {
	switch {
	case and:
		for i, b := range from {
			to[i] &= b
		}
	case layout == Counting:
		for i, b := range from {
			addNibble(to, uint64(2*i), b&15)
			addNibble(to, uint64(2*i+1), b>>4)
		}
	default:
		for i, b := range from {
			to[i] |= b
		}
	}
}

// Merge returns the union of filters, in memory: a key is in it if it is in any of them. All filters must have the same
// layout, hash, K and seed. Filters of different sizes are folded first. The result has the form of the first filter.
func Merge(filters ...*Filter) (*Filter, error) { return mergeAll(filters, united) }

// Intersect is like Merge, but keeps only keys that are in all filters. The result has more false positives than a filter
// built from these keys.
func Intersect(filters ...*Filter) (*Filter, error) { return mergeAll(filters, intersected) }

func mergeAll(filters []*Filter, how uint32) (*Filter, error) {
	merged, err := merge(filters, how)
	if err != nil {
		return nil, fmt.Errorf("bloomfile: cannot merge: %w", err)
	}
	return merged, nil
}

func merge(filters []*Filter, how uint32) (*Filter, error) {
	if len(filters) == 0 {
		return nil, ErrParams
	}
	var layers []*layer
	for _, f := range filters {
		l, err := f.single()
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	if err := compareShapes(layers); err != nil {
		return nil, err
	}
	switch {
	case layers[0].layout == Ribbon:
		return nil, ErrIsRibbon
	case layers[0].layout == Counting && how == intersected:
		return nil, ErrIsCounting
	}
	h := mergedHeader(layers, how)
	image, err := newImage(h)
	if err != nil {
		return nil, err
	}
	for i, f := range filters {
		whole, err := f.verified()
		if err != nil {
			return nil, err
		}
		whole[0].foldInto(h.bodyOf(image), whole[0].m/h.m, how == intersected && i > 0)
	}
	ones, _ := countCells(h.layout, h.bodyOf(image))
	seal(image, h, mergedCounts(layers, h, how, ones))
	return ownFilter(image, filters...)
}

// compareShapes returns the first error by which layers differ: operations.md 2.
func compareShapes(layers []*layer) error {
	first := layers[0]
	for _, check := range []struct {
		equal func(*layer) bool
		err   error
	}{
		{func(l *layer) bool { return l.layout == first.layout }, ErrDiffLayout},
		{func(l *layer) bool { return l.hashID == first.hashID && l.sameFunction(first) }, ErrDiffHash},
		{func(l *layer) bool { return l.k == first.k }, ErrDiffHashCount},
		{func(l *layer) bool { return l.seed == first.seed }, ErrDiffSeed},
	} {
		for _, l := range layers {
			if !check.equal(l) {
				return check.err
			}
		}
	}
	return compareKinds(layers)
}

// sameFunction compares the self-test of an application's function.
func (l *layer) sameFunction(other *layer) bool {
	return l.hashID == xxh3ID || l.selfTest == other.selfTest
}

// compareKinds compares each pair.
func compareKinds(layers []*layer) error {
	for i, l := range layers {
		for _, other := range layers[:i] {
			if err := kindsMerge(KeyKind(l.keyKind), KeyKind(other.keyKind)); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindsMerge returns the error of a union of two kinds of keys.
func kindsMerge(a, b KeyKind) error {
	switch {
	case a == b:
		return nil
	case a.newer() || b.newer():
		return ErrFeature
	case a == UnknownKeys && b != LowerKeys, b == UnknownKeys && a != LowerKeys:
		return nil
	}
	return ErrKeyKind
}

// mergedHeader returns the header of a union or intersection: operations.md 6.
func mergedHeader(layers []*layer, how uint32) *header {
	h := layers[0].result()
	h.tag, h.label = [16]byte{}, [112]byte{}
	for _, l := range layers[1:] {
		h.m = divisor(h.m/h.unit(), l.m/h.unit()) * h.unit()
		h.provenance |= l.provenance & knownProvenance
		if l.capacity > h.capacity {
			h.capacity = l.capacity
		}
		if l.fpr > h.fpr { // numbers above 0 are in the order of their bytes
			h.fpr = l.fpr
		}
		if l.keyKind != h.keyKind {
			h.keyKind = uint32(UnknownKeys)
		}
	}
	if h.keyKind == uint32(UnknownKeys) {
		h.compat = 0
	}
	h.unfolded = h.m
	h.provenance |= how
	return h
}

// divisor returns the greatest common divisor.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mergedCounts returns n of a union or intersection.
func mergedCounts(layers []*layer, h *header, how uint32, ones uint64) counts {
	var with []*layer // the layers that have keys
	for _, l := range layers {
		if l.n != 0 || l.flags&flagEstimated != 0 {
			with = append(with, l)
		}
	}
	switch {
	case len(layers) == 1:
		return counts{n: layers[0].n, estimated: layers[0].flags&flagEstimated != 0}
	case how == intersected && len(with) < len(layers):
		return counts{estimated: true}
	case how == intersected:
		return counts{n: smallest(with, estimate(h, ones)), estimated: true}
	case len(with) == 0:
		return counts{}
	case len(with) == 1:
		return counts{n: with[0].n, estimated: with[0].flags&flagEstimated != 0}
	}
	return counts{n: between(with, estimate(h, ones)), estimated: true}
}

// estimate returns how many keys set this many cells, if they are spread by chance.
func estimate(h *header, ones uint64) float64 {
	return -float64(h.m) / float64(h.k) * math.Log1p(-float64(ones)/float64(h.m))
}

func smallest(layers []*layer, n float64) uint64 {
	for _, l := range layers {
		n = math.Min(n, float64(l.n))
	}
	return uint64(n)
}

// between limits n to the possible number of keys of a union: at least the largest number of a
// source, at most their sum.
func between(layers []*layer, n float64) uint64 {
	var most, sum uint64
	for _, l := range layers {
		sum = saturate(sum, l.n)
		if l.n > most {
			most = l.n
		}
	}
	switch {
	case n <= float64(most):
		return most
	case n >= float64(sum):
		return sum
	}
	return uint64(n)
}
