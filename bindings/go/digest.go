// SPDX-License-Identifier: MIT

// From key to digest: section 9 of format-spec.md.

package bloomfile

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Digest returns the digest of a key under a seed: XXH3 with 64 bits. It ignores the kind of a filter's keys; for
// lookups use Filter.Digest, which does not.
func Digest(key []byte, seed uint64) uint64 { return xxh3.HashSeed(key, seed) }

func digestString(key string, seed uint64) uint64 { return xxh3.HashStringSeed(key, seed) }

func digestInteger(key, seed uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], key)
	return xxh3.HashSeed(b[:], seed)
}

// testString is the beginning of the test string of section 9.2.
var testString = func() (t [1100]byte) {
	for i := range t {
		t[i] = byte(128 + 157*i)
	}
	return t
}()

// selfTest returns self_test of a seed: section 9.2.
func selfTest(seed uint64) (sum uint64) {
	for _, length := range [...]int{0, 1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 144, 240, 241, 1024,
		1025, 1088, 1100} {
		sum ^= Digest(testString[:length], seed)
	}
	return sum
}
