// SPDX-License-Identifier: MIT

// Filters in memory, and streams.

package bloomfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestBloomFilterHasItsKeys(t *testing.T) {
	for _, layout := range []Layout{Blocked, Classic} {
		f, err := NewBloomFilter(Params{Layout: layout, Capacity: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for i := uint64(0); i < 1000; i++ {
			f.AddString(fmt.Sprint(i))
		}
		maybes := 0
		for i := 0; i < 10000; i++ {
			if f.TestString(fmt.Sprint(i)) {
				maybes++
			}
		}
		if maybes < 1000 || maybes > 1200 || f.n < 980 || f.ApproximatedSize() < 900 || f.ApproximatedSize() > 1100 {
			t.Error(layout, maybes, f.n, f.ApproximatedSize())
		}
		expectSameAnswers(t, f)
	}
}

// expectSameAnswers writes the filter, and opens it in every way.
func expectSameAnswers(t *testing.T, f *BloomFilter) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.bloom")
	if err := f.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	var read BloomFilter
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n, err := read.ReadFrom(file); err != nil || n != int64(len(f.image)) {
		t.Fatal(n, err)
	}
	sealed, err := f.Filter()
	if err != nil {
		t.Fatal(err)
	}
	opened := mustOpen(t, path)
	if err := opened.Verify(context.Background()); err != nil || !read.Equal(f) || opened.Info().Keys != read.n {
		t.Error(err, opened.Info().Keys, read.n)
	}
	for digest := uint64(0); digest < 1<<63; digest += 1 << 50 {
		wanted := f.TestDigest(digest)
		if read.TestDigest(digest) != wanted || sealed.TestDigest(digest) != wanted || opened.TestDigest(digest) != wanted {
			t.Fatal(digest)
		}
	}
}

func TestAddReportsNewKeys(t *testing.T) {
	f := NewWithEstimates(100, 0.001)
	if f.TestAndAdd([]byte("a")) || !f.TestAndAddString("a") || f.TestOrAdd([]byte("b")) || !f.TestOrAddString("b") {
		t.Error("wrong answers")
	}
	if !f.estimated || f.n != 2 || f.Add(nil).AddUint64(7) != f || !f.Test(nil) || !f.TestUint64(7) {
		t.Errorf("%+v", f.counts)
	}
	if g := f.Copy(); !g.Equal(f) || g.ClearAll().Test(nil) || !f.Test(nil) || g.n != 0 {
		t.Error("a copy shares its bits")
	}
}

func TestCountIsExactIfNoKeyIsAddedTwice(t *testing.T) {
	f := New(100000, 5)
	for i := uint64(0); i < 100; i++ {
		f.AddUint64(i)
	}
	sealed, err := f.Filter()
	if err != nil || sealed.Info().Keys != 100 || sealed.Info().Estimated {
		t.Error(err, sealed.Info())
	}
}

func TestMergedBloomFilterHasAllKeys(t *testing.T) {
	f, g := New(5000, 4).AddString("a"), New(5000, 4).AddString("b")
	if err := f.Merge(g); err != nil || !f.TestString("a") || !f.TestString("b") {
		t.Error(err)
	}
	if err := f.Merge(New(6000, 4)); !errors.Is(err, ErrDiffBits) {
		t.Error(err)
	}
	if m, k := EstimateParameters(1000, 0.01); m != 10240 || k != 5 {
		t.Error(m, k)
	}
}

func TestBloomFilterRefusesOtherFilters(t *testing.T) {
	var f BloomFilter
	for name, wanted := range map[string]error{
		"slice-first.bloom": ErrIsSlice, "series-3.bloom": ErrIsSeries, "ribbon-file.bloom": ErrLayout,
		"counting-file.bloom": ErrLayout, "application-blocked.bloom": ErrHash,
		"../golden-refused/page-0-zero.bloom": ErrPage,
	} {
		if err := f.UnmarshalBinary(readAll(t, golden+name)); !errors.Is(err, wanted) {
			t.Error(name, err)
		}
	}
	for _, p := range []Params{{}, {Capacity: 9, Layout: Ribbon}, {Capacity: 9, Layout: Counting}} {
		if _, err := NewBloomFilter(p); !errors.Is(err, ErrParams) {
			t.Error(err)
		}
	}
}

func TestConcatenatedFiltersAreReadInOrder(t *testing.T) {
	var stream bytes.Buffer
	names := []string{"blocked-file.bloom", "series-3.bloom", "ribbon-embedded.bloom"}
	for _, name := range names {
		stream.Write(readAll(t, golden+name))
	}
	for _, name := range names {
		f, err := Read(&stream)
		if err != nil || !bytes.Equal(bytesOf(t, f), readAll(t, golden+name)) {
			t.Error(name, err)
		}
	}
	if _, err := Read(&stream); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
}

func TestTruncatedStreamsReturnErrTruncated(t *testing.T) {
	image := readAll(t, golden+"classic-embedded.bloom")
	for size := 1; size < len(image); size++ {
		if _, err := Read(bytes.NewReader(image[:size])); !errors.Is(err, ErrTruncated) {
			t.Fatal(size, err)
		}
	}
	if _, err := Read(io.MultiReader(bytes.NewReader(image[:20]), failing{})); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }
