// SPDX-License-Identifier: MIT

// Operations: the golden results, and refused sources.

package bloomfile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func openAll(t testing.TB, folder, names string) (filters []*Filter) {
	t.Helper()
	for _, name := range strings.Split(names, ",") {
		filters = append(filters, mustOpen(t, folder+name, AnyHash()))
	}
	return filters
}

func TestOperationsMakeTheGoldenResults(t *testing.T) {
	for _, r := range table(t, golden+"operations.tsv") {
		sources := openAll(t, golden, r["sources"])
		words := strings.Fields(r["operation"])
		var made *Filter
		var err error
		switch words[0] {
		case "fold":
			made, err = Fold(sources[0], number(t, words[1], 10))
		case "copy":
			made, err = Fold(sources[0], 1)
		case "union":
			made, err = Merge(sources...)
		case "intersection":
			made, err = Intersect(sources...)
		default:
			continue
		}
		if err != nil {
			t.Error(r["result"], err)
			continue
		}
		wanted := mustOpen(t, golden+r["result"], AnyHash())
		if sum(reformed(t, made, wanted)) != r["sha256"] {
			t.Errorf("%s: other bytes", r["result"])
		}
	}
}

// reformed returns the image of made in the form of wanted, and with its n.
func reformed(t *testing.T, made, wanted *Filter) []byte {
	t.Helper()
	l, w := made.opened.Load().one, wanted.opened.Load().one
	h := l.result()
	h.size = w.size
	image, err := newImage(h)
	if err != nil {
		t.Fatal(err)
	}
	copy(h.bodyOf(image), l.body[:l.usedBody()])
	n := l.n
	if l.flags&flagEstimated != 0 && w.flags&flagEstimated != 0 {
		if math.Abs(float64(l.n)-float64(w.n)) > 20+float64(w.n)/4 {
			t.Errorf("n is %d, not about %d", l.n, w.n)
		}
		n = w.n
	}
	seal(image, h, counts{n, l.flags&flagEstimated != 0, l.watermark})
	return image
}

func TestSlicesJoinAsTheTablesState(t *testing.T) {
	for _, r := range table(t, golden+"slices.tsv") {
		joined, err := Join(openAll(t, golden, r["slices"])...)
		if err != nil || sum(bytesOf(t, joined)) != r["sha256"] {
			t.Errorf("%s: %v", r["slices"], err)
		}
	}
	for _, r := range table(t, refused+"slices.tsv") {
		if _, err := Join(openAll(t, golden, r["slices"])...); nameOf(err) != r["error"] {
			t.Errorf("%s: %v", r["slices"], err)
		}
	}
	if _, err := Join(); !errors.Is(err, ErrIncomplete) {
		t.Error(err)
	}
}

func TestMergeHasAllKeys(t *testing.T) {
	for layout := Blocked; layout <= Counting; layout++ {
		a := build(t, Params{Layout: layout, Bits: 512 * 12, K: 5}, keysOf(t, golden+"keys/few.keys")...)
		b := build(t, Params{Layout: layout, Bits: 512 * 18, K: 5}, keysOf(t, golden+"keys/urls.keys")...)
		merged, err := Merge(a, b)
		if err != nil {
			t.Fatal(err)
		}
		expectMaybes(t, merged, golden+"keys/few.keys", 40)
		expectMaybes(t, merged, golden+"keys/urls.keys", 400)
		if info := merged.Info(); info.Bits != 512*6 || !info.Estimated || info.Keys < 400 || info.Keys > 440 {
			t.Errorf("%+v", info)
		}
		if err := merged.Verify(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestFoldEqualsBuildAtSmallerSize(t *testing.T) {
	for layout := Blocked; layout <= Counting; layout++ {
		keys := keysOf(t, golden+"keys/urls.keys")
		p := Params{Layout: layout, Bits: 512 * 12, K: 5, Rate: 0.1}
		folded, err := Fold(build(t, p, keys...), 3)
		if err != nil {
			t.Fatal(err)
		}
		p.Bits /= 3
		want := build(t, p, keys...)
		if got := folded.opened.Load().one.body; string(got) != string(want.opened.Load().one.body) {
			t.Error(layout, "other body")
		}
	}
}

func TestOperationsRefuseIncompatibleFilters(t *testing.T) {
	filter := func(p Params) *Filter { return build(t, p, []byte("a")) }
	base := Params{Bits: 1024, K: 5}
	with := func(change func(*Params)) *Filter {
		p := base
		change(&p)
		return filter(p)
	}
	a := filter(base)
	for i, c := range []struct {
		other *Filter
		err   error
	}{
		{with(func(p *Params) { p.Layout = Classic }), ErrDiffLayout},
		{mustOpen(t, golden+"application-blocked.bloom", AnyHash()), ErrDiffHash},
		{with(func(p *Params) { p.K = 4 }), ErrDiffHashCount},
		{with(func(p *Params) { p.Seed = 4 }), ErrDiffSeed},
		{with(func(p *Params) { p.KeyKind = LowerKeys }), ErrKeyKind},
		{mustOpen(t, golden+"slice-first.bloom"), ErrIsSlice},
		{mustOpen(t, golden+"series-3.bloom"), ErrIsSeries},
		{mustOpen(t, refused+"page-0-zero.bloom"), ErrPage},
	} {
		first := a
		if c.err == ErrPage {
			first = c.other
		}
		if _, err := Merge(first, c.other); !errors.Is(err, c.err) {
			t.Error(i, err)
		}
	}
	expectRefusals(t, a)
}

func expectRefusals(t *testing.T, a *Filter) {
	t.Helper()
	ribbon, counting := mustOpen(t, golden+"ribbon-file.bloom"), mustOpen(t, golden+"counting-file.bloom")
	for i, c := range []struct {
		do  func() (*Filter, error)
		err error
	}{
		{func() (*Filter, error) { return Merge(ribbon) }, ErrIsRibbon},
		{func() (*Filter, error) { return Fold(ribbon, 3) }, ErrIsRibbon},
		{func() (*Filter, error) { return Intersect(counting) }, ErrIsCounting},
		{func() (*Filter, error) { return Fold(a, 0) }, ErrFactor},
		{func() (*Filter, error) { return Fold(a, 3) }, ErrFactor},
		{func() (*Filter, error) { return Merge() }, ErrParams},
		{func() (*Filter, error) { return Fold(mustOpen(t, golden+"slice-first.bloom"), 1) }, ErrIsSlice},
	} {
		if _, err := c.do(); !errors.Is(err, c.err) {
			t.Error(i, err)
		}
	}
	if copied, err := Fold(ribbon, 1); err != nil || fmt.Sprint(copied.Info()) != fmt.Sprint(ribbon.Info()) {
		t.Error(err)
	}
}
