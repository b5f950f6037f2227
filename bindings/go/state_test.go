// SPDX-License-Identifier: MIT

// Kinds of keys.

package bloomfile

import (
	"errors"
	"testing"
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
