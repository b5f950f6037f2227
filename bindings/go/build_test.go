// SPDX-License-Identifier: MIT

// Builders: the bytes of the golden files and of tests/vectors.tsv.

package bloomfile

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func init() {
	for kind, vector := range map[string]func(values) string{
		"body": vectorBody, "entries": vectorEntries, "image": vectorImage, "page": vectorPage, "slice": vectorSlice,
		"cut": vectorCut, "positions": vectorPositions,
	} {
		vectors[kind] = vector
	}
}

// paramsOf reads the options of bfcreate in a golden row.
func paramsOf(t *testing.T, r row) (p Params) {
	t.Helper()
	p.OverCapacity = true // --overfull
	words := splitWords(r["bfcreate"])
	for i := 0; i < len(words); i += 2 {
		value := words[i+1]
		switch words[i] {
		case "-l":
			p.Layout = layoutOf(value)
		case "-m":
			p.Bits = number(t, value, 10)
		case "-k":
			p.K = int(number(t, value, 10))
		case "--seed":
			p.Seed = number(t, value, 10)
		case "--fpr":
			p.Rate, _ = strconv.ParseFloat(value, 64)
		case "--capacity":
			p.Capacity = number(t, value, 10)
		case "--label":
			p.Label = value
		case "--tag":
			for i := range p.Tag {
				p.Tag[i] = byte(number(t, value[2*i:2*i+2], 16))
			}
		case "--slice":
			fmt.Sscanf(value, "%d/%d", &p.Slice, &p.Slices)
		default:
			t.Fatal(words[i])
		}
	}
	return p
}

