// SPDX-License-Identifier: MIT

// Filter: an open filter, and its lookups.

package bloomfile

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A Filter is an open filter: a file, or bytes in memory. Any number of goroutines may use it.
//
// A lookup returns false if the key is certainly absent, and true for "maybe". If something is wrong, it returns true,
// and Err returns the reason.
type Filter struct {
	opened atomic.Pointer[contents] // nil after Close
	sticky *sticky                  // nil: the zero value
	info   Info
	damage []*damage // of each layer
	hash   *hashName // of WithHash
}

// contents is all that a lookup needs. A lookup that runs during Close keeps it.
type contents struct {
	doubt  uint32 // not 0: all answers are "maybe"
	plain  bool   // byte strings of every length may be looked up
	text   bool   // strings may be looked up, unchanged
	kind   KeyKind
	hashID uint32
	seed   uint64
	image  []byte // mapped or in memory
	single Layout // of a filter that is not a series; otherwise 0
	one    *layer // the first layer
	layers []*layer

	file   *mapping // nil in memory
	canary byte     // the last byte of the mapped file that is not 0, and its offset
	at     int

	sticky *sticky
	origin *origin // of a mapped file
}

// sticky is the worst error that was found.
type sticky struct {
	mutex sync.Mutex
	err   error
}

func (s *sticky) set(err error) {
	if s == nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if severity(err) > severity(s.err) {
		s.err = err
	}
}

func (s *sticky) get() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.err
}

func severity(err error) int {
	switch err {
	case nil:
		return 0
	case ErrChanged:
		return 4
	case ErrBody:
		return 3
	case ErrClosed:
		return 2
	}
	return 1
}

// fail notes an error after which all answers are "maybe".
func (c *contents) fail(err error) {
	c.sticky.set(err)
	atomic.StoreUint32(&c.doubt, 1)
}

func newFilter(image []byte, file *mapping, o options) (*Filter, error) {
	layers, err := parseLayers(image, o.anyHash || o.hash != nil)
	if err != nil {
		return nil, err
	}
	first := layers[0]
	c := &contents{
		kind: KeyKind(first.keyKind), hashID: first.hashID, seed: first.seed, one: first, layers: layers, file: file,
		image: image, sticky: &sticky{},
	}
	c.plain = c.kind.plain(BytesKeys) && c.hashID == xxh3ID
	c.text = c.kind.plain(TextKeys) && c.hashID == xxh3ID
	if len(layers) == 1 {
		c.single = first.layout
	}
	if err := c.name(o.hash); err != nil {
		return nil, err
	}
	f := &Filter{sticky: c.sticky, info: describe(layers), hash: o.hash}
	for _, l := range layers {
		f.damage = append(f.damage, l.damage)
	}
	f.opened.Store(c)
	return f, nil
}

// name compares the name of the caller's hash function, if any, with that of the filter.
func (c *contents) name(hash *hashName) error {
	switch {
	case hash == nil:
		if c.hashID != xxh3ID {
			c.fail(ErrHash)
		}
	case hash.id != c.hashID:
		return ErrHash
	case hash.selfTest != c.one.selfTest:
		return ErrSelfTest
	}
	return nil
}

// Close closes the filter. Later lookups return true. Err then returns ErrClosed, or ErrPage, ErrBody or ErrChanged if one was
// found before. Other goroutines may be in a lookup: the file stays mapped until they finish and the garbage collector
// runs. Every 1000th Close of a mapped file runs the garbage collector.
func (f *Filter) Close() error {
	if c := f.opened.Swap(nil); c != nil && c.file != nil && atomic.AddUint32(&closedMaps, 1)%1000 == 0 {
		runtime.GC()
	}
	return nil
}

// closedMaps counts mapped filters that were closed. Mappings do not trigger the garbage collector, and on Linux a process
// cannot have more than 65,530.
var closedMaps uint32

func (f *Filter) open() (*contents, error) {
	if c := f.opened.Load(); c != nil {
		return c, nil
	}
	f.sticky.set(ErrClosed)
	return nil, ErrClosed
}

// Test reports whether a byte string may be in the filter.
func (f *Filter) Test(key []byte) bool {
	c := f.opened.Load()
	if c == nil || !c.plain {
		return f.testTyped(key, BytesKeys)
	}
	return c.lookup(Digest(key, c.seed))
}

// TestString reports whether a string may be in the filter.
func (f *Filter) TestString(key string) bool {
	c := f.opened.Load()
	if c == nil || !c.text {
		return f.testTyped([]byte(key), TextKeys)
	}
	return c.lookup(digestString(key, c.seed))
}

// TestUint64 reports whether an integer may be in the filter. Its key is its 8 bytes, the lowest first.
func (f *Filter) TestUint64(key uint64) bool {
	c := f.opened.Load()
	if c == nil || c.hashID != xxh3ID || c.kind != UnknownKeys && c.kind != IntegerKeys {
		return f.testTyped(nil, IntegerKeys)
	}
	return c.lookup(digestInteger(key, c.seed))
}

