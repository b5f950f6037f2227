// SPDX-License-Identifier: MIT

// A second XXH3, written from section 19 of format-spec.md, to compare with the dependency.

package bloomfile

import (
	"encoding/binary"
	"math/bits"
	"testing"
)

func TestXXH3MatchesTheSpecification(t *testing.T) {
	in := make([]byte, 3000)
	for i := range in {
		in[i] = byte(i * i / 7)
	}
	for _, seed := range []uint64{0, 1, 0x0123456789ABCDEF, 1<<64 - 1} {
		for length := range in {
			wanted := xxh3Text(in[:length], seed)
			if Digest(in[:length], seed) != wanted || digestString(string(in[:length]), seed) != wanted {
				t.Fatalf("length %d, seed %x", length, seed)
			}
		}
	}
	if Digest(nil, 5) != xxh3Text(nil, 5) {
		t.Fatal("nil")
	}
}

const (
	xxA1 = 0x9E3779B185EBCA87
	xxA2 = 0xC2B2AE3D27D4EB4F
	xxA3 = 0x165667B19E3779F9
	xxA4 = 0x85EBCA77C2B2AE63
	xxA5 = 0x27D4EB2F165667C5
	xxY1 = 0x9E3779B1
	xxY2 = 0x85EBCA77
	xxY3 = 0xC2B2AE3D
	xxX1 = 0x165667919E3779F9
	xxX2 = 0x9FB21C651E98DF25
)

var xxSecret = [192]byte{
	0xB8, 0xFE, 0x6C, 0x39, 0x23, 0xA4, 0x4B, 0xBE, 0x7C, 0x01, 0x81, 0x2C, 0xF7, 0x21, 0xAD, 0x1C,
	0xDE, 0xD4, 0x6D, 0xE9, 0x83, 0x90, 0x97, 0xDB, 0x72, 0x40, 0xA4, 0xA4, 0xB7, 0xB3, 0x67, 0x1F,
	0xCB, 0x79, 0xE6, 0x4E, 0xCC, 0xC0, 0xE5, 0x78, 0x82, 0x5A, 0xD0, 0x7D, 0xCC, 0xFF, 0x72, 0x21,
	0xB8, 0x08, 0x46, 0x74, 0xF7, 0x43, 0x24, 0x8E, 0xE0, 0x35, 0x90, 0xE6, 0x81, 0x3A, 0x26, 0x4C,
	0x3C, 0x28, 0x52, 0xBB, 0x91, 0xC3, 0x00, 0xCB, 0x88, 0xD0, 0x65, 0x8B, 0x1B, 0x53, 0x2E, 0xA3,
	0x71, 0x64, 0x48, 0x97, 0xA2, 0x0D, 0xF9, 0x4E, 0x38, 0x19, 0xEF, 0x46, 0xA9, 0xDE, 0xAC, 0xD8,
	0xA8, 0xFA, 0x76, 0x3F, 0xE3, 0x9C, 0x34, 0x3F, 0xF9, 0xDC, 0xBB, 0xC7, 0xC7, 0x0B, 0x4F, 0x1D,
	0x8A, 0x51, 0xE0, 0x4B, 0xCD, 0xB4, 0x59, 0x31, 0xC8, 0x9F, 0x7E, 0xC9, 0xD9, 0x78, 0x73, 0x64,
	0xEA, 0xC5, 0xAC, 0x83, 0x34, 0xD3, 0xEB, 0xC3, 0xC5, 0x81, 0xA0, 0xFF, 0xFA, 0x13, 0x63, 0xEB,
	0x17, 0x0D, 0xDD, 0x51, 0xB7, 0xF0, 0xDA, 0x49, 0xD3, 0x16, 0x55, 0x26, 0x29, 0xD4, 0x68, 0x9E,
	0x2B, 0x16, 0xBE, 0x58, 0x7D, 0x47, 0xA1, 0xFC, 0x8F, 0xF8, 0xB8, 0xD1, 0x7A, 0xD0, 0x31, 0xCE,
	0x45, 0xCB, 0x3A, 0x8F, 0x95, 0x16, 0x04, 0x28, 0xAF, 0xD7, 0xFB, 0xCA, 0xBB, 0x4B, 0x40, 0x7E,
}

// The words of the secret that short keys use, by their offsets.
const (
	xxK0k4   = 0x396CFEB8 ^ 0xBE4BA423
	xxK8k16  = 0x1CAD21F72C81017C ^ 0xDB979083E96DD4DE
	xxK24k32 = 0x1F67B3B7A4A44072 ^ 0x78E5C0CC4EE679CB
	xxK40k48 = 0x2172FFCC7DD05A82 ^ 0x8E2443F7744608B8
	xxK56k64 = 0x4C263A81E69035E0 ^ 0xCB00C391BB52283C
)

func mulFold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func av64(x uint64) uint64 {
	x = (x ^ x>>33) * xxA2
	x = (x ^ x>>29) * xxA3
	return x ^ x>>32
}

func av3(x uint64) uint64 {
	x = (x ^ x>>37) * xxX1
	return x ^ x>>32
}

