// SPDX-License-Identifier: MIT

// A live filter that another program writes.

package bloomfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestLiveFilterWithWritersIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.bloom")
	f := build(t, Params{}, []byte("a"))
	if err := f.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	writer, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const ofdSetLock = 37 // F_OFD_SETLK, which a writer uses
	if err := syscall.FcntlFlock(writer.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_RDLCK, Len: 1}); err != nil {
		t.Skip(err)
	}
	if err := f.WriteFile(path); !errors.Is(err, ErrLive) {
		t.Error(err)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Error("a temporary file remains")
	}
	_ = writer.Close()
	if err := f.WriteFile(path); err != nil {
		t.Error(err)
	}
}
