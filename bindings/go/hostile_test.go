// SPDX-License-Identifier: MIT

// Hostile bytes: no panic, and never "no" for a key that is in the filter.

package bloomfile

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand"
	"os"
	"testing"
)

// samples are small golden files of each layout and form, with their keys.
func samples(t testing.TB) (rows []row) {
	seen := map[string]bool{}
	for _, r := range append(table(t, golden+"index.tsv"), table(t, golden+"series.tsv")...) {
		kind := r["layout"] + r["form"] + r["whole_blocks"]
		if info, err := os.Stat(golden + r["file"]); err == nil && info.Size() < 40000 && !seen[kind] && r["hash"] == "xxh3" &&
			len(r["file"]) < 30 && r["file"][:5] != "live/" {
			seen[kind] = true
			rows = append(rows, r)
		}
	}
	return rows
}

func readAll(t testing.TB, path string) []byte {
	t.Helper()
	needs(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// expectNoFalseNo opens an image of the keys, if it opens, and looks them up before and after verification.
func expectNoFalseNo(t testing.TB, image []byte, digests []uint64, claim ...interface{}) {
	t.Helper()
	f, err := Parse(image)
	if err != nil {
		return
	}
	for round := 0; round < 2; round++ {
		for _, digest := range digests {
			if !f.TestDigest(digest) {
				t.Fatal(append(claim, "false no")...)
			}
		}
		if err := f.Verify(context.Background()); err != nil && f.Err() == nil {
			t.Fatal(append(claim, "not sticky", err)...)
		}
	}
}

func TestFlippedBytesNeverCauseAFalseNo(t *testing.T) {
	for _, r := range samples(t) {
		image := readAll(t, golden+r["file"])
		f, err := Parse(image)
		if err != nil {
			t.Fatal(err)
		}
		digests := digestsOf(t, f, golden+r["keys"])
		chance := rand.New(rand.NewSource(1))
		for at := 0; at < len(image); at++ {
			if at > 5000 && chance.Intn(7) != 0 {
				continue
			}
			damaged := append([]byte(nil), image...)
			damaged[at] ^= 1 << chance.Intn(8)
			expectNoFalseNo(t, damaged, digests, r["file"], at)
		}
	}
}

func TestTruncatedImagesAreRefused(t *testing.T) {
	for _, r := range samples(t) {
		image := readAll(t, golden+r["file"])
		for size := range image {
			if _, err := Parse(image[:size]); err == nil {
				t.Fatalf("%s: %d bytes opened", r["file"], size)
			}
		}
	}
}

// sealAgain makes the checksums of a changed header right.
func sealAgain(image []byte) {
	if len(image) < 16 {
		return
	}
	h := int(binary.LittleEndian.Uint32(image[12:]))
	if h != fileHeader && h != embeddedHeader || len(image) < h {
		return
	}
	crc := crc32.ChecksumIEEE(image[:h/2-4])
	binary.LittleEndian.PutUint32(image[h/2-4:], crc)
	for _, start := range []int{h / 2, 3 * h / 4} {
		record := image[start : start+h/4]
		binary.LittleEndian.PutUint32(record[60:], crc)
		binary.LittleEndian.PutUint32(record[h/4-4:], crc32.ChecksumIEEE(record[:h/4-4]))
	}
}

func TestLiveLayerThatBeganWithoutAPeriodIsRefusedAsLive(t *testing.T) {
	image := readAll(t, golden+"live/forgetting-2-begun/filter.bloom")
	binary.LittleEndian.PutUint64(image[288:], 0) // period
	binary.LittleEndian.PutUint64(image[296:], 1) // began, which V22 leaves alone
	sealAgain(image)
	if _, err := Parse(image); !errors.Is(err, ErrLive) {
		t.Errorf("%v, not %v", err, ErrLive)
	}
}

func TestHostileHeadersWithRightChecksumsDoNotPanic(t *testing.T) {
	numbers := []uint64{0, 1, 63, 64, 511, 512, 1 << 31, 1<<32 - 1, 1 << 51, 1 << 60, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, r := range samples(t) {
		image := readAll(t, golden+r["file"])
		for at := 16; at < 304; at += 4 {
			for _, n := range numbers {
				damaged := append([]byte(nil), image...)
				binary.LittleEndian.PutUint64(damaged[at:], n)
				sealAgain(damaged)
				lookAround(damaged)
			}
		}
	}
}

// lookAround uses an image in every way.
func lookAround(image []byte) {
	f, err := Parse(image, AnyHash())
	if err != nil {
		return
	}
	digests := []uint64{0, 1 << 63, 1<<64 - 1, 0x9E3779B97F4A7C15}
	for _, digest := range digests {
		f.TestDigest(digest)
	}
	f.TestDigests(digests, make([]bool, len(digests)))
	f.TestString("key")
	f.TestUint64(1)
	_ = f.Verify(context.Background())
	_ = f.Err()
	_ = f.Info()
}

func FuzzParse(f *testing.F) {
	for _, r := range samples(f) {
		f.Add(readAll(f, golden+r["file"]))
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		lookAround(image)
		sealAgain(image)
		lookAround(image)
	})
}
