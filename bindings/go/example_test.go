// SPDX-License-Identifier: MIT

// Examples of the documentation. README.md has the first.

package bloomfile_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bloomfile/bloomfile/bindings/go"
)

func Example() {
	fruit := bloomfile.NewWithEstimates(1000, 0.01)
	fruit.AddString("apple").AddString("pear")
	path := filepath.Join(os.TempDir(), "fruit.bloom")
	if err := fruit.WriteFile(path); err != nil {
		log.Fatal(err)
	}
	f, err := bloomfile.Open(path)
	if err != nil {
		log.Fatal(err) // never a "no": treat every key as "maybe"
	}
	defer f.Close()
	fmt.Println(f.TestString("apple"), f.TestString("stone"), f.Err())
	// Output: true false <nil>
	_ = os.Remove(path)
}

func ExampleBuilder() {
	b, err := bloomfile.NewBuilder(bloomfile.Params{Layout: bloomfile.Ribbon, Rate: 0.001, KeyKind: bloomfile.IntegerKeys})
	if err != nil {
		log.Fatal(err)
	}
	for i := uint64(0); i < 100000; i++ {
		b.AddUint64(i)
	}
	f, err := b.Finish() // f.WriteFile writes it
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.TestUint64(99999), f.TestUint64(123456789), f.Info().Keys)
	// Output: true false 100000
}

func ExampleParse() {
	image, err := bloomfile.New(4096, 4).AddString("a").MarshalBinary() // or go:embed
	if err != nil {
		log.Fatal(err)
	}
	image[4096+100] ^= 1 // damage
	f, err := bloomfile.Parse(image)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.TestString("not in the filter"), errors.Is(f.Err(), bloomfile.ErrPage))
	// Output: true true
}

func ExampleMerge() {
	monday, tuesday := bloomfile.New(10240, 7).AddString("a"), bloomfile.New(10240, 7).AddString("b")
	m, err := monday.Filter()
	if err != nil {
		log.Fatal(err)
	}
	t, err := tuesday.Filter()
	if err != nil {
		log.Fatal(err)
	}
	both, err := bloomfile.Merge(m, t)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(both.TestString("a"), both.TestString("b"), both.TestString("c"), both.Verify(context.Background()))
	// Output: true true false <nil>
}

func ExampleDiff() {
	params := bloomfile.Params{Bits: 120000, K: 6}
	build := func(keys int) *bloomfile.Filter {
		b, err := bloomfile.NewBuilder(params)
		if err != nil {
			log.Fatal(err)
		}
		for i := 0; i < keys; i++ {
			b.AddUint64(uint64(i))
		}
		f, err := b.Finish()
		if err != nil {
			log.Fatal(err)
		}
		return f
	}
	monday, tuesday := build(10000), build(10010)
	patch, err := bloomfile.Diff(monday, tuesday)
	if err != nil {
		log.Fatal(err)
	}
	made, err := bloomfile.Apply(monday, patch)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(patch) < 200, made.Info().Keys)
	// Output: true 10010
}
