// SPDX-License-Identifier: MIT

// Open filters: sticky errors, closing, files that change, and memory.

package bloomfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// copyOf copies a golden file into a folder of the test.
func copyOf(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.bloom")
	if err := os.WriteFile(path, readAll(t, golden+name), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, path string, list ...Option) *Filter {
	t.Helper()
	needs(t, path)
	f, err := Open(path, list...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func needsMaps(t *testing.T) {
	if !canMap {
		t.Skip("files are not mapped here")
	}
}

func TestClosedFilterAnswersMaybe(t *testing.T) {
	f := mustOpen(t, golden+"classic-file.bloom")
	if f.TestString("certainly not in it") {
		t.Fatal("a false positive")
	}
	for i := 0; i < 2; i++ {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !f.TestString("x") || !f.Test(nil) || !f.TestUint64(1) || !f.TestDigest(1) ||
		f.TestBatch([][]byte{nil}, make([]bool, 1)) != 1 || f.TestDigests([]uint64{1}, make([]bool, 1)) != 1 {
		t.Error("a closed filter answers no")
	}
	if !errors.Is(f.Err(), ErrClosed) || !errors.Is(f.Verify(context.Background()), ErrClosed) {
		t.Error(f.Err())
	}
	if f.Info().Bits != 40003 {
		t.Error("Info is lost")
	}
}

func TestLookupsDuringCloseDoNotCrash(t *testing.T) {
	keys := keysOf(t, golden+"keys/urls.keys")
	for round := 0; round < 20; round++ {
		f := mustOpen(t, golden+"classic-file.bloom")
		var group sync.WaitGroup
		for i := 0; i < 4; i++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for _, key := range keys {
					if !f.Test(key) {
						t.Error("a false no")
					}
				}
			}()
		}
		f.Close()
		runtime.GC()
		group.Wait()
	}
}

func TestTruncatedFileAnswersMaybe(t *testing.T) {
	needsMaps(t)
	for _, name := range []string{"classic-file.bloom", "classic-m480833.bloom", "ribbon-two-pages-embedded.bloom",
		"blocked-one-block.bloom", "counting-embedded.bloom", "series-3.bloom"} {
		size := int64(len(readAll(t, golden+name)))
		for _, left := range []int64{0, 1, 100, 511, 512, 600, 4095, 4096, 5000, 8192, size - 5000, size - 3} {
			if left < 0 || left >= size {
				continue
			}
			for _, warm := range []bool{false, true} {
				cutAndLook(t, copyOf(t, name), left, warm)
			}
		}
	}
}

func cutAndLook(t *testing.T, path string, left int64, warm bool) {
	t.Helper()
	f, image := mustOpen(t, path), readAll(t, path)
	whole, err := Parse(image)
	if err != nil {
		t.Fatal(err)
	}
	if warm {
		if err := f.Verify(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(path, left); err != nil {
		t.Fatal(err)
	}
	for i := uint64(0); i < 2000; i++ {
		digest := i * 0x9E3779B97F4A7C15
		if whole.TestDigest(digest) && !f.TestDigest(digest) {
			t.Fatalf("%s cut to %d: a false no", path, left)
		}
	}
	batch := make([]bool, 1)
	f.TestDigests([]uint64{1}, batch)
	_ = f.Verify(context.Background())
	if !errors.Is(f.Err(), ErrChanged) || !f.TestDigest(12345) {
		t.Errorf("%s cut to %d: %v", path, left, f.Err())
	}
}

func TestOverwrittenFileIsReported(t *testing.T) {
	needsMaps(t)
	path := copyOf(t, "classic-file.bloom")
	f := mustOpen(t, path)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(f.Err(), ErrChanged) || !f.TestString("anything") {
		t.Error(f.Err())
	}
}

func TestReplacedFileKeepsItsAnswers(t *testing.T) {
	path := copyOf(t, "classic-file.bloom")
	f := mustOpen(t, path)
	if err := os.Rename(copyOf(t, "blocked-file.bloom"), path); err != nil {
		t.Fatal(err)
	}
	if f.Err() != nil || f.TestString("not in it") {
		t.Error(f.Err())
	}
	if err := os.Remove(path); err != nil || f.Err() != nil {
		t.Error(err, f.Err())
	}
}

func TestPageChangedAfterAnAnswerIsReportedAsChange(t *testing.T) {
	needsMaps(t)
	path := copyOf(t, "classic-file.bloom")
	f := mustOpen(t, path)
	f.TestString("not in it")
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(make([]byte, 4096), 4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(context.Background()); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

func TestChangedModeIsNotReported(t *testing.T) {
	path := copyOf(t, "classic-file.bloom")
	f := mustOpen(t, path)
	f.TestString("not in it")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 2; i++ {
		if f.Err() != nil || f.TestString("not in it") {
			t.Error(f.Err())
		}
	}
}

func TestKeysOfAnotherKindAnswerMaybe(t *testing.T) {
	for name, wanted := range map[string][3]error{ // of a string, 3 bytes, an integer
		"unknown-not-said": {}, "text": {nil, nil, ErrKeyKind}, "bytes": {ErrKeyKind, nil, ErrKeyKind},
		"integers": {ErrKeyKind, ErrKeyKind, nil}, "fixed-1": {ErrKeyKind, ErrKeyKind, ErrKeyKind},
		"newer-6": {ErrFeature, ErrFeature, ErrFeature}, "lower": {nil, nil, ErrKeyKind},
	} {
		for i, look := range []func(*Filter) bool{
			func(f *Filter) bool { return f.TestString("?!%") },
			func(f *Filter) bool { return f.Test([]byte("?!%")) },
			func(f *Filter) bool { return f.TestUint64(12345678901) },
		} {
			f := mustOpen(t, golden+"key-kind-"+name+".bloom")
			if maybe := look(f); maybe != (wanted[i] != nil) || !errors.Is(f.Err(), wanted[i]) {
				t.Errorf("%s, %d: %v, %v, not %v", name, i, maybe, f.Err(), wanted[i])
			}
		}
	}
}

func TestFilterOfLowerKeysFindsLoweredKeys(t *testing.T) {
	f := mustOpen(t, golden+"key-kind-lower.bloom")
	for _, key := range keysOf(t, golden+"keys/few.keys") {
		if lowered := string(lower(key, nil)); lowered == string(key) && !f.TestString(string(key)) {
			t.Errorf("%q is not in it", key)
		}
	}
}

func TestIntegersHashAsEightBytes(t *testing.T) {
	f := mustOpen(t, golden+"key-kind-integers.bloom")
	for _, key := range keysOf(t, golden+"keys/integers.keys") {
		if !f.TestUint64(u64(key, 0)) || !f.TestInt64(int64(u64(key, 0))) || !f.Test(key) {
			t.Errorf("% x is not in it", key)
		}
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

func TestLookupsAllocateNothing(t *testing.T) {
	key, text := []byte("a key of some length"), "a key of some length"
	maybe, keys := make([]bool, 100), make([][]byte, 100)
	for _, r := range samples(t) {
		for _, list := range [][]Option{nil, {InMemory()}} {
			f := mustOpen(t, golden+r["file"], list...)
			if allocs := testing.AllocsPerRun(100, func() {
				f.Test(key)
				f.TestString(text)
				f.TestUint64(7)
				f.TestDigest(7)
				f.TestBatch(keys, maybe)
			}); allocs != 0 {
				t.Errorf("%s: %v allocations", r["file"], allocs)
			}
		}
	}
}

func TestVerificationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := mustOpen(t, golden+"classic-file.bloom").Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestErrorsMatchTheirKind(t *testing.T) {
	_, err := Parse([]byte("text, not a filter"))
	if !errors.Is(err, ErrMagic) || !errors.Is(err, Foreign) || errors.Is(err, Damaged) {
		t.Error(err)
	}
	if err := error(&PageError{0, 3}); !errors.Is(err, ErrPage) || !errors.Is(err, Damaged) {
		t.Error(err)
	}
}
