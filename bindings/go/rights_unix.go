// SPDX-License-Identifier: MIT

//go:build !windows && !plan9

// Owner, group and permissions of a file that is replaced.

package bloomfile

import (
	"os"
	"syscall"
)

// keepRights gives a new file the rights of an old file. No user gains a right: if the group cannot be kept, its former
// members have the rights of other users.
func keepRights(file *os.File, old os.FileInfo) error {
	mode := old.Mode().Perm()
	s, ok := old.Sys().(*syscall.Stat_t)
	if !ok || file.Chown(int(s.Uid), int(s.Gid)) != nil && file.Chown(-1, int(s.Gid)) != nil {
		mode &= 0o700 | mode>>3&0o007
	}
	return file.Chmod(mode)
}
