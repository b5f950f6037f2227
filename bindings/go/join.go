// SPDX-License-Identifier: MIT

// Joining slices: slices.md 1.3.

package bloomfile

import (
	"fmt"
	"sort"
)

// Join makes the whole filter of all of its slices, in any order. The result has the bytes of a filter that was built
// of all keys. It returns ErrIncomplete if a slice is missing, is of another filter, or was made from other keys.
func Join(slices ...*Filter) (*Filter, error) {
	joined, err := join(slices)
	if err != nil {
		return nil, fmt.Errorf("bloomfile: cannot join: %w", err)
	}
	return joined, nil
}

func join(slices []*Filter) (*Filter, error) {
	parts := make(map[*layer]*Filter)
	var layers []*layer
	for _, f := range slices {
		list, err := f.headers()
		if err != nil {
			return nil, err
		}
		layers = append(layers, list[0])
		parts[list[0]] = f
	}
	sort.SliceStable(layers, func(i, j int) bool { return layers[i].firstBlock < layers[j].firstBlock })
	if !complete(layers) {
		return nil, ErrIncomplete
	}
	h := layers[0].joined()
	image, err := newImage(h)
	if err != nil {
		return nil, err
	}
	var total counts
	for _, l := range layers {
		whole, err := parts[l].verified()
		if err != nil {
			return nil, err
		}
		copy(h.bodyOf(image)[64*l.firstBlock:], whole[0].body[:l.usedBody()])
		sum := saturate(total.n, l.n)
		total.estimated = total.estimated || l.flags&flagEstimated != 0 || sum != total.n+l.n
		total.n = sum
	}
	seal(image, h, total)
	return ownFilter(image, slices...)
}

// complete checks steps 1 to 4 of sorted slices.
func complete(layers []*layer) bool {
	next, elsewhere := uint64(0), false
	for _, l := range layers {
		if l.incompat != isSlice || l.firstBlock != next || !l.sameWhole(layers[0]) {
			return false
		}
		next += l.m / 512
		elsewhere = elsewhere || l.keysElsewhere != 0
	}
	if len(layers) == 0 || next != layers[0].wholeBlocks {
		return false
	}
	for _, l := range layers {
		if elsewhere && (l.keysRead != layers[0].keysRead || l.digestSum != layers[0].digestSum) {
			return false
		}
	}
	return true
}

func (l *layer) sameWhole(other *layer) bool {
	a, b := l.joined(), other.joined()
	return *a == *b
}

// joined returns the header of the whole.
func (l *layer) joined() *header {
	h := l.result()
	h.m = 512 * l.wholeBlocks
	h.unfolded = h.m
	return h
}
