// SPDX-License-Identifier: MIT

//go:build dragonfly || linux || openbsd

// The time of the last status change, where its field is Ctim.

package bloomfile

import (
	"os"
	"syscall"
)

func statusTime(info os.FileInfo) syscall.Timespec {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim
	}
	return syscall.Timespec{}
}
