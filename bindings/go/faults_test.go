// SPDX-License-Identifier: MIT

// Faults of readers, files, parameters and callers: errors or "maybe", never a panic or a silent "no".

package bloomfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// readerAt is a function as io.ReaderAt.
type readerAt func(b []byte, at int64) (int, error)

func (r readerAt) ReadAt(b []byte, at int64) (int, error) { return r(b, at) }

func TestErrorOfAReaderIsReturned(t *testing.T) {
	image := readAll(t, golden+"classic-file.bloom")
	size := int64(len(image))
	broken := errors.New("broken")
	for name, r := range map[string]readerAt{
		"short without an error": func(b []byte, at int64) (int, error) { return copy(b[:len(b)-len(b)/2], image[at:]), nil },
		"nothing":                func(b []byte, at int64) (int, error) { return 0, nil },
		"end":                    func(b []byte, at int64) (int, error) { return 0, io.EOF },
		"whole with an error":    func(b []byte, at int64) (int, error) { return copy(b, image[at:]), broken },
		"broken body": func(b []byte, at int64) (int, error) {
			if len(b) > pageSize {
				return 10, broken
			}
			return copy(b, image[at:]), nil
		},
	} {
		if f, err := OpenAt(r, size); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if _, err := OpenAt(bytes.NewReader(image), size); err != nil {
		t.Error(err)
	}
}

func TestClaimedSizeOfAReaderIsNotAllocated(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("such sizes are out of range here")
	}
	endless := readerAt(func(b []byte, _ int64) (int, error) { return len(b), nil })
	if _, err := OpenAt(endless, math.MaxInt64); !errors.Is(err, ErrMagic) {
		t.Error(err)
	}
	h, _ := Params{Bits: 1 << 60}.plan(1)
	h.bodySize = h.wantedBody()
	head := make([]byte, fileHeader)
	h.encode(head[:fileHeader/2])
	huge := readerAt(func(b []byte, at int64) (int, error) {
		if at == 0 {
			copy(b, head)
		}
		return len(b), nil
	})
	if _, err := OpenAt(huge, int64(h.imageSize())); !errors.Is(err, ErrParams) {
		t.Error(err)
	}
}

