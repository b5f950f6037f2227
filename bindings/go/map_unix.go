// SPDX-License-Identifier: MIT

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Mapped files, memory and locks, where the standard library has mmap.

package bloomfile

import (
	"errors"
	"math"
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

// canAllocate reports whether the system would grant that much memory. If it does not, the Go runtime ends the program.
func canAllocate(size uint64) bool {
	const small, slack = 64 << 20, 16 << 20
	if size < small {
		return true
	}
	if size > math.MaxInt-slack {
		return false
	}
	b, err := syscall.Mmap(-1, 0, int(size)+slack, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		_ = syscall.Munmap(b)
	}
	return err == nil
}

// openNow opens a file for reading, and a FIFO without waiting for its writer. It waits for another program that has a lease
// on the file (fcntl F_SETLEASE).
func openNow(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.EAGAIN) {
		return os.Open(path)
	}
	return file, err
}

// hasWriters reports whether a program holds a live filter open for writing: a lock on byte 0, live.md 4.
func hasWriters(file *os.File) (bool, error) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Len: 1}
	err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock)
	return lock.Type != syscall.F_UNLCK, os.NewSyscallError("fcntl", err)
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
