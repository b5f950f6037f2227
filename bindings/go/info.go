// SPDX-License-Identifier: MIT

// Info: the header of a filter, for programs.

package bloomfile

import (
	"bytes"
	"math"
)

// Info describes a filter.
type Info struct {
	Layout      Layout
	Embedded    bool    // the form with a header of 512 bytes
	Keys        uint64  // different keys; if it was live, adds of keys that seemed new; of a series, of all layers
	Estimated   bool    // Keys is an estimate
	Bits        uint64  // m: bits or counters
	K           uint32  // positions of a key
	Seed        uint64  // of the hash
	HashID      uint32  // 1: XXH3
	SelfTest    uint64  // with HashID, the name of an application's function
	KeyKind     KeyKind // the kind of the keys
	Capacity    uint64  // keys that the filter was sized for
	Rate        float64 // false-positive rate that it was sized for, or 0
	Tag         [16]byte
	Label       string
	Watermark   [32]byte
	Provenance  uint32      // how the filter was made: section 6 of the specification
	FirstBlock  uint64      // of a slice
	WholeBlocks uint64      // of a slice; 0 if the filter is whole
	Layers      []LayerInfo // of a sealed series, the oldest first
}

// LayerInfo describes a layer of a series.
type LayerInfo struct {
	Keys, Bits uint64
	K          uint32
}

// Info describes the filter. If it is a series, Bits, K, Capacity and Rate are those of the last layer.
func (f *Filter) Info() Info {
	info := f.info
	info.Layers = append([]LayerInfo(nil), info.Layers...)
	return info
}

func describe(layers []*layer) Info {
	l := layers[len(layers)-1]
	info := Info{
		Layout: l.layout, Embedded: l.size == embeddedHeader, Bits: l.m, K: l.k, Seed: l.seed, HashID: l.hashID,
		SelfTest: l.selfTest, KeyKind: KeyKind(l.keyKind), Capacity: l.capacity, Rate: math.Float64frombits(l.fpr),
		Tag: l.tag, Label: string(bytes.TrimRight(l.label[:], "\x00")), Watermark: l.watermark,
		Provenance: l.provenance, FirstBlock: l.firstBlock, WholeBlocks: l.wholeBlocks,
	}
	for _, l := range layers {
		info.Keys = saturate(info.Keys, l.n)
		info.Estimated = info.Estimated || l.flags&flagEstimated != 0
		if l.layers != 0 {
			info.Layers = append(info.Layers, LayerInfo{l.n, l.m, l.k})
		}
	}
	return info
}

// saturate returns a + b, or the largest number.
func saturate(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}
