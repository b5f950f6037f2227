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
