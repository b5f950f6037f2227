// SPDX-License-Identifier: MIT

// Kinds of keys, sticky errors, and sizes that a process cannot have.

package bloomfile

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestStringsDoNotFitByteStrings(t *testing.T) {
	f := newOfKind(t, BytesKeys).Add([]byte("a"))
	sealed, err := f.Filter()
	if err != nil {
		t.Fatal(err)
	}
	if !f.TestString("x") || !errors.Is(f.Err(), ErrKeyKind) || f.Test([]byte("x")) {
		t.Error(f.Err())
	}
	if !sealed.TestString("x") || !errors.Is(sealed.Err(), ErrKeyKind) || sealed.Test([]byte("x")) {
		t.Error(sealed.Err())
	}
	if f.AddString("x"); !errors.Is(f.seal(), ErrKeyKind) {
		t.Error("a string was added")
	}
	b, _ := NewBuilder(Params{KeyKind: BytesKeys})
	if b.AddString("x"); !errors.Is(b.err, ErrKeyKind) {
		t.Error(b.err)
	}
}

func TestDigestOfLowerKeysIgnoresCase(t *testing.T) {
	f := build(t, Params{KeyKind: LowerKeys}, []byte("Example.COM"))
	if !f.TestDigest(f.Digest([]byte("Example.COM"))) || !f.TestDigest(f.Digest([]byte("example.com"))) {
		t.Error("a silent no")
	}
}

