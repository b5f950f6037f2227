// SPDX-License-Identifier: MIT

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

// Systems whose files are read, not mapped.

package bloomfile

import (
	"errors"
	"os"
)

const canMap = false

var errNoMaps = errors.New("mapped files are not supported")

type mapping struct{ bytes []byte }

func mapFile(*os.File, int64) (*mapping, error) { return nil, errNoMaps }

func (m *mapping) faulted(interface{}) bool { return false }

func statusTime(os.FileInfo) int { return 0 } // only mapped files are checked again

func canAllocate(uint64) bool { return true }

func openNow(path string) (*os.File, error) { return os.Open(path) }

func hasWriters(*os.File) (bool, error) { return false, nil }
