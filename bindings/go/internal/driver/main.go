// SPDX-License-Identifier: MIT

// The driver of tests/languages/README.md: one command a line from standard input, one answer a line.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"

	"github.com/bloomfile/bloomfile/bindings/go"
)

const abilities = "blocked classic counting ribbon slices series applications verify build-blocked build-classic " +
	"build-ribbon fold union intersection join diff apply"

// session is the open image.
type session struct {
	filter  *bloomfile.Filter
	digests bool // keys are digests
}

// commands take the words after their name, and return the words of the answer.
var commands = map[string]func(*session, []string) (string, error){
	"abilities":    func(*session, []string) (string, error) { return abilities, nil },
	"open":         (*session).open,
	"lookup":       (*session).lookup,
	"batch":        (*session).batch,
	"random":       (*session).random,
	"images":       images,
	"verify":       func(s *session, _ []string) (string, error) { return "", s.filter.Verify(context.Background()) },
	"error":        func(s *session, _ []string) (string, error) { return "", s.filter.Err() },
	"build":        build,
	"fold":         fold,
	"union":        func(_ *session, words []string) (string, error) { return combine(bloomfile.Merge, words) },
	"intersection": func(_ *session, words []string) (string, error) { return combine(bloomfile.Intersect, words) },
	"join":         func(_ *session, words []string) (string, error) { return combine(bloomfile.Join, words) },
	"diff":         diff,
	"apply":        apply,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	s := &session{}
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		fmt.Println(answer(s, words))
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(s *session, words []string) string {
	command := commands[words[0]]
	if command == nil {
		return "error\t-\tno such command"
	}
	if s.filter == nil && strings.Contains("lookup batch random verify error", words[0]) {
		return "error\t-\tno image is open"
	}
	text, err := command(s, words[1:])
	if err != nil {
		return failure(words[0], err)
	}
	return strings.TrimSuffix("ok\t"+text, "\t")
}

func failure(command string, err error) string {
	var known *bloomfile.Error
	if !errors.As(err, &known) {
		return "error\t-\t" + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	var page *bloomfile.PageError
	switch {
	case command != "verify":
		return "error\t" + known.Name()
	case errors.As(err, &page):
		return fmt.Sprintf("error\t%s\t%d", known.Name(), page.Page)
	}
	return "error\t" + known.Name() + "\t-"
}

func (s *session) open(words []string) (string, error) {
	option := bloomfile.AnyHash()
	if len(words) > 1 {
		id, err := strconv.ParseUint(words[1], 16, 32)
		if err != nil {
			return "", err
		}
		selfTest, err := strconv.ParseUint(words[2], 16, 64)
		if err != nil {
			return "", err
		}
		option = bloomfile.WithHash(uint32(id), selfTest)
	}
	f, err := bloomfile.Open(words[0], option)
	if err != nil {
		return "", err
	}
	if s.filter != nil {
		_ = s.filter.Close()
	}
	s.filter, s.digests = f, f.Info().HashID != 1
	return describe(f.Info()), nil
}

func describe(info bloomfile.Info) string {
	form := "file"
	if info.Embedded {
		form = "embedded"
	}
	layers := info.Layers
	if layers == nil {
		layers = []bloomfile.LayerInfo{{Keys: info.Keys, Bits: info.Bits, K: info.K}}
	}
	var n, m, k []string
	for _, l := range layers {
		n, m, k = append(n, fmt.Sprint(l.Keys)), append(m, fmt.Sprint(l.Bits)), append(k, fmt.Sprint(l.K))
	}
	return strings.Join([]string{info.Layout.String(), strings.Join(n, ","), strings.Join(m, ","), strings.Join(k, ","),
		fmt.Sprint(info.Seed), form, info.KeyKind.String()}, "\t")
}

func readKeys(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	return lines[:len(lines)-1], nil
}

// digestsOf returns the digests of the lines of a file. The kinds of keys are not compared, because the suite looks up
// lines as bytes in filters of every kind.
func (s *session) digestsOf(path string) ([]uint64, error) {
	keys, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	digests := make([]uint64, len(keys))
	for i, key := range keys {
		if !s.digests && !strings.HasSuffix(path, ".digests") {
			digests[i] = bloomfile.Digest(key, s.filter.Info().Seed)
		} else if digests[i], err = strconv.ParseUint(string(key), 16, 64); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

func (s *session) lookup(words []string) (string, error) {
	digests, err := s.digestsOf(words[0])
	count := 0
	for _, digest := range digests {
		if s.filter.TestDigest(digest) {
			count++
		}
	}
	return fmt.Sprintf("%d\t%d", count, len(digests)), err
}

func (s *session) batch(words []string) (string, error) {
	digests, err := s.digestsOf(words[0])
	return fmt.Sprintf("%d\t%d", s.filter.TestDigests(digests, make([]bool, len(digests))), len(digests)), err
}

func (s *session) random(words []string) (string, error) {
	state, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		return "", err
	}
	count, err := strconv.Atoi(words[1])
	if err != nil {
		return "", err
	}
	maybes, answers, seed := 0, make([]byte, count), s.filter.Info().Seed
	for i := range answers {
		var key [8]byte
		answers[i] = '0'
		state += 0x9E3779B97F4A7C15
		binary.LittleEndian.PutUint64(key[:], splitMix(state))
		if s.filter.TestDigest(bloomfile.Digest(key[:], seed)) {
			maybes++
			answers[i] = '1'
		}
	}
	return fmt.Sprintf("%d\t%08x", maybes, crc32.ChecksumIEEE(answers)), nil
}

func splitMix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// images answers for every image of a file.
func images(_ *session, words []string) (string, error) {
	file, err := os.ReadFile(words[0])
	if err != nil {
		return "", err
	}
	var answers []string
	for len(file) > 0 {
		size, count := binary.LittleEndian.Uint32(file), binary.LittleEndian.Uint32(file[4:])
		keys := file[8+size : 8+size+8*count]
		answers = append(answers, answerImage(file[8:8+size:8+size], keys))
		file = file[8+size+8*count:]
	}
	return strings.Join(answers, "\t"), nil
}

// answerImage opens an image three times, so that three kinds of lookups meet pages that were not checked yet.
func answerImage(image, keys []byte) string {
	f, err := bloomfile.Parse(image, bloomfile.AnyHash())
	if err != nil {
		return nameOf(err)
	}
	digests, answers := make([]uint64, len(keys)/8), make([]string, 6)
	for i := range digests {
		digests[i] = binary.LittleEndian.Uint64(keys[8*i:])
	}
	option := bloomfile.AnyHash()
	if id := f.Info().HashID; id == 1 {
		answers[0] = singly(f, digests, func(i int) uint64 { return bloomfile.Digest(keys[8*i:8*i+8], f.Info().Seed) })
	} else {
		answers[0] = together(f, digests)
		option = bloomfile.WithHash(id, f.Info().SelfTest)
	}
	if f, err = bloomfile.Parse(image, option); err != nil {
		return nameOf(err)
	}
	answers[1] = together(f, digests)
	if f, err = bloomfile.OpenAt(bytes.NewReader(image), int64(len(image)), option); err != nil {
		return nameOf(err)
	}
	own := func(i int) uint64 { return digests[i] }
	answers[2] = singly(f, digests, own)
	answers[3] = nameOf(f.Verify(context.Background()))
	answers[4], answers[5] = together(f, digests), singly(f, digests, own)
	return strings.Join(answers, ":") + ":"
}

func nameOf(err error) string {
	if err == nil {
		return "ok"
	}
	words := strings.SplitN(failure("verify", err), "\t", 3)
	return strings.TrimSuffix(words[1]+" "+words[2], " -")
}

func singly(f *bloomfile.Filter, digests []uint64, digest func(int) uint64) string {
	answers := make([]bool, len(digests))
	for i := range digests {
		answers[i] = f.TestDigest(digest(i))
	}
	return bits(answers)
}

func together(f *bloomfile.Filter, digests []uint64) string {
	answers := make([]bool, len(digests))
	f.TestDigests(digests, answers)
	return bits(answers)
}

func bits(answers []bool) string {
	text := make([]byte, len(answers))
	for i, maybe := range answers {
		text[i] = '0'
		if maybe {
			text[i] = '1'
		}
	}
	return string(text)
}

func build(_ *session, words []string) (string, error) {
	p, err := params(words)
	if err != nil {
		return "", err
	}
	keys, err := readKeys(words[8])
	if err != nil {
		return "", err
	}
	b, err := bloomfile.NewBuilder(p)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		b.Add(key)
	}
	f, err := b.Finish()
	if err != nil {
		return "", err
	}
	return "", f.WriteFile(words[9])
}

func params(words []string) (p bloomfile.Params, err error) {
	p.OverCapacity = true // as the driver in C
	for l := bloomfile.Blocked; l <= bloomfile.Ribbon; l++ {
		if l.String() == words[0] {
			p.Layout = l
		}
	}
	var numbers [7]uint64
	for _, i := range []int{1, 2, 3, 4, 6} {
		if numbers[i], err = strconv.ParseUint(words[i], 10, 64); err != nil {
			return p, err
		}
	}
	p.Bits, p.K, p.Seed, p.Capacity = numbers[2], int(numbers[3]), numbers[4], numbers[6]
	p.Embedded = words[7] == "embedded"
	p.Rate, err = strconv.ParseFloat(words[5], 64)
	return p, err
}

func openAll(paths []string) (filters []*bloomfile.Filter, err error) {
	for _, path := range paths {
		f, err := bloomfile.Open(path, bloomfile.AnyHash())
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func combine(how func(...*bloomfile.Filter) (*bloomfile.Filter, error), words []string) (string, error) {
	filters, err := openAll(words[1:])
	if err != nil {
		return "", err
	}
	f, err := how(filters...)
	if err != nil {
		return "", err
	}
	return "", f.WriteFile(words[0])
}

func fold(_ *session, words []string) (string, error) {
	factor, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		return "", err
	}
	return combine(func(f ...*bloomfile.Filter) (*bloomfile.Filter, error) { return bloomfile.Fold(f[0], factor) },
		[]string{words[2], words[1]})
}

func diff(_ *session, words []string) (string, error) {
	filters, err := openAll(words[:2])
	if err != nil {
		return "", err
	}
	patch, err := bloomfile.Diff(filters[0], filters[1])
	if err != nil {
		return "", err
	}
	return "", os.WriteFile(words[2], patch, 0o666)
}

func apply(_ *session, words []string) (string, error) {
	patch, err := os.ReadFile(words[1])
	if err != nil {
		return "", err
	}
	return combine(func(f ...*bloomfile.Filter) (*bloomfile.Filter, error) { return bloomfile.Apply(f[0], patch) },
		[]string{words[2], words[0]})
}
