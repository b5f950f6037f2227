// SPDX-License-Identifier: MIT

// The conformance suite of the format, tests/golden/README.md: reading.

package bloomfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	tree    = "../../"
	golden  = tree + "tests/golden/"
	refused = tree + "tests/golden-refused/"
)

func TestMain(m *testing.M) {
	if _, err := os.Stat(golden); err != nil {
		fmt.Println("skipped: all tests that need the conformance suite of the repository,", golden)
	}
	os.Exit(m.Run())
}

// needs skips a test that needs a file of the conformance suite, if there is no suite, as in the published module.
func needs(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(golden); err != nil && strings.HasPrefix(path, tree) {
		t.Skip("needs", path)
	}
}

type row map[string]string

func table(t testing.TB, path string) (rows []row) {
	t.Helper()
	text := readAll(t, path)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		r := row{}
		for i, value := range strings.Split(line, "\t") {
			r[names[i]] = value
		}
		rows = append(rows, r)
	}
	return rows
}

func keysOf(t testing.TB, path string) [][]byte {
	t.Helper()
	lines := bytes.Split(readAll(t, path), []byte("\n"))
	return lines[:len(lines)-1]
}

func number(t testing.TB, text string, base int) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// digestsOf returns the digests of the lines of a file, or those that it lists.
func digestsOf(t testing.TB, f *Filter, path string) (digests []uint64) {
	t.Helper()
	for _, key := range keysOf(t, path) {
		if strings.HasSuffix(path, ".digests") {
			digests = append(digests, number(t, string(key), 16))
		} else {
			digests = append(digests, Digest(key, f.Info().Seed))
		}
	}
	return digests
}

func absentOf(keys string) string {
	if strings.HasSuffix(keys, ".digests") {
		return golden + "keys/absent.digests"
	}
	return golden + "keys/absent.keys"
}

func expectMaybes(t *testing.T, f *Filter, path string, wanted int) {
	t.Helper()
	digests, count := digestsOf(t, f, path), 0
	for _, digest := range digests {
		if f.TestDigest(digest) {
			count++
		}
	}
	batch := f.TestDigests(digests, make([]bool, len(digests)))
	if count != wanted || batch != wanted {
		t.Errorf("%s: %d maybes, %d in a batch, not %d", path, count, batch, wanted)
	}
}

func expectLookups(t *testing.T, f *Filter, keys, maybes string) {
	t.Helper()
	expectMaybes(t, f, golden+keys, len(keysOf(t, golden+keys)))
	expectMaybes(t, f, absentOf(keys), int(number(t, maybes, 10)))
}

func hashOptions(t testing.TB, hash string) []Option {
	if hash == "xxh3" || hash == "-" {
		return nil
	}
	words := strings.Fields(hash)
	return []Option{WithHash(uint32(number(t, words[0], 16)), number(t, words[1], 16))}
}

func nameOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Name()
	}
	return fmt.Sprint(err)
}