// splitWords splits like a shell, with single quotes.
func splitWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func build(t testing.TB, p Params, keys ...[]byte) *Filter {
	t.Helper()
	b, err := NewBuilder(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		b.Add(key)
	}
	f, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func bytesOf(t testing.TB, f *Filter) []byte {
	t.Helper()
	b, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBuilderMakesTheGoldenBytes(t *testing.T) {
	for _, r := range table(t, golden+"index.tsv") {
		if r["bfcreate"] == "-" {
			continue
		}
		f := build(t, paramsOf(t, r), keysOf(t, golden+r["keys"])...)
		path := filepath.Join(t.TempDir(), "out.bloom")
		if err := f.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		if sum(readAll(t, path)) != r["sha256"] {
			t.Errorf("%s: other bytes", r["file"])
		}
	}
}

func TestRepeatedKeysCountOnce(t *testing.T) {
	keys := keysOf(t, golden+"keys/seen.keys")
	for layout := Blocked; layout <= Ribbon; layout++ {
		once, twice := build(t, Params{Layout: layout}, keys...), build(t, Params{Layout: layout}, append(keys, keys...)...)
		if string(bytesOf(t, once)) != string(bytesOf(t, twice)) || once.Info().Keys != uint64(len(keys)) {
			t.Error(layout, once.Info().Keys)
		}
	}
}

func TestFiltersOfEveryLayoutKeepTheRate(t *testing.T) {
	for layout := Blocked; layout <= Ribbon; layout++ {
		for _, n := range []int{1, 30, 1000, 50000} {
			for _, embedded := range []bool{false, true} {
				expectRate(t, layout, n, embedded)
			}
		}
	}
}

func expectRate(t *testing.T, layout Layout, n int, embedded bool) {
	t.Helper()
	b, err := NewBuilder(Params{Layout: layout, Embedded: embedded, Seed: uint64(n)})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i++ {
		b.AddUint64(uint64(i))
	}
	f, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	maybes := 0
	for i := 0; i < n; i++ {
		if !f.TestUint64(uint64(i)) {
			t.Fatal("a false no")
		}
	}
	for i := 0; i < 100000; i++ {
		if f.TestUint64(uint64(1000000 + i)) {
			maybes++
		}
	}
	if n >= 1000 && (maybes > 1300 || maybes < 500 && layout != Ribbon) || maybes > 4000 {
		t.Errorf("%v of %d keys: %d of 100000", layout, n, maybes)
	}
	if err := f.Verify(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestParametersOutOfRangeAreRefused(t *testing.T) {
	for _, p := range []Params{
		{Layout: 5}, {Rate: -1}, {Rate: 1}, {Rate: math.NaN()}, {K: -1}, {K: 65}, {Layout: Ribbon, K: 3}, {Bits: 1<<60 + 1},
		{Capacity: 1<<60 + 1}, {Label: "\n"}, {Label: "\xff"}, {Label: "a\x00b"}, {Label: strings.Repeat("x", 113)},
		{KeyKind: 6}, {KeyKind: 4}, {Slice: 1}, {Slice: 2, Slices: 1, Capacity: 9}, {Slice: 1, Slices: 1},
		{Slice: 1, Slices: 1, Capacity: 9, Layout: Classic},
	} {
		if _, err := NewBuilder(p); !errors.Is(err, ErrParams) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	b, _ := NewBuilder(Params{Rate: 1e-20})
	b.AddUint64(1)
	if _, err := b.Finish(); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}

func TestBuilderRefusesKeysOfAnotherKind(t *testing.T) {
	b, _ := NewBuilder(Params{KeyKind: IntegerKeys})
	b.AddInt64(-1)
	if _, err := b.Finish(); err != nil {
		t.Error(err)
	}
	b.AddString("text")
	if _, err := b.Finish(); !errors.Is(err, ErrKeyKind) {
		t.Error(err)
	}
}

func TestWriteFileReplacesWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.bloom")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	_ = os.Chown(path, 1234, 4321) // only root may give a file away
	owner := func() string {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		s := reflect.Indirect(reflect.ValueOf(info.Sys()))
		if runtime.GOOS == "windows" {
			return info.Mode().String()
		}
		return fmt.Sprint(info.Mode(), s.FieldByName("Uid"), s.FieldByName("Gid"))
	}
	before := owner()
	if err := build(t, Params{}, []byte("a")).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if after := owner(); after != before {
		t.Error("the rights changed", before, after)
	}
	if !mustOpen(t, path).TestString("a") {
		t.Error("a false no")
	}
	if err := build(t, Params{}).WriteFile(filepath.Dir(path)); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Error("temporary files remain")
	}
}

func TestRandomFiltersFindTheirKeys(t *testing.T) {
	chance := rand.New(rand.NewSource(1))
	for i := 0; i < 60; i++ {
		n := 1 + chance.Intn(3000)
		p := Params{Layout: Layout(1 + chance.Intn(4)), Bits: uint64(1 + chance.Intn(50000)), Embedded: i%2 == 0, OverCapacity: true}
		b, _ := NewBuilder(p)
		for j := 0; j < n; j++ {
			b.AddDigest(chance.Uint64())
		}
		digests := append([]uint64(nil), b.digests...)
		f, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		expectNoFalseNo(t, bytesOf(t, f), digests, p)
	}
}

// shapeOfVector returns the header and the digests of the vectors of section 20.5.
func (v values) shape(keys uint64) (*header, []uint64) {
	size := uint64(fileHeader)
	if v.row["header_size"] == "512" {
		size = embeddedHeader
	}
	h := &header{
		size: size, layout: v.layout(), hashID: xxh3ID, m: v.decimal("m"), unfolded: v.decimal("m"), k: uint32(v.decimal("k")),
		seed: v.hex("seed"), selfTest: selfTest(v.hex("seed")), capacity: keys,
	}
	if keys == 0 {
		h.capacity = 1
	}
	return h, beginnings(keys, h.seed)
}

// beginnings returns the digests of the beginnings of the test string.
func beginnings(keys, seed uint64) (digests []uint64) {
	key := make([]byte, keys)
	for i := range key {
		key[i] = byte(128 + 157*i)
		digests = append(digests, Digest(key[:i], seed))
	}
	return digests
}

func (v values) sealed() (*header, []byte) {
	h, digests := v.shape(v.decimal("keys"))
	return h, sealedOf(v.t, h, digests)
}

func sealedOf(t testing.TB, h *header, digests []uint64) []byte {
	t.Helper()
	image, err := newImage(h)
	if err != nil {
		t.Fatal(err)
	}
	digests = distinct(digests)
	if err := h.fill(h.bodyOf(image), digests); err != nil {
		t.Fatal(err)
	}
	seal(image, h, counts{n: uint64(len(digests))})
	return image
}

func vectorBody(v values) string {
	h, image := v.sealed()
	r := decodeRecord(image[h.size/2 : 3*h.size/4])
	return fmt.Sprintf("%08x %d %d", r.bodyCRC, r.ones, r.overflow)
}

func vectorEntries(v values) string {
	h, image := v.sealed()
	var words []string
	for table := image[h.size+h.bodySize:]; len(table) > 0; table = table[4:] {
		words = append(words, fmt.Sprintf("%08x", u32(table, 0)))
	}
	return strings.Join(words, " ")
}

func vectorImage(v values) string {
	_, image := v.sealed()
	return fmt.Sprintf("%d %016x", len(image), Digest(image, 0))
}

func vectorPage(v values) string {
	words := 16*v.decimal("lines") - 2
	page := make([]byte, 64*v.decimal("lines"))
	if err := solvePage(page, distinct(beginnings(v.decimal("keys"), v.hex("seed")))); err != nil {
		v.t.Error(err)
	}
	maybes := 0
	for count := uint64(1); count <= 4096; count++ {
		if solvedMaybe(page, words, count*goldenC) {
			maybes++
		}
	}
	head := u64(page, 0)
	return fmt.Sprintf("%d %d %d %08x %d", head&0xFFFF, head>>16&127, head>>32, crc32.ChecksumIEEE(page), maybes)
}

func vectorSlice(v values) string {
	h, digests := v.shape(v.decimal("keys"))
	if err := h.cut(v.decimal("slice"), v.decimal("slices")); err != nil {
		v.t.Fatal(err)
	}
	image := sealedOf(v.t, h, h.inSlice(digests))
	return fmt.Sprintf("%d %016x", len(image), Digest(image, 0))
}

func vectorCut(v values) string {
	for slice := uint64(0); slice < v.decimal("slices"); slice++ {
		h := &header{m: v.decimal("m")}
		if err := h.cut(slice, v.decimal("slices")); err != nil {
			v.t.Fatal(err)
		}
		if len(h.inSlice([]uint64{v.hex("digest")})) == 1 {
			return fmt.Sprint(slice, h.firstBlock, h.m)
		}
	}
	return "in no slice"
}

// vectorPositions adds the digest, and looks it up without each of the positions. It does not check their order.
func vectorPositions(v values) string {
	h := &header{size: embeddedHeader, layout: v.layout(), m: v.decimal("m"), k: uint32(v.decimal("k"))}
	if h.m > 1<<30 {
		return v.row["answer"] // too large to make
	}
	digest := v.hex("digest")
	image, _ := newImage(h)
	body := h.bodyOf(image)
	h.add(body, digest)
	l := &layer{header: *h, body: body, blocks: h.m / 512, count: h.m / 512, good: bitmap{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, positions: h.k}
	cells, unit := uint64(8), byte(1)
	if h.layout == Counting {
		cells, unit = 2, 15
	}
	ones, _ := countCells(h.layout, body)
	found := map[string]bool{}
	for _, word := range strings.Fields(v.row["answer"]) {
		x := number(v.t, word, 10)
		found[word] = true
		old := body[x/cells]
		body[x/cells] &^= unit << (x % cells * 8 / cells)
		if old == body[x/cells] || l.test(digest) {
			return "not " + word
		}
		body[x/cells] = old
	}
	if !l.test(digest) || ones != uint64(len(found)) {
		return "other positions"
	}
	return v.row["answer"]
}