func TestHugeParametersAreErrors(t *testing.T) {
	for _, p := range []Params{{Bits: 1 << 60}, {Bits: 1 << 60, Layout: Classic}, {Capacity: 1 << 56}} {
		if _, err := NewBloomFilter(p); !errors.Is(err, ErrParams) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if strconv.IntSize == 64 {
		n := uint(math.MaxUint32)
		if m, k := EstimateParameters(n<<12, 0.01); m < n<<12 || k < 5 {
			t.Error(m, k)
		}
	}
}

func TestRibbonForTooManyKeysIsRefusedEarly(t *testing.T) {
	done := make(chan error)
	go func() {
		b, err := NewBuilder(Params{Layout: Ribbon, Capacity: 1 << 60})
		if err == nil {
			_, err = b.Finish()
		}
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrUnreachable) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
}

func TestBuilderRefusesMoreThanTwiceTheRate(t *testing.T) {
	for _, p := range []Params{
		{Capacity: 1000}, {Capacity: 1000, Layout: Classic}, {Capacity: 1000, Layout: Counting},
		{Capacity: 1000, Layout: Ribbon}, {Capacity: 1000, Bits: 10240, K: 7}, {Bits: 10240, K: 7, Rate: 0.01}, {Bits: 10240},
		{Capacity: 1000000, Slice: 2, Slices: 100, Rate: 1e-9},
	} {
		for _, keys := range []int{1000, 20000} {
			b, err := NewBuilder(p)
			if err != nil {
				t.Fatal(err)
			}
			for i := uint64(0); i < uint64(keys); i++ {
				if p.Slices == 0 {
					b.AddUint64(i)
				} else {
					b.AddDigest(1<<58 + i<<41) // in the second of 100 slices
				}
			}
			if _, err := b.Finish(); errors.Is(err, ErrFull) != (keys > 1000) {
				t.Errorf("%+v, %d keys: %v", p, keys, err)
			}
			b.params.OverCapacity = true
			if _, err := b.Finish(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestSizeOfFixedKeysDoesNotWrap(t *testing.T) {
	f := build(t, Params{KeyKind: Fixed(5)}, []byte("12345"))
	if !f.Test(make([]byte, 1<<24+5)) || !errors.Is(f.Err(), ErrKeyKind) {
		t.Error("a silent no", f.Err())
	}
	for _, size := range []int{-1, 0, 1 << 24, 1<<24 + 5} {
		if _, err := NewBuilder(Params{KeyKind: Fixed(size)}); !errors.Is(err, ErrParams) {
			t.Errorf("%d: %v", size, err)
		}
	}
}

func newOfKind(t *testing.T, kind KeyKind) *BloomFilter {
	t.Helper()
	f, err := NewBloomFilter(Params{Bits: 51200, K: 6, KeyKind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestBloomFilterOfLowerKeysIgnoresCase(t *testing.T) {
	f := newOfKind(t, LowerKeys).AddString("ABC").Add([]byte("DEF"))
	sealed, err := f.Filter()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"abc", "ABC", "dEf"} {
		if !f.TestString(key) || !f.Test([]byte(key)) || !sealed.TestString(key) {
			t.Errorf("%s is not in it", key)
		}
	}
	if f.TestString("GHI") || !f.TestAndAddString("Abc") || f.Err() != nil {
		t.Error(f.Err())
	}
}

func TestBloomFilterAnswersMaybeToKeysOfAnotherKind(t *testing.T) {
	for _, look := range []func(*BloomFilter) bool{
		func(f *BloomFilter) bool { return f.TestString("x") },
		func(f *BloomFilter) bool { return f.Test([]byte("x")) },
		func(f *BloomFilter) bool { return newOfKind(t, TextKeys).TestUint64(1) },
	} {
		f := newOfKind(t, IntegerKeys).AddUint64(1)
		if !look(f) {
			t.Error("a silent no")
		}
		if _, err := f.MarshalBinary(); err != nil {
			t.Error(err)
		}
	}
	f := newOfKind(t, IntegerKeys)
	if !f.TestString("x") || !errors.Is(f.Err(), ErrKeyKind) || f.TestUint64(7) || f.Copy().Err() != nil {
		t.Error(f.Err())
	}
}

func TestBloomFilterThatLostAKeyIsNotWritten(t *testing.T) {
	for _, add := range []func(*BloomFilter){
		func(f *BloomFilter) { f.AddString("x") },
		func(f *BloomFilter) { f.Add([]byte("x")) },
		func(f *BloomFilter) { f.TestAndAddString("x") },
		func(f *BloomFilter) { _ = f.Merge(newOfKind(t, IntegerKeys).AddString("x")) },
	} {
		f := newOfKind(t, IntegerKeys)
		add(f)
		if f.Err() == nil {
			continue // Merge refused
		}
		path := filepath.Join(t.TempDir(), "lost.bloom")
		_, toMemory := f.MarshalBinary()
		_, toStream := f.WriteTo(io.Discard)
		_, toFilter := f.Filter()
		for _, err := range []error{toMemory, toStream, toFilter, f.WriteFile(path), f.Copy().WriteFile(path)} {
			if !errors.Is(err, ErrKeyKind) {
				t.Error(err)
			}
		}
		if _, err := f.ClearAll().MarshalBinary(); err != nil {
			t.Error(err)
		}
	}
	if err := newOfKind(t, IntegerKeys).Merge(newOfKind(t, IntegerKeys).AddString("x")); !errors.Is(err, ErrKeyKind) {
		t.Error(err)
	}
}

func TestMergedBloomFiltersNeedOneKindOfKeys(t *testing.T) {
	for _, c := range []struct {
		to, from, result KeyKind
		err              error
	}{
		{LowerKeys, UnknownKeys, LowerKeys, ErrKeyKind}, {UnknownKeys, LowerKeys, UnknownKeys, ErrKeyKind},
		{TextKeys, IntegerKeys, TextKeys, ErrKeyKind}, {TextKeys, UnknownKeys, UnknownKeys, nil},
		{UnknownKeys, IntegerKeys, UnknownKeys, nil}, {LowerKeys, LowerKeys, LowerKeys, nil},
	} {
		f := newOfKind(t, c.to)
		if err := f.Merge(newOfKind(t, c.from)); !errors.Is(err, c.err) || f.kind() != c.result {
			t.Errorf("%v and %v: %v, %v", c.to, c.from, f.kind(), err)
		}
		sealed, err := f.Filter()
		if err != nil || sealed.Info().KeyKind != c.result {
			t.Error(err)
		}
	}
}

func TestJSONRoundTripKeepsTheKeys(t *testing.T) {
	type index struct {
		Seen  *BloomFilter
		Other BloomFilter
	}
	text, err := json.Marshal(index{NewWithEstimates(10, 0.01).AddString("a"), *New(512, 3)})
	if err != nil {
		t.Fatal(err)
	}
	var made index
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	if !made.Seen.TestString("a") || made.Seen.TestString("b") || made.Other.K() != 3 {
		t.Error("the keys are lost")
	}
	if err := json.Unmarshal([]byte(`{"m":1,"k":1,"b":""}`), made.Seen); err == nil {
		t.Error("the JSON of another package was read")
	}
}

func TestZeroBloomFilterIsNotWritten(t *testing.T) {
	var f BloomFilter
	if _, err := f.WriteTo(io.Discard); !errors.Is(err, ErrParams) || !f.TestString("x") || !errors.Is(f.Err(), ErrParams) {
		t.Error(err)
	}
}

// endsAfter is a context that ends after some looks at it.
type endsAfter struct {
	context.Context
	looks int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestDamageFoundBeforeTheContextEndsIsReported(t *testing.T) {
	f, err := Parse(readAll(t, golden+"classic-file.bloom"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(context.Background()); err != nil {
		t.Fatal(err)
	}
	f.opened.Load().image[fileHeader] ^= 1
	if err := f.Verify(&endsAfter{context.Background(), 1}); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if !errors.Is(f.Err(), ErrChanged) || !f.TestDigest(1) {
		t.Error("a finding is lost", f.Err())
	}
}

func TestOperationsRefuseAnOverwrittenFile(t *testing.T) {
	needsMaps(t)
	of := func(seed uint64, key string) *Filter {
		return build(t, Params{Bits: 4096, K: 6, Seed: seed}, []byte(key))
	}
	old := of(0, "old")
	image := bytesOf(t, old)
	new, found := image, false
	for seed := uint64(1); !found; seed++ { // whose last byte that is not 0 is at the same place, with the same value
		new = bytesOf(t, of(seed, "new"))
		at, value := lastByte(image)
		newAt, newValue := lastByte(new)
		found = at == newAt && value == newValue
	}
	for name, operation := range map[string]func(*Filter) error{
		"merge": func(f *Filter) error { _, err := Merge(f, old); return err },
		"fold":  func(f *Filter) error { _, err := Fold(f, 1); return err },
		"diff":  func(f *Filter) error { _, err := Diff(old, f); return err },
	} {
		path := filepath.Join(t.TempDir(), "a.bloom")
		if err := os.WriteFile(path, image, 0o666); err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, path)
		if err := os.WriteFile(path, new, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := operation(f); !errors.Is(err, ErrChanged) || !errors.Is(f.Err(), ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOperationsSurviveATruncatedFile(t *testing.T) {
	needsMaps(t)
	whole := mustOpen(t, golden+"classic-m480833.bloom")
	for name, operation := range map[string]func(*Filter) error{
		"bytes": func(f *Filter) error { _, err := f.Bytes(); return err },
		"write": func(f *Filter) error { _, err := f.WriteTo(io.Discard); return err },
		"file":  func(f *Filter) error { return f.WriteFile(filepath.Join(t.TempDir(), "x")) },
		"merge": func(f *Filter) error { _, err := Merge(whole, f); return err },
		"diff":  func(f *Filter) error { _, err := Diff(f, whole); return err },
		"apply": func(f *Filter) error { _, err := Apply(f, []byte(patchMagic)); return err },
	} {
		path := copyOf(t, "classic-m480833.bloom")
		f := mustOpen(t, path)
		if err := os.Truncate(path, 5000); err != nil {
			t.Fatal(err)
		}
		if err := operation(f); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilterDoesNotHashForAnApplication(t *testing.T) {
	f := mustOpen(t, golden+"application-classic.bloom", AnyHash())
	info := f.Info()
	f = mustOpen(t, golden+"application-classic.bloom", WithHash(info.HashID, info.SelfTest))
	for i := byte(0); i < 100; i++ {
		if !f.TestDigest(f.Digest([]byte{i})) || !f.Test([]byte{i}) {
			t.Fatal("a silent no")
		}
	}
	if !errors.Is(f.Err(), ErrHash) {
		t.Error(f.Err())
	}
}

func TestWriteFileKeepsLinksAndLeavesNoTemporaryFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	folder := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{folder}, names...)...) }
	f := build(t, Params{}, []byte("a"))
	for _, err := range []error{
		os.Mkdir(at("real"), 0o777), os.Symlink("real", at("folder")), os.Symlink("../target", at("real", "link")),
		os.Symlink("loop", at("loop")), os.Symlink(at("made"), at("absolute")),
		f.WriteFile(at("folder", "link")), f.WriteFile(at("folder", "link")), f.WriteFile(at("absolute")),
		f.WriteFile(at(strings.Repeat("n", 255))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{at("target"), at("made"), at(strings.Repeat("n", 255))} {
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Error(path, err)
		}
	}
	for _, path := range []string{at("loop"), at("real"), at("missing", "x"), ""} {
		if err := f.WriteFile(path); err == nil {
			t.Error(path, "was written")
		}
	}
	for pattern, wanted := range map[string]int{"*": 7, ".*": 0, "real/*": 1, "real/.*": 0} {
		if names, err := filepath.Glob(at(pattern)); err != nil || len(names) != wanted {
			t.Error(pattern, names, err)
		}
	}
}

func TestWriteOntoAFullDeviceLeavesNoFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is of Linux")
	}
	f := build(t, Params{}, []byte("a"))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if _, err := f.WriteTo(full); err == nil {
		t.Error("written to a full device")
	}
	if err := f.WriteFile("/dev/full"); err == nil {
		t.Error("a device was replaced")
	}
}

func TestMergedBloomFilterDoesNotCountKeysTwice(t *testing.T) {
	f := New(102400, 7)
	for i := uint64(0); i < 1000; i++ {
		f.AddUint64(i)
	}
	for i := 0; i < 70; i++ {
		if err := f.Merge(f.Copy()); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := f.Filter()
	if err != nil {
		t.Fatal(err)
	}
	if n := sealed.Info().Keys; n < 990 || n > 1100 || !sealed.Info().Estimated {
		t.Error(n)
	}
	empty := New(102400, 7)
	if err := empty.Merge(New(102400, 7).AddString("a")); err != nil || empty.n != 1 || empty.estimated {
		t.Error(err, empty.n, empty.estimated)
	}
}

func TestCapacityOfNewIsTheNumberOfKeys(t *testing.T) {
	f := New(10240, 7)
	for n := uint64(0); n < 3; n++ {
		sealed, err := f.Filter()
		if err != nil {
			t.Fatal(err)
		}
		if info := sealed.Info(); info.Keys != n || n > 0 && info.Capacity != n {
			t.Errorf("%d keys, capacity %d", info.Keys, info.Capacity)
		}
		f.AddUint64(n)
	}
}