func columnsOf(info Info) row {
	r := row{
		"n": fmt.Sprint(info.Keys), "m": fmt.Sprint(info.Bits), "k": fmt.Sprint(info.K), "seed": fmt.Sprint(info.Seed),
		"layout": info.Layout.String(), "key_kind": info.KeyKind.String(), "form": "file", "n_estimated": "0",
		"first_block": "-", "whole_blocks": "-",
	}
	if info.Embedded {
		r["form"] = "embedded"
	}
	if info.Estimated {
		r["n_estimated"] = "1"
	}
	if info.WholeBlocks != 0 {
		r["first_block"], r["whole_blocks"] = fmt.Sprint(info.FirstBlock), fmt.Sprint(info.WholeBlocks)
	}
	if info.Layers != nil {
		var n, m, k, number []string
		for i, l := range info.Layers {
			n, m = append(n, fmt.Sprint(l.Keys)), append(m, fmt.Sprint(l.Bits))
			k, number = append(k, fmt.Sprint(l.K)), append(number, fmt.Sprint(i))
		}
		r["n"], r["m"], r["k"] = strings.Join(n, ","), strings.Join(m, ","), strings.Join(k, ",")
		r["layers"] = strings.Join(number, ",")
	}
	return r
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestGoldenFilesOpenAndAnswer(t *testing.T) {
	for _, r := range append(table(t, golden+"index.tsv"), table(t, golden+"series.tsv")...) {
		t.Run(r["file"], func(t *testing.T) {
			f, err := Open(golden+r["file"], hashOptions(t, r["hash"])...)
			if strings.HasPrefix(r["file"], "live/") {
				if !errors.Is(err, ErrLive) {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range columnsOf(f.Info()) {
				if wanted, ok := r[name]; ok && value != wanted {
					t.Errorf("%s is %s, not %s", name, value, wanted)
				}
			}
			expectLookups(t, f, r["keys"], r["maybes"])
			if err := f.Verify(context.Background()); err != nil {
				t.Error(err)
			}
			expectLookups(t, f, r["keys"], r["maybes"])
			if err := f.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryWayToOpenGivesTheSameAnswers(t *testing.T) {
	for _, r := range table(t, golden+"index.tsv") {
		image, err := os.ReadFile(golden + r["file"])
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := Parse(image, hashOptions(t, r["hash"])...)
		if err != nil {
			t.Fatal(r["file"], err)
		}
		at, err := OpenAt(bytes.NewReader(append(image, 0)), int64(len(image)), hashOptions(t, r["hash"])...)
		if err != nil {
			t.Fatal(r["file"], err)
		}
		for _, f := range []*Filter{parsed, at} {
			expectLookups(t, f, r["keys"], r["maybes"])
		}
	}
}

func TestRefusedFilesAreRefused(t *testing.T) {
	for _, r := range append(table(t, refused+"index.tsv"), table(t, refused+"series.tsv")...) {
		f, err := Open(refused + r["file"])
		if err == nil {
			err = f.Verify(context.Background())
		}
		if strings.HasPrefix(r["file"], "live/") {
			if err == nil {
				t.Errorf("%s: opened", r["file"])
			}
		} else if nameOf(err) != r["error"] {
			t.Errorf("%s: %v, not %s", r["file"], err, r["error"])
		}
	}
}

// openNamed opens a file of doubt.tsv by each of its names. It returns nil if the last is refused.
func openNamed(t *testing.T, path string, r row) (f *Filter) {
	t.Helper()
	if r["names"] == "-" {
		f, err := Open(path, AnyHash())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	errs := strings.Split(r["name_errors"], ",")
	for i, name := range strings.Split(r["names"], ",") {
		var err error
		f, err = Open(path, hashOptions(t, name)...)
		if err == nil && errs[i] != "-" || err != nil && nameOf(err) != errs[i] {
			t.Errorf("%s: %v, not %s", name, err, errs[i])
		}
	}
	return f
}

func TestDamagedImagesAnswerMaybe(t *testing.T) {
	for _, r := range table(t, refused+"doubt.tsv") {
		t.Run(r["file"]+" "+r["names"], func(t *testing.T) {
			path := refused + r["file"]
			if _, err := os.Stat(path); err != nil {
				path = golden + r["file"]
			}
			f := openNamed(t, path, r)
			if f == nil {
				return
			}
			expectLookups(t, f, r["keys"], r["maybes"])
			expectVerdict(t, f, r)
			f = openNamed(t, path, r)
			expectVerdict(t, f, r)
		})
	}
}

// expectVerdict verifies, and looks up again.
func expectVerdict(t *testing.T, f *Filter, r row) {
	t.Helper()
	err := f.Verify(context.Background())
	var page *PageError
	if err == nil && r["verify"] != "-" || err != nil && nameOf(err) != r["verify"] {
		t.Errorf("verify: %v, not %s", err, r["verify"])
	} else if errors.As(err, &page) && fmt.Sprint(page.Page) != r["page"] {
		t.Errorf("page %d, not %s", page.Page, r["page"])
	}
	expectLookups(t, f, r["keys"], r["maybes_verified"])
	if err != nil && f.Err() == nil {
		t.Errorf("%v is not sticky", err)
	}
}

func TestPipesAndFoldersAreNotOpened(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestReadmeShowsTheExample(t *testing.T) {
	example := strings.ReplaceAll("\n"+string(readAll(t, "example_test.go")), "\n\t", "\n")
	block := strings.SplitN(string(readAll(t, "README.md")), "```", 3)[1]
	if !strings.Contains(example, strings.TrimPrefix(block, "go")) {
		t.Error("the first code of README.md is not in example_test.go")
	}
}
