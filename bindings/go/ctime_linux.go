// SPDX-License-Identifier: MIT

// The time of the last status change, on Linux.

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
