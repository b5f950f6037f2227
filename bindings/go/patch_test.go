// SPDX-License-Identifier: MIT

// Patches: the golden bytes, vectors, refused patches, and hostile bytes.

package bloomfile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand"
	"testing"
)

func init() { vectors["patch"] = vectorPatch }

func vectorPatch(v values) string {
	var filters []*Filter
	for _, name := range []string{"from", "to"} {
		h, digests := v.shape(v.decimal(name))
		f, err := Parse(sealedOf(v.t, h, digests))
		if err != nil {
			v.t.Fatal(err)
		}
		filters = append(filters, f)
	}
	patch, err := Diff(filters[0], filters[1])
	if err != nil {
		v.t.Error(err)
	}
	return hex.EncodeToString(patch)
}

func TestGoldenPatchesAreMadeAndApplied(t *testing.T) {
	for _, r := range table(t, golden+"patches.tsv") {
		base, result := mustOpen(t, golden+r["base"], AnyHash()), mustOpen(t, golden+r["result"], AnyHash())
		patch, err := Diff(base, result)
		if err != nil || sum(patch) != r["sha256"] {
			t.Errorf("making %s: %v", r["patch"], err)
		}
		made, err := Apply(base, readAll(t, golden+r["patch"]))
		if err != nil || !bytes.Equal(bytesOf(t, made), readAll(t, golden+r["result"])) {
			t.Errorf("applying %s: %v", r["patch"], err)
		}
	}
}

func TestRefusedPatchesAreRefused(t *testing.T) {
	for _, r := range table(t, refused+"patches.tsv") {
		if _, err := Apply(mustOpen(t, golden+r["base"], AnyHash()), readAll(t, refused+r["patch"])); nameOf(err) != r["error"] {
			t.Errorf("%s: %v, not %s", r["patch"], err, r["error"])
		}
	}
}

func TestBytesBehindAPatchAreReportedBeforeItsBody(t *testing.T) {
	patch := readAll(t, golden+"classic-embedded-to-patched-classic.patch")
	patch[157] ^= 1                                   // another body, which ends earlier
	copy(patch[196:], []byte{0x46, 0xD1, 0x11, 0xA0}) // part_crc
	base := mustOpen(t, golden+"classic-embedded.bloom")
	if _, err := Apply(base, patch); !errors.Is(err, ErrTrailing) {
		t.Error(err)
	}
}

func TestPatchesBetweenRandomFiltersApply(t *testing.T) {
	chance := rand.New(rand.NewSource(1))
	for i := 0; i < 40; i++ {
		p := Params{
			OverCapacity: true,
			Layout:       Layout(1 + i%3), Bits: uint64(1 + chance.Intn(1<<uint(chance.Intn(23)))), K: 1 + chance.Intn(9),
			Embedded: i%2 == 0, Label: "old",
		}
		a, _ := NewBuilder(p)
		p.Label = "a new label"
		b, _ := NewBuilder(p)
		for j := chance.Intn(1 + int(p.Bits/8)); j >= 0; j-- {
			x := chance.Uint64()
			if chance.Intn(10) != 0 {
				a.AddDigest(x)
			}
			if chance.Intn(10) != 0 {
				b.AddDigest(x)
			}
		}
		old, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		new, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		expectPatch(t, old, new)
	}
}

func expectPatch(t *testing.T, old, new *Filter) {
	t.Helper()
	patch, err := Diff(old, new)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Apply(old, patch)
	if err != nil || !bytes.Equal(bytesOf(t, made), bytesOf(t, new)) {
		t.Fatalf("%+v: %v", old.Info(), err)
	}
	if _, err := Apply(new, patch); !errors.Is(err, ErrDiffBase) {
		t.Error(err)
	}
}

func TestSeriesArePatched(t *testing.T) {
	f := mustOpen(t, golden+"series-3.bloom")
	patch, err := Diff(f, f)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := Apply(f, patch); err != nil || !bytes.Equal(bytesOf(t, made), bytesOf(t, f)) {
		t.Error(err)
	}
}

func TestDamagedPatchesAreRefused(t *testing.T) {
	for _, r := range table(t, golden+"patches.tsv") {
		base, patch := mustOpen(t, golden+r["base"], AnyHash()), readAll(t, golden+r["patch"])
		for i := range patch {
			damaged := append([]byte(nil), patch...)
			damaged[i] ^= 1 << (i % 8)
			for _, b := range [][]byte{damaged, patch[:i]} {
				if _, err := Apply(base, b); err == nil {
					t.Errorf("%s: byte %d", r["patch"], i)
				}
			}
		}
	}
}

func TestDiffRefusesDifferentFilters(t *testing.T) {
	a := build(t, Params{Bits: 1024, K: 3})
	for i, c := range []struct {
		p   Params
		err error
	}{
		{Params{Bits: 1024, K: 3, Layout: Classic}, ErrDiffLayout},
		{Params{Bits: 1024, K: 4}, ErrDiffHashCount},
		{Params{Bits: 1024, K: 3, Seed: 1}, ErrDiffSeed},
		{Params{Bits: 512, K: 3, Embedded: true}, ErrDiffBits},
		{Params{Bits: 1024, K: 3, Embedded: true}, ErrDiffForm},
		{Params{Bits: 1024, Layout: Ribbon}, ErrDiffLayout},
	} {
		if _, err := Diff(a, build(t, c.p)); !errors.Is(err, c.err) {
			t.Error(i, err)
		}
	}
	if _, err := Diff(a, mustOpen(t, golden+"series-3.bloom")); !errors.Is(err, ErrDiffHashCount) {
		t.Error(err)
	}
	ribbon := mustOpen(t, golden+"ribbon-file.bloom")
	if _, err := Diff(ribbon, ribbon); !errors.Is(err, ErrIsRibbon) {
		t.Error(err)
	}
}

func FuzzApply(f *testing.F) {
	bases := map[int]*Filter{}
	for i, r := range table(f, golden+"patches.tsv") {
		f.Add(i, readAll(f, golden+r["patch"]))
		bases[i] = mustOpen(f, golden+r["base"], AnyHash())
	}
	f.Fuzz(func(t *testing.T, i int, patch []byte) {
		if base := bases[i]; base != nil {
			_, _ = Apply(base, patch)
		}
	})
}
