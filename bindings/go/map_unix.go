// SPDX-License-Identifier: MIT

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Mapped files, where the standard library has mmap.

package bloomfile

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

const canMap = true

// mapping is a mapped file. The garbage collector unmaps it, when no lookup uses it.
type mapping struct{ bytes []byte }

func mapFile(f *os.File, size int64) (*mapping, error) {
	if int64(int(size)) != size {
		return nil, syscall.ENOMEM
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	m := &mapping{b}
	runtime.SetFinalizer(m, func(m *mapping) { _ = syscall.Munmap(m.bytes) })
	return m, nil
}

// faulted reports whether a panic is a fault in the mapping.
func (m *mapping) faulted(fault interface{}) bool {
	f, ok := fault.(interface{ Addr() uintptr })
	if !ok {
		return false
	}
	start := uintptr(unsafe.Pointer(&m.bytes[0]))
	return f.Addr() >= start && f.Addr() < start+uintptr(len(m.bytes))
}