func mix16(p []byte, o int, seed uint64) uint64 {
	p, k := p[:16], xxSecret[o:o+16]
	return mulFold(binary.LittleEndian.Uint64(p)^(binary.LittleEndian.Uint64(k)+seed),
		binary.LittleEndian.Uint64(p[8:])^(binary.LittleEndian.Uint64(k[8:])-seed))
}

func xxh3Text(in []byte, seed uint64) uint64 {
	switch {
	case len(in) > 16:
		return xxh3Long(in, seed)
	case len(in) > 8:
		lo := binary.LittleEndian.Uint64(in) ^ (xxK24k32 + seed)
		hi := binary.LittleEndian.Uint64(in[len(in)-8:]) ^ (xxK40k48 - seed)
		return av3(uint64(len(in)) + bits.ReverseBytes64(lo) + hi + mulFold(lo, hi))
	case len(in) > 3:
		return xxh3To8(in, seed)
	case len(in) > 0:
		all := uint32(in[0])<<16 | uint32(in[len(in)/2])<<24 | uint32(in[len(in)-1]) | uint32(len(in))<<8
		return av64(uint64(all) ^ (xxK0k4 + seed))
	}
	return av64(seed ^ xxK56k64)
}

func xxh3To8(in []byte, seed uint64) uint64 {
	mixed := seed ^ uint64(bits.ReverseBytes32(uint32(seed)))<<32
	value := uint64(binary.LittleEndian.Uint32(in[len(in)-4:])) + uint64(binary.LittleEndian.Uint32(in))<<32
	hash := value ^ (xxK8k16 - mixed)
	hash ^= bits.RotateLeft64(hash, 49) ^ bits.RotateLeft64(hash, 24)
	hash *= xxX2
	hash = (hash ^ (hash>>35 + uint64(len(in)))) * xxX2
	return hash ^ hash>>28
}

func xxh3Long(in []byte, seed uint64) uint64 {
	switch {
	case len(in) > 240:
		return xxh3Stripes(in, seed)
	case len(in) > 128:
		return xxh3To240(in, seed)
	}
	acc := uint64(len(in)) * xxA1
	for i := 0; i <= (len(in)-1)/32; i++ {
		acc += mix16(in[16*i:], 32*i, seed)
		acc += mix16(in[len(in)-16*(i+1):], 32*i+16, seed)
	}
	return av3(acc)
}

func xxh3To240(in []byte, seed uint64) uint64 {
	acc := uint64(len(in)) * xxA1
	for i := 0; i < 8; i++ {
		acc += mix16(in[16*i:], 16*i, seed)
	}
	acc = av3(acc)
	for i := 8; i < len(in)/16; i++ {
		acc += mix16(in[16*i:], 16*(i-8)+3, seed)
	}
	return av3(acc + mix16(in[len(in)-16:], 119, seed))
}

func xxh3Stripes(in []byte, seed uint64) uint64 {
	secret := xxSecret
	if seed != 0 {
		for o := 0; o < len(secret); o += 16 {
			binary.LittleEndian.PutUint64(secret[o:], binary.LittleEndian.Uint64(xxSecret[o:])+seed)
			binary.LittleEndian.PutUint64(secret[o+8:], binary.LittleEndian.Uint64(xxSecret[o+8:])-seed)
		}
	}
	acc := [8]uint64{xxY3, xxA1, xxA2, xxA3, xxA4, xxY2, xxA5, xxY1}
	rest := in
	for ; len(rest) > 1024; rest = rest[1024:] {
		for j := 0; j < 16; j++ {
			stripe(&acc, rest[64*j:], secret[8*j:])
		}
		scramble(&acc, secret[128:])
	}
	for j := 0; j < (len(rest)-1)/64; j++ {
		stripe(&acc, rest[64*j:], secret[8*j:])
	}
	stripe(&acc, in[len(in)-64:], secret[121:])
	return finishStripes(&acc, uint64(len(in)), secret[11:])
}

func stripe(acc *[8]uint64, p, d []byte) {
	p, d = p[:64], d[:64]
	for i := 0; i < 8; i += 2 {
		a, b := binary.LittleEndian.Uint64(p[8*i:]), binary.LittleEndian.Uint64(p[8*i+8:])
		x, y := a^binary.LittleEndian.Uint64(d[8*i:]), b^binary.LittleEndian.Uint64(d[8*i+8:])
		acc[i] += b + x&0xFFFFFFFF*(x>>32)
		acc[i+1] += a + y&0xFFFFFFFF*(y>>32)
	}
}

func scramble(acc *[8]uint64, d []byte) {
	d = d[:64]
	for i := range acc {
		acc[i] = (acc[i] ^ acc[i]>>47 ^ binary.LittleEndian.Uint64(d[8*i:])) * xxY1
	}
}

func finishStripes(acc *[8]uint64, length uint64, d []byte) uint64 {
	sum := length * xxA1
	for i := 0; i < 4; i++ {
		sum += mulFold(acc[2*i]^binary.LittleEndian.Uint64(d[16*i:]), acc[2*i+1]^binary.LittleEndian.Uint64(d[16*i+8:]))
	}
	return av3(sum)
}
