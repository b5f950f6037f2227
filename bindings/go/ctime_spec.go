// SPDX-License-Identifier: MIT

//go:build darwin || freebsd || netbsd

// The time of the last status change, where its field is Ctimespec.

package bloomfile

import (
	"os"
	"syscall"
)

func statusTime(info os.FileInfo) syscall.Timespec {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec
	}
	return syscall.Timespec{}
}
