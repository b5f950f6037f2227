// SPDX-License-Identifier: MIT

// Looking for writes to the open file: section 14.1 of format-spec.md.

package bloomfile

import (
	"bytes"
	"os"
	"sync"
)

// origin is the file of a mapped filter, as it was before it was read.
type origin struct {
	path  string
	mutex sync.Mutex
	info  os.FileInfo
}

// look returns ErrChanged if the open file was written to, now or earlier.
func (c *contents) look() error {
	if c.sticky.get() == ErrChanged {
		return ErrChanged
	}
	if c.file != nil && c.changed() {
		c.fail(ErrChanged)
		return ErrChanged
	}
	return nil
}

// changed reports whether the open file was written to.
func (c *contents) changed() bool {
	if c.guard(c.compareHeaders) != nil {
		return true
	}
	o := c.origin
	o.mutex.Lock()
	defer o.mutex.Unlock()
	now, err := os.Stat(o.path)
	if err != nil && !os.IsNotExist(err) {
		return c.guard(c.recheck) != nil // nothing can be compared
	}
	if err != nil || !os.SameFile(o.info, now) {
		return false // replaced: the open file did not change
	}
	sameTime := now.ModTime().Equal(o.info.ModTime())
	if now.Size() != o.info.Size() || !sameTime && !c.unfinished() {
		return true
	}
	if sameTime && statusTime(now) == statusTime(o.info) {
		return false
	}
	o.info = now
	return c.guard(c.recheck) != nil
}

// recheck checks the pages again that answers relied on.
func (c *contents) recheck() error {
	for _, l := range c.layers {
		for p := uint64(0); p < l.pages(); p++ {
			if l.good.has(p) && !l.check(p) {
				return ErrChanged
			}
		}
	}
	return nil
}

func (c *contents) compareHeaders() error {
	for _, l := range c.layers {
		now := l.image[:l.size]
		start, end := int(l.size/2), int(3*l.size/4)
		if !bytes.Equal(l.raw, l.head[start:end]) {
			start, end = end, int(l.size)
		}
		if !bytes.Equal(now[:l.size/2], l.head[:l.size/2]) || !bytes.Equal(now[start:end], l.raw) {
			return ErrChanged
		}
	}
	return nil
}

// unfinished reports whether another program may still complete the sealing of a layer.
func (c *contents) unfinished() bool {
	for _, l := range c.layers {
		if !bytes.Equal(l.head[l.size/2:3*l.size/4], l.head[3*l.size/4:]) {
			return true
		}
	}
	return false
}
