// SPDX-License-Identifier: MIT

// Layouts and kinds of keys: section 6 of format-spec.md.

package bloomfile

import "fmt"

// Layout is how a filter stores its keys.
type Layout uint32

// The layouts of the format. Blocked is the fastest. Ribbon is a third smaller, and needs all keys to build it.
const (
	Blocked  Layout = 1
	Classic  Layout = 2
	Counting Layout = 3
	Ribbon   Layout = 4
)

// String returns the name of the layout in the specification.
func (l Layout) String() string {
	if l < Blocked || l > Ribbon {
		return fmt.Sprintf("layout %d", uint32(l))
	}
	return [...]string{"blocked", "classic", "counting", "ribbon"}[l-1]
}

// KeyKind describes the keys of a filter. A lookup of a key of another kind would always be "no". So it returns
// "maybe", and Err returns ErrKeyKind.
type KeyKind uint32

// The kinds of keys. Fixed makes another.
const (
	UnknownKeys KeyKind = 0 // not described: every key fits
	TextKeys    KeyKind = 1 // strings
	LowerKeys   KeyKind = 2 // strings in which A to Z were replaced by a to z
	IntegerKeys KeyKind = 3 // 64-bit integers, as TestUint64 and TestInt64 take them
	fixedKeys   KeyKind = 4
	BytesKeys   KeyKind = 5 // byte strings; text does not fit
)

// Fixed is the kind of keys of size bytes, 1 to 2^24 - 1. Params with another size are refused.
func Fixed(size int) KeyKind {
	if size < 1 || size >= 1<<24 {
		return fixedKeys // without a size: not a kind of this version
	}
	return fixedKeys | KeyKind(size)<<8
}

func (k KeyKind) newer() bool {
	kind, size := k&0xFF, k>>8
	return kind > BytesKeys || (kind == fixedKeys) != (size != 0)
}

// String returns the name of the kind in the specification.
func (k KeyKind) String() string {
	switch {
	case k.newer():
		return "newer"
	case k&0xFF == fixedKeys:
		return fmt.Sprintf("fixed %d", k>>8)
	}
	return [...]string{"unknown", "text", "lower", "integers", "", "bytes"}[k]
}

// plain reports whether keys of the kind given, TextKeys or BytesKeys, fit unchanged at every length.
func (k KeyKind) plain(given KeyKind) bool {
	return k == UnknownKeys || k == TextKeys || k == BytesKeys && given == BytesKeys
}

// fit checks a key of the kind given by a caller: TextKeys, IntegerKeys, or BytesKeys of size bytes.
func (k KeyKind) fit(given KeyKind, size int) error {
	ok := k == UnknownKeys
	switch given {
	case TextKeys:
		ok = ok || k == TextKeys || k == LowerKeys
	case IntegerKeys:
		ok = ok || k == IntegerKeys
	case BytesKeys:
		ok = ok || k.plain(BytesKeys) || k == LowerKeys || k == IntegerKeys && size == 8 || k == Fixed(size) && size > 0
	}
	switch {
	case k.newer():
		return ErrFeature
	case !ok:
		return ErrKeyKind
	}
	return nil
}

// lower returns the key with A to Z replaced, in buffer if it is large enough.
func lower(key, buffer []byte) []byte {
	for _, c := range key {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		buffer = append(buffer, c)
	}
	return buffer
}
