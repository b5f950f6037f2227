// SPDX-License-Identifier: MIT

// Commit records, and rules V28 to V36. Section 7 and 13 of format-spec.md.

package bloomfile

import (
	"bytes"
	"hash/crc32"
	"math"
)

const (
	stateLive     = 1
	stateSealed   = 2
	statePoisoned = 3
	flagEstimated = 1
	lastSequence  = math.MaxUint64
)

// record has the fields of a commit record.
type record struct {
	raw               []byte
	sequence          uint64
	state, flags      uint32
	n, ones, overflow uint64
	bodyCRC           uint32
	watermark         [32]byte
	identity          []byte // file form only
}

func decodeRecord(b []byte) *record {
	r := &record{
		raw: b, sequence: u64(b, 0), state: u32(b, 8), flags: u32(b, 12), n: u64(b, 16), ones: u64(b, 24),
		overflow: u64(b, 32), bodyCRC: u32(b, 56),
	}
	copy(r.watermark[:], b[72:])
	if len(b) == fileHeader/4 {
		r.identity = b[128:144]
	}
	return r
}

func (r *record) intact(h *header) bool { return r.checksumMatches() && u32(r.raw, 60) == h.crc }

func (r *record) checksumMatches() bool {
	end := len(r.raw) - 4
	return u32(r.raw, end) == crc32.ChecksumIEEE(r.raw[:end])
}

// hasLiveRecord reports whether a header of the file form has an undamaged record that is live or poisoned. The rest of the
// header may be damaged.
func hasLiveRecord(head []byte) bool {
	for at := fileHeader / 2; at+fileHeader/4 <= len(head); at += fileHeader / 4 {
		r := decodeRecord(head[at : at+fileHeader/4])
		if r.checksumMatches() && (r.state == stateLive || r.state == statePoisoned) {
			return true
		}
	}
	return false
}

func zero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// parseRecords checks V28 to V36 and returns the record in force. b is a copy of the header.
func parseRecords(b []byte, h *header) (*record, error) {
	now, other := decodeRecord(b[h.size/2:3*h.size/4]), decodeRecord(b[3*h.size/4:h.size])
	nowIntact, otherIntact := now.intact(h), other.intact(h)
	if !nowIntact || otherIntact && other.sequence > now.sequence {
		now, other, nowIntact, otherIntact = other, now, otherIntact, nowIntact
	}
	if !nowIntact || otherIntact && now.sequence == other.sequence && !bytes.Equal(now.raw, other.raw) {
		return nil, ErrRecord
	}
	if !now.consistent(h) {
		return nil, ErrState
	}
	if otherIntact && !samePlace(now, other) || now.state == stateSealed && !allowedOther(h, now, other, otherIntact) {
		return nil, ErrRecord
	}
	if h.incompat&isLayer != 0 && (now.state == stateSealed) != (h.layers != 0) {
		return nil, ErrSeries
	}
	if now.state != stateSealed {
		return nil, notSealed(now, other)
	}
	return now, nil
}

// consistent checks V29 to V31.
func (r *record) consistent(h *header) bool {
	sealed := r.state == stateSealed
	switch {
	case r.state < stateLive || r.state > statePoisoned,
		!sealed && (h.size != fileHeader || h.layout == Ribbon || h.incompat&isSlice != 0),
		sealed != (r.sequence == lastSequence),
		r.ones > h.m || r.overflow > r.ones || h.layout != Counting && r.overflow != 0,
		sealed && !zero(r.raw[40:56]),
		!sealed && r.bodyCRC != 0,
		r.identity != nil && zero(r.identity) != sealed:
		return false
	}
	return true
}

// samePlace checks V32 of two intact records.
func samePlace(now, other *record) bool {
	return now.state == stateSealed || other.state != stateLive && other.state != statePoisoned ||
		bytes.Equal(now.identity, other.identity)
}

// allowedOther checks V33: an interrupted sealing is the only reason for a second record that differs.
func allowedOther(h *header, now, other *record, intact bool) bool {
	if bytes.Equal(now.raw, other.raw) {
		return true
	}
	return h.size == fileHeader && h.layout != Ribbon && h.incompat&isSlice == 0 &&
		intact && other.state == stateLive && other.sequence < lastSequence
}

// notSealed returns the error of V35 or V36.
func notSealed(now, other *record) error {
	if now.state == statePoisoned || other.state == statePoisoned {
		return ErrPoisoned
	}
	return ErrLive
}