// TestInt64 reports whether an integer may be in the filter.
func (f *Filter) TestInt64(key int64) bool { return f.TestUint64(uint64(key)) }

// TestDigest reports whether the key of a digest may be in the filter. It does not check the kind of the key. Filter.Digest
// makes the digest.
func (f *Filter) TestDigest(digest uint64) bool {
	c, err := f.open()
	return err != nil || c.lookup(digest)
}

// Digest returns the digest of a key, for TestDigest. It does not check the kind of the key, but converts it to lower case
// in a filter of LowerKeys. If only an application can make the filter's digests, it returns 0, all later lookups return
// true, and Err returns ErrHash.
func (f *Filter) Digest(key []byte) uint64 {
	if f.info.HashID != xxh3ID {
		if c := f.opened.Load(); c != nil {
			c.fail(ErrHash)
		}
		return 0
	}
	if f.info.KeyKind == LowerKeys {
		var buffer [256]byte
		key = lower(key, buffer[:0])
	}
	return Digest(key, f.info.Seed)
}

// testTyped looks up a key that must be compared with the kind of the filter's keys, or replaced.
func (f *Filter) testTyped(key []byte, given KeyKind) bool {
	c, err := f.open()
	if err != nil {
		return true
	}
	var buffer [256]byte
	key, err = c.convert(key, given, buffer[:0])
	if err != nil {
		f.sticky.set(err)
		return true
	}
	return c.lookup(Digest(key, c.seed))
}

// convert returns the bytes to hash of a key.
func (c *contents) convert(key []byte, given KeyKind, buffer []byte) ([]byte, error) {
	if c.hashID != xxh3ID {
		return nil, ErrHash
	}
	if err := c.kind.fit(given, len(key)); err != nil {
		return nil, err
	}
	if c.kind == LowerKeys {
		key = lower(key, buffer)
	}
	return key, nil
}

func (c *contents) lookup(digest uint64) bool {
	if atomic.LoadUint32(&c.doubt) != 0 {
		return true
	}
	switch {
	case c.file != nil:
		return c.testMapped(digest)
	case c.single == Blocked:
		return c.one.testBlocked(digest)
	case c.single == Classic:
		return c.one.testClassic(digest)
	}
	return c.test(digest)
}

func (c *contents) test(digest uint64) bool {
	for _, l := range c.layers {
		if l.test(digest) {
			return true
		}
	}
	return false
}

// testMapped tolerates that another program truncates the file. It keeps the mapping until it
// returns.
func (c *contents) testMapped(digest uint64) (maybe bool) {
	whole := false
	old := debug.SetPanicOnFault(true)
	defer func() {
		if !whole {
			maybe = true
			c.caught(recover(), old)
		}
		runtime.KeepAlive(c)
	}()
	switch c.single { // fewer calls, so that more lookups overlap
	case Blocked:
		maybe = c.one.testBlocked(digest)
	case Classic:
		maybe = c.one.testClassic(digest)
	default:
		maybe = c.test(digest)
	}
	if !maybe && c.file.bytes[c.at] != c.canary {
		maybe = c.cut()
	}
	debug.SetPanicOnFault(old)
	whole = true
	return maybe
}

// cut reports whether the mapped file was truncated. The kernel maps zeros up to the next page
// boundary, and access after it faults. If the canary still has its value, the bytes before it
// exist; the bytes after it are zeros anyway.
func (c *contents) cut() bool {
	if c.file.bytes[c.at] == c.canary {
		return false
	}
	c.fail(ErrChanged)
	return true
}

// caught records a fault in the mapped file. Other panics are passed on.
func (c *contents) caught(fault interface{}, old bool) {
	debug.SetPanicOnFault(old)
	if !c.file.faulted(fault) {
		panic(fault)
	}
	c.fail(ErrChanged)
}

// guard runs work, and returns ErrChanged if the mapped file was truncated.
func (c *contents) guard(work func() error) (err error) {
	if c.file == nil {
		return work()
	}
	whole := false
	old := debug.SetPanicOnFault(true)
	defer func() {
		if !whole {
			err = ErrChanged
			c.caught(recover(), old)
		}
		runtime.KeepAlive(c)
	}()
	err = work()
	debug.SetPanicOnFault(old)
	whole = true
	return err
}

// Err returns the worst error found so far, or nil. It also checks whether another program changed the open file. If it
// returns nil, earlier answers are reliable, within the limits of section 14.2 of the specification.
func (f *Filter) Err() error {
	c, err := f.open()
	if err == nil {
		_ = c.look()
	} else if f.sticky == nil {
		return err
	}
	err = f.sticky.get()
	if severity(err) > severity(ErrClosed) {
		return err
	}
	for i, d := range f.damage {
		if p := d.firstBad.Load(); p != noPage {
			return &PageError{i, p}
		}
	}
	return err
}

// DamagedPages returns the number of damaged pages found so far.
func (f *Filter) DamagedPages() (count uint64) {
	for _, d := range f.damage {
		count += d.bad.len()
	}
	return count
}
