// SPDX-License-Identifier: MIT

//go:build linux

// Lookups of absent keys, against bits-and-blooms/bloom and the C library. Medians of 11 rounds, which alternate.
//
//	usage: bench [KEYS [C-PROGRAM]]
package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/bloomfile/bloomfile/bindings/go"
)

const (
	rounds  = 11
	lookups = 1 << 18 // in each round
	keySize = 16
)

// contender looks up all absent keys, and returns the time of one.
type contender struct {
	name string
	run  func() float64
}

func key(i int) []byte {
	k := make([]byte, keySize)
	binary.LittleEndian.PutUint64(k, uint64(i)*0x9E3779B97F4A7C15)
	binary.LittleEndian.PutUint64(k[8:], uint64(i))
	return k
}

// absentKeys are in one piece, as an array of C.
func absentKeys() [][]byte {
	all, keys := make([]byte, 0, keySize*lookups), make([][]byte, lookups)
	for i := range keys {
		all = append(all, key(-1-i)...)
		keys[i] = all[keySize*i:][:keySize:keySize]
	}
	return keys
}

// timed returns processor time, because other programs may run.
func timed(work func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := processorTime()
	work()
	return float64(processorTime()-start) / lookups
}

// processorTime returns the nanoseconds that this thread has run.
func processorTime() int64 {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		log.Fatal(errno)
	}
	return t.Nano()
}

var found int // keeps the compiler from leaving out lookups

func each(keys [][]byte, test func([]byte) bool) func() float64 {
	return func() float64 {
		return timed(func() {
			for _, k := range keys {
				if test(k) {
					found++
				}
			}
		})
	}
}

func main() {
	n, c := 10000000, ""
	if len(os.Args) > 1 {
		n = must(strconv.Atoi(os.Args[1]))
	}
	if len(os.Args) > 2 {
		c = os.Args[2]
	}
	folder := must(os.MkdirTemp("", "bench"))
	defer os.RemoveAll(folder)
	keys := absentKeys()
	var list []contender
	for _, layout := range []bloomfile.Layout{bloomfile.Classic, bloomfile.Blocked, bloomfile.Ribbon} {
		list = append(list, contenders(layout, n, keys, filepath.Join(folder, layout.String()), c)...)
	}
	rival := bloom.NewWithEstimates(uint(n), 0.01)
	for i := 0; i < n; i++ {
		rival.Add(key(i))
	}
	list = append(list, contender{"bits-and-blooms", each(keys, rival.Test)})
	report(list)
}

func contenders(layout bloomfile.Layout, n int, keys [][]byte, path, c string) []contender {
	b := must(bloomfile.NewBuilder(bloomfile.Params{Layout: layout}))
	for i := 0; i < n; i++ {
		b.Add(key(i))
	}
	f := must(b.Finish())
	if err := f.WriteFile(path); err != nil {
		log.Fatal(err)
	}
	mapped := must(bloomfile.Open(path))
	maybe := make([]bool, len(keys))
	list := []contender{
		{layout.String() + ", mapped", each(keys, mapped.Test)},
		{layout.String() + ", in memory", each(keys, f.Test)},
		{layout.String() + ", in batches", func() float64 { return timed(func() { found += mapped.TestBatch(keys, maybe) }) }},
	}
	if c != "" {
		list = append(list, contender{layout.String() + ", C", func() float64 { return runC(c, path) }})
	}
	return list
}

// runC runs the C program, which makes the same keys.
func runC(program, path string) float64 {
	out := must(exec.Command(program, path, fmt.Sprint(lookups)).Output())
	return must(strconv.ParseFloat(strings.TrimSpace(string(out)), 64))
}

func report(list []contender) {
	times := make([][]float64, len(list))
	for round := -1; round < rounds; round++ {
		for i, c := range list {
			runtime.GC()
			if t := c.run(); round >= 0 {
				times[i] = append(times[i], t)
			}
		}
	}
	for i, c := range list {
		sort.Float64s(times[i])
		fmt.Printf("%-22s %6.1f ns\n", c.name, times[i][rounds/2])
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
