// SPDX-License-Identifier: MIT

// The static header: fields, and rules V1 to V27. Sections 5, 6 and 13 of format-spec.md.

package bloomfile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"unicode/utf8"
)

const (
	fileHeader     = 4096 // H of the file form
	embeddedHeader = 512  // H of the embedded form
	pageSize       = 4096
	maxBits        = 1 << 60
	oneAsBits      = 0x3FF0000000000000 // 1.0, as a u64
	compatKeyKind  = 1
	isLayer        = 1 // bits of incompat
	isSlice        = 2
	xxh3ID         = 1
	applicationIDs = 0x80000000 // the first hash_id of applications
	maxLayers      = 1000
)

const magic = "\xBFBLM\r\n\x1A\n"

var textModes = []string{
	"\xBFBLM\n\x1A\n",
	"\xBFBLM\r\r\n\x1A\r\n",
	"\xBFBLM\r\n\x1A\r\n",
	"\xBFBLM\r\r\x1A\r",
	"\xBFBLM\n\n\x1A\n",
	"?BLM\r\n\x1A\n",
}

// header has the fields of a static header. The fields of slices and layers are 0 in other images.
type header struct {
	size                                   uint64 // H
	compat, roCompat, incompat, provenance uint32
	layout                                 Layout
	hashID, k, keyKind                     uint32
	m, seed, selfTest, bodySize            uint64
	capacity, fpr, unfolded                uint64
	tag                                    [16]byte
	label                                  [112]byte

	firstBlock, wholeBlocks, keysRead, keysElsewhere, digestSum uint64

	series, layer, restSize, link, seriesFPR, period, began uint64
	generations, layers                                     uint32

	crc uint32
}

func u32(b []byte, offset int) uint32 { return binary.LittleEndian.Uint32(b[offset:]) }
func u64(b []byte, offset int) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }

// headerSize checks V1 to V5 and returns H. The first bytes of an image of size bytes suffice.
func headerSize(start []byte, size uint64) (uint64, error) {
	if size < 1 {
		return 0, ErrEmpty
	}
	if !bytes.Equal(start[:shorter(len(start), len(magic))], []byte(magic)[:shorter(len(start), len(magic))]) {
		return 0, wrongMagic(start)
	}
	if size < 16 {
		return 0, ErrTruncated
	}
	h := uint64(u32(start, 12))
	if h != fileHeader && h != embeddedHeader {
		return 0, ErrForm
	}
	if size < h {
		return 0, ErrTruncated
	}
	return h, nil
}

