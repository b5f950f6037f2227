// SPDX-License-Identifier: MIT

// Batches of lookups: their cache misses overlap.

package bloomfile

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

const batchSize = 64

// TestBatch looks up byte strings. It sets maybe[i] to whether keys[i] may be in the filter, and returns how many may
// be. maybe must be as long as keys.
func (f *Filter) TestBatch(keys [][]byte, maybe []bool) (count int) {
	c := f.opened.Load()
	if c == nil || !c.plain {
		return f.testEach(keys, maybe)
	}
	var digests [batchSize]uint64
	for len(keys) > 0 {
		n := shorter(len(keys), batchSize)
		for i, key := range keys[:n] {
			digests[i] = Digest(key, c.seed)
		}
		count += c.batch(digests[:n], maybe[:n])
		keys, maybe = keys[n:], maybe[n:]
	}
	return count
}

func (f *Filter) testEach(keys [][]byte, maybe []bool) (count int) {
	for i, key := range keys {
		maybe[i] = f.Test(key)
		if maybe[i] {
			count++
		}
	}
	return count
}

// TestDigests is TestBatch for digests.
func (f *Filter) TestDigests(digests []uint64, maybe []bool) (count int) {
	c, err := f.open()
	if err != nil {
		return allMaybe(maybe[:len(digests)])
	}
	for len(digests) > 0 {
		n := shorter(len(digests), batchSize)
		count += c.batch(digests[:n], maybe[:n])
		digests, maybe = digests[n:], maybe[n:]
	}
	return count
}

func allMaybe(maybe []bool) int {
	for i := range maybe {
		maybe[i] = true
	}
	return len(maybe)
}

func (c *contents) batch(digests []uint64, maybe []bool) (count int) {
	if atomic.LoadUint32(&c.doubt) != 0 {
		return allMaybe(maybe)
	}
	err := c.guard(func() error {
		count = c.testAll(digests, maybe)
		if c.file != nil && count < len(maybe) {
			c.cut()
		}
		return nil
	})
	if err != nil || atomic.LoadUint32(&c.doubt) != 0 {
		return allMaybe(maybe)
	}
	return count
}

func (c *contents) testAll(digests []uint64, maybe []bool) (count int) {
	for _, l := range c.layers {
		l.touch(digests)
	}
	for i, digest := range digests {
		maybe[i] = c.test(digest)
		if maybe[i] {
			count++
		}
	}
	return count
}

// touch reads one byte for each digest, so that the processor fetches all their cache lines at the same time.
func (l *layer) touch(digests []uint64) {
	var sum byte
	for _, digest := range digests {
		var x uint64
		switch l.layout {
		case Classic:
			x, _ = bits.Mul64(digest, l.m)
			x /= 8
		case Counting:
			x, _ = bits.Mul64(digest, l.m)
			x /= 2
		default:
			x, _ = bits.Mul64(digest, l.blocks)
			x = (x - l.first) * 64
		}
		if x < uint64(len(l.body)) {
			sum += l.body[x]
		}
	}
	runtime.KeepAlive(sum)
}