// overwritten returns a filter whose file another program wrote to. The program then moved the file's time by `later`.
func overwritten(t *testing.T, later time.Duration) *Filter {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.bloom")
	if err := build(t, Params{Bits: 4096 * 64, K: 4}, []byte("a")).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	f := mustOpen(t, path)
	for i := uint64(0); i < 1000; i++ {
		f.TestUint64(i) // marks the pages as good
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{255, 255}, fileHeader); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime().Add(later), info.ModTime().Add(later)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestChangedFileIsNotCopied(t *testing.T) {
	needsMaps(t)
	for name, copying := range map[string]func(*Filter) error{
		"bytes":  func(f *Filter) error { _, err := f.Bytes(); return err },
		"stream": func(f *Filter) error { _, err := f.WriteTo(io.Discard); return err },
		"file":   func(f *Filter) error { return f.WriteFile(filepath.Join(t.TempDir(), "x")) },
		"fold":   func(f *Filter) error { _, err := Fold(f, 1); return err },
		"verify": func(f *Filter) error { return f.Verify(context.Background()) },
	} {
		for _, looks := range []int{0, 1} {
			f := overwritten(t, -time.Hour)
			if looks > 0 && !errors.Is(f.Err(), ErrChanged) {
				t.Error(f.Err())
			}
			if err := copying(f); !errors.Is(err, ErrChanged) || !f.TestString("x") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestWriteThatKeepsTheTimeIsFound(t *testing.T) {
	needsMaps(t)
	if f := overwritten(t, 0); !errors.Is(f.Err(), ErrChanged) {
		t.Error(f.Err())
	}
}

func TestWriteIsFoundIfTheNameCannotBeLookedUp(t *testing.T) {
	needsMaps(t)
	intact := mustOpen(t, copyOf(t, "classic-file.bloom"))
	intact.TestString("not in it")
	for f, want := range map[*Filter]error{overwritten(t, time.Hour): ErrChanged, intact: nil} {
		path := f.opened.Load().origin.path
		if os.Rename(path, path+"2") != nil || os.Symlink(path, path) != nil {
			t.Fatal("cannot replace it by a link to itself")
		}
		if err := f.Err(); err != want || f.TestString("not in it") != (want != nil) {
			t.Error(err)
		}
	}
}

func TestDamageIsReportedAfterClose(t *testing.T) {
	image := bytesOf(t, build(t, Params{Bits: 4096}, []byte("a")))
	image[fileHeader] ^= 1
	f, err := Parse(image)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Verify(context.Background())
	_ = f.Close()
	if !errors.Is(f.Err(), ErrPage) || f.DamagedPages() != 1 {
		t.Error(f.Err(), f.DamagedPages())
	}
	f = build(t, Params{KeyKind: IntegerKeys})
	f.TestString("x")
	_ = f.Close()
	if !errors.Is(f.Err(), ErrClosed) || !errors.Is(f.Err(), State) || !errors.Is(ErrParams, Usage) {
		t.Error(f.Err())
	}
}

func TestZeroFilterAnswersMaybe(t *testing.T) {
	var f Filter
	if !f.TestString("x") || !f.Test(nil) || !f.TestUint64(1) || !f.TestDigest(f.Digest(nil)) || f.DamagedPages() != 0 ||
		f.TestBatch([][]byte{nil}, make([]bool, 1)) != 1 || f.Close() != nil || !errors.Is(f.Err(), ErrClosed) {
		t.Error(f.Err())
	}
	if _, err := Fold(&f, 1); !errors.Is(err, ErrClosed) || f.WriteFile("x") == nil || f.Verify(context.Background()) == nil {
		t.Error(err)
	}
}

func TestClearedBloomFilterHasNoError(t *testing.T) {
	f := newOfKind(t, IntegerKeys)
	f.TestString("x")
	if err := f.ClearAll().Err(); err != nil {
		t.Error(err)
	}
}

func TestZeroBloomFilterHasAnError(t *testing.T) {
	if f := new(BloomFilter); f.Err() != errNoSize || f.Copy().AddString("x").Err() != errNoSize || f.ClearAll().Err() != errNoSize {
		t.Error(f.Copy().Err(), f.Err())
	}
}

func TestEmptyRibbonIsNotOverCapacity(t *testing.T) {
	build(t, Params{Layout: Ribbon, Bits: 512, Rate: 0.001})
}

func TestMergeOfBloomFiltersNamesTheDifference(t *testing.T) {
	f := newOfKind(t, UnknownKeys)
	for _, c := range []struct {
		p   Params
		err error
	}{
		{Params{Bits: 51200, K: 6, Layout: Classic}, ErrDiffLayout}, {Params{Bits: 51200, K: 5}, ErrDiffHashCount},
		{Params{Bits: 51200, K: 6, Seed: 1}, ErrDiffSeed}, {Params{Bits: 512, K: 6}, ErrDiffBits},
		{Params{Bits: 51200, K: 6, Embedded: true}, ErrDiffForm},
	} {
		g, err := NewBloomFilter(c.p)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Merge(g); !errors.Is(err, c.err) {
			t.Error(err)
		}
	}
}

func TestGobTakesAValue(t *testing.T) {
	var stream bytes.Buffer
	type index struct{ Seen BloomFilter }
	var made index
	if err := gob.NewEncoder(&stream).Encode(index{*New(512, 3).AddString("a")}); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&stream).Decode(&made); err != nil || !made.Seen.TestString("a") {
		t.Error(err)
	}
}

func TestResultsKeepTheNameOfAHash(t *testing.T) {
	info := mustOpen(t, golden+"application-blocked.bloom", AnyHash()).Info()
	f := mustOpen(t, golden+"application-blocked.bloom", WithHash(info.HashID, info.SelfTest))
	for name, make := range map[string]func() (*Filter, error){
		"fold": func() (*Filter, error) { return Fold(f, 1) }, "merge": func() (*Filter, error) { return Merge(f, f) },
	} {
		made, err := make()
		if err != nil {
			t.Fatal(err)
		}
		noes := 0
		for i := uint64(0); i < 1000; i++ {
			if !made.TestDigest(i * goldenC) {
				noes++
			}
		}
		if noes < 500 || made.Err() != nil {
			t.Error(name, noes, made.Err())
		}
	}
}

// sparse writes a header whose body is zeros of a size, which take no space. It returns the header.
func sparse(t *testing.T, path string, bits uint64) []byte {
	t.Helper()
	h, _ := Params{Bits: bits, K: 1}.plan(1)
	h.bodySize = h.wantedBody()
	head := make([]byte, fileHeader)
	h.encode(head[:fileHeader/2])
	h.crc = u32(head, fileHeader/2-4)
	(&record{}).encode(head[fileHeader/2:3*fileHeader/4], h.crc)
	copy(head[3*fileHeader/4:], head[fileHeader/2:])
	if err := os.WriteFile(path, head, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(h.imageSize())); err != nil {
		t.Skip(err)
	}
	return head
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestSizesThatAProcessCannotHaveAreErrors(t *testing.T) {
	if canAllocate(1 << 40) {
		t.Skip("this system grants memory that it does not have")
	}
	path := filepath.Join(t.TempDir(), "sparse.bloom")
	head := sparse(t, path, 1<<43)
	_, err := Open(path, InMemory())
	if !errors.Is(err, ErrParams) {
		t.Error(err)
	}
	if _, err := NewBloomFilter(Params{Capacity: 1 << 40}); !errors.Is(err, ErrParams) {
		t.Error(err)
	}
	if math.MaxInt == math.MaxInt32 {
		if _, err = Read(io.MultiReader(bytes.NewReader(head), zeros{})); !errors.Is(err, ErrParams) {
			t.Error(err)
		}
		return
	}
	f := mustOpen(t, path)
	if _, err = f.Bytes(); !errors.Is(err, ErrParams) {
		t.Error(err)
	}
	if _, err = Fold(f, 1<<20); !errors.Is(err, ErrParams) {
		t.Error(err)
	}
}

func TestClosedFilesAreUnmappedWithoutAFullHeap(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("mappings are counted on Linux")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	path := filepath.Join(t.TempDir(), "closed.bloom")
	if err := build(t, Params{}, []byte("a")).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 5000; i++ {
		_ = mustOpen(t, path).Close()
	}
	count := 5000
	for i := 0; i < 100 && count > 2000; i++ {
		time.Sleep(10 * time.Millisecond) // finalizers run
		count = strings.Count(string(readAll(t, "/proc/self/maps")), path)
	}
	if count > 2000 {
		t.Error(count, "mappings")
	}
}
