// SPDX-License-Identifier: MIT

// tests/vectors.tsv: section 20.2 of format-spec.md.

package bloomfile

import (
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"testing"
)

// values are the input of a vector.
type values struct {
	t *testing.T
	row
}

func (v values) decimal(name string) uint64 { return number(v.t, v.row[name], 10) }
func (v values) hex(name string) uint64     { return number(v.t, v.row[name], 16) }

func (v values) layout() Layout { return layoutOf(v.row["layout"]) }

func layoutOf(name string) Layout {
	for l := Blocked; l <= Ribbon; l++ {
		if l.String() == name {
			return l
		}
	}
	return 0
}

var vectors = map[string]func(values) string{
	"crc":      func(v values) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(v.row["text"]))) },
	"digest":   vectorDigest,
	"selftest": func(v values) string { return fmt.Sprintf("%016x", selfTest(v.hex("seed"))) },
	"columns":  vectorColumns,
	"lookup":   vectorLookup,
	"rate":     vectorRate,
	"size":     vectorSize,
}

func TestVectorsMatch(t *testing.T) {
	done := map[string]int{}
	for _, r := range table(t, tree+"tests/vectors.tsv") {
		vector := vectors[r["kind"]]
		if vector == nil {
			continue
		}
		v := values{t, row{"layout": r["layout"], "answer": r["answer"]}}
		for _, pair := range strings.Fields(r["input"]) {
			name, value, _ := strings.Cut(pair, "=")
			v.row[name] = value
		}
		if got := vector(v); got != r["answer"] && !nearlyEqual(got, r["answer"]) {
			t.Errorf("%s %s %s: %s, not %s", r["kind"], r["layout"], r["input"], got, r["answer"])
		}
		done[r["kind"]]++
	}
	for kind := range vectors {
		if done[kind] == 0 {
			t.Errorf("no vector %s", kind)
		}
	}
}

// nearlyEqual compares rates: nine digits are wanted.
func nearlyEqual(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && strings.Contains(b, "e") && math.Abs(x-y) <= 1e-9*y
}

func vectorDigest(v values) string {
	key := []byte(v.row["text"])
	if _, ok := v.row["length"]; ok {
		key = make([]byte, v.decimal("length"))
		for i := range key {
			key[i] = byte(128 + 157*i)
		}
	}
	return fmt.Sprintf("%016x", Digest(key, v.hex("seed")))
}

func vectorColumns(v values) string {
	words, groups := 16*v.decimal("lines")-2, v.decimal("groups")
	s := shapeOf(words, groups)
	return fmt.Sprint(s.low, s.few, uint64(pageRate(words, groups)*float64(groups-1)*(1<<32)))
}

func vectorLookup(v values) string {
	words, groups := 16*v.decimal("lines")-2, v.decimal("groups")
	hash, group, coefficients := equation(v.hex("digest"), v.decimal("page_seed"), groups)
	columns, first := shapeOf(words, groups).columns(group)
	word := func(i uint64) uint64 { return (i + 1) * goldenC >> 32 }
	var parities uint64
	for col := uint64(0); col < columns; col++ {
		pair := (word(first+col) | word(first+columns+col)<<32) & coefficients
		for ; pair != 0; pair &= pair - 1 {
			parities ^= 1 << col
		}
	}
	return fmt.Sprintf("%016x %d %016x %08x", hash, group, coefficients, parities)
}

func vectorRate(v values) string {
	h := &header{layout: v.layout(), k: uint32(v.decimal("k"))}
	return fmt.Sprintf("%.10e", h.rate(v.decimal("n"), v.decimal("m")))
}

func vectorSize(v values) string {
	n, k := v.decimal("n"), 0
	if _, ok := v.row["k"]; ok {
		k = int(v.decimal("k"))
	}
	if _, ok := v.row["m"]; ok {
		m := roundUp(v.decimal("m"), newSizer(v.layout(), 1).unit())
		return fmt.Sprint(m, bestK(v.layout(), n, m))
	}
	rate, err := strconv.ParseFloat(v.row["fpr"], 64)
	if err != nil {
		v.t.Fatal(err)
	}
	h := &header{layout: v.layout(), capacity: n, k: uint32(k), size: fileHeader}
	if v.row["header_size"] == "512" {
		h.size = embeddedHeader
	}
	if err := h.choose(rate); err != nil {
		return nameOf(err)
	}
	return fmt.Sprint(h.m, h.k)
}