func shorter(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func wrongMagic(start []byte) error {
	for _, mode := range textModes {
		both := shorter(len(start), len(mode))
		if both >= 6 && string(start[:both]) == mode[:both] {
			return ErrTextMode
		}
	}
	return ErrMagic
}

// parseHeader checks V1 to V27. b holds at least the header, and size bytes exist.
func parseHeader(b []byte, size uint64, anyHash bool) (*header, error) {
	length, err := headerSize(b, size)
	if err != nil {
		return nil, err
	}
	h, err := parseStatic(b[:length], anyHash)
	if err != nil {
		return nil, err
	}
	return h, h.checkSize(size)
}

// parseStatic checks V6 to V25. b is the header.
func parseStatic(b []byte, anyHash bool) (*header, error) {
	length := uint64(len(b))
	half := int(length / 2)
	crc := u32(b, half-4)
	if crc32.ChecksumIEEE(b[:half-4]) != crc {
		return nil, ErrHeader
	}
	if u32(b, 8) != 1 {
		return nil, ErrVersion
	}
	h := decodeHeader(b, length)
	h.crc = crc
	for _, check := range []func(*header) error{
		func(h *header) error { return h.checkKnown(anyHash) }, (*header).checkShape, (*header).checkPlan,
		(*header).checkSlice, (*header).checkLayer,
	} {
		if err := check(h); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func decodeHeader(b []byte, length uint64) *header {
	h := &header{
		size: length, compat: u32(b, 16), roCompat: u32(b, 20), incompat: u32(b, 24), provenance: u32(b, 28),
		layout: Layout(u32(b, 32)), hashID: u32(b, 36), k: u32(b, 40), keyKind: u32(b, 44),
		m: u64(b, 48), seed: u64(b, 56), selfTest: u64(b, 64), bodySize: u64(b, 80),
		capacity: u64(b, 88), fpr: u64(b, 96), unfolded: u64(b, 104),
	}
	copy(h.tag[:], b[112:])
	copy(h.label[:], b[128:])
	if u64(b, 72) != length {
		h.bodySize = math.MaxUint64 // a wrong body_offset: V14 fails
	}
	if h.compat&compatKeyKind == 0 {
		h.keyKind = 0
	}
	if h.incompat == isSlice && length == fileHeader {
		h.firstBlock, h.wholeBlocks, h.keysRead, h.keysElsewhere, h.digestSum =
			u64(b, 240), u64(b, 248), u64(b, 256), u64(b, 264), u64(b, 272)
	}
	if h.incompat == isLayer && length == fileHeader {
		h.series, h.layer, h.generations, h.layers = u64(b, 240), u64(b, 248), u32(b, 256), u32(b, 260)
		h.restSize, h.link, h.seriesFPR, h.period, h.began =
			u64(b, 264), u64(b, 272), u64(b, 280), u64(b, 288), u64(b, 296)
	}
	return h
}

// checkKnown checks V8 to V11.
func (h *header) checkKnown(anyHash bool) error {
	switch {
	case h.incompat&^(isLayer|isSlice) != 0:
		return ErrFeature
	case h.layout < Blocked || h.layout > Ribbon:
		return ErrLayout
	case h.hashID == xxh3ID:
		if h.selfTest != selfTest(h.seed) {
			return ErrSelfTest
		}
	case h.hashID < applicationIDs || !anyHash:
		return ErrHash
	}
	return nil
}

// checkShape checks V12 to V14.
func (h *header) checkShape() error {
	switch {
	case h.layout == Ribbon && h.k != 0, h.layout != Ribbon && (h.k < 1 || h.k > 64):
		return ErrHashCount
	case h.m < 1 || h.m > maxBits, h.inBlocks() && h.m%512 != 0:
		return ErrBits
	case h.bodySize != h.wantedBody():
		return ErrOffset
	}
	return nil
}

// checkPlan checks V15 to V18.
func (h *header) checkPlan() error {
	switch {
	case h.capacity < 1 || h.capacity > maxBits:
		return ErrCapacity
	case h.fpr >= oneAsBits:
		return ErrRate
	case h.unfolded < h.m || h.unfolded > maxBits || h.unfolded%h.m != 0, h.layout == Ribbon && h.unfolded != h.m:
		return ErrUnfolded
	case !cleanLabel(h.label[:]):
		return ErrLabel
	}
	return nil
}

// cleanLabel checks a padded label by section 6.
func cleanLabel(label []byte) bool {
	text := bytes.TrimRight(label, "\x00")
	if !utf8.Valid(text) {
		return false
	}
	for _, r := range string(text) {
		if r < 0x20 || r >= 0x7F && r <= 0x9F {
			return false
		}
	}
	return true
}

// checkSlice checks V19 and V20.
func (h *header) checkSlice() error {
	if h.incompat&isSlice == 0 {
		return nil
	}
	if h.size != fileHeader || h.incompat&isLayer != 0 || h.layout != Blocked || h.unfolded != h.m {
		return ErrSlice
	}
	if h.wholeBlocks > 1<<51 || h.firstBlock >= h.wholeBlocks || h.firstBlock%64 != 0 {
		return ErrSlice
	}
	blocks, left := h.m/512, h.wholeBlocks-h.firstBlock
	if blocks > left || blocks < left && blocks%64 != 0 {
		return ErrSlice
	}
	return nil
}

// checkLayer checks V21 to V25.
func (h *header) checkLayer() error {
	if h.incompat&isLayer == 0 {
		return nil
	}
	ok := h.size == fileHeader && (h.layout == Blocked || h.layout == Classic)
	if h.layers == 0 {
		ok = ok && h.validLiveLayer()
	} else {
		ok = ok && h.layers <= maxLayers && h.layer < uint64(h.layers) &&
			h.series == 0 && h.generations == 0 && h.period == 0 && h.began == 0 && h.validRest()
	}
	if !ok || h.seriesFPR >= oneAsBits {
		return ErrSeries
	}
	return nil
}

func (h *header) validLiveLayer() bool {
	if h.series == 0 || h.restSize != 0 || h.link != 0 {
		return false
	}
	if h.generations == 0 {
		return h.layer < maxLayers && h.fpr != 0 && h.seriesFPR != 0 && h.period == 0 && h.began == 0
	}
	return h.generations >= 2 && h.generations <= maxLayers && h.layer < 1<<63
}

func (h *header) validRest() bool {
	if h.lastLayer() {
		return h.restSize == h.imageSize()
	}
	return h.restSize > roundUp(h.imageSize(), pageSize)
}

// checkSize checks V26 and V27.
func (h *header) checkSize(size uint64) error {
	wanted := h.wholeSize()
	if size < wanted {
		return ErrTruncated
	}
	if size > wanted {
		return ErrTrailing
	}
	return nil
}

func (h *header) inBlocks() bool { return h.layout == Blocked || h.layout == Ribbon }

// slot returns the number in the file name of a live layer; 0 for the first file.
func (h *header) slot() uint64 {
	if h.generations == 0 {
		return h.layer
	}
	return h.layer % uint64(h.generations)
}

func (h *header) lastLayer() bool { return h.layer+1 == uint64(h.layers) }

func roundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

// usedBody returns need of section 11: the bytes that m needs.
func (h *header) usedBody() uint64 {
	if h.layout == Counting {
		return (h.m + 1) / 2
	}
	return (h.m + 7) / 8
}

func (h *header) wantedBody() uint64 {
	if h.size == fileHeader {
		return roundUp(h.usedBody(), pageSize)
	}
	return roundUp(h.usedBody(), 64)
}

func (h *header) pages() uint64     { return (h.bodySize + pageSize - 1) / pageSize }
func (h *header) imageSize() uint64 { return h.size + h.bodySize + 4*h.pages() }

// wholeSize returns the size of the image, or of the series from this layer on.
func (h *header) wholeSize() uint64 {
	if h.layers != 0 {
		return h.restSize
	}
	return h.imageSize()
}

// next reports whether other is the layer after h in a sealed series: slices.md 2.2.
func (h *header) next(other *header) bool {
	return other.incompat&isLayer != 0 && other.layer == h.layer+1 && other.layers == h.layers &&
		other.hashID == h.hashID && other.selfTest == h.selfTest && other.seed == h.seed && other.layout == h.layout &&
		(other.compat^h.compat)&compatKeyKind == 0 && other.keyKind == h.keyKind && other.tag == h.tag && other.label == h.label &&
		other.seriesFPR == h.seriesFPR
}
