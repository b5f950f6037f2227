// SPDX-License-Identifier: MIT

// A live filter that another program writes.

package bloomfile

import (
	"bytes"
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
	writer := lockAsWriter(t, path)
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

// lockAsWriter opens a file with the lock of a writer.
func lockAsWriter(t *testing.T, path string) *os.File {
	writer, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const ofdSetLock = 37 // F_OFD_SETLK, which a writer uses
	if err := syscall.FcntlFlock(writer.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_RDLCK, Len: 1}); err != nil {
		t.Skip(err)
	}
	return writer
}

func TestLiveFilterThatAppearsOrGetsKeysIsNotReplaced(t *testing.T) {
	live := readAll(t, refused+"live-clean.bloom")
	later := append([]byte(nil), live...)
	sealed := build(t, Params{}, []byte("a"))
	image, err := sealed.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	later[fileHeader/2]++ // a record that a writer has written
	for _, c := range []struct {
		name         string
		before, then []byte // nil: no file
		open         bool
		fails        bool
	}{
		{"appears, open", nil, live, true, true}, {"appears", nil, live, false, true}, {"gets keys", live, later, false, true},
		{"replaces a sealed filter", image, live, false, true}, {"gets writers", live, live, true, true}, {"unchanged", live, live, false, false},
		{"a sealed filter appears", nil, image, false, false}, {"a text appears", nil, []byte("text"), false, false},
		{"is removed", live, nil, false, false},
	} {
		path := filepath.Join(t.TempDir(), "live.bloom")
		write := func(b []byte) {
			_ = os.Remove(path)
			if b != nil {
				if err := os.WriteFile(path, b, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(c.before)
		target, err := findTarget(path)
		if err != nil {
			t.Fatal(err)
		}
		write(c.then)
		if c.open {
			defer lockAsWriter(t, path).Close()
		}
		err = target.replace(image)
		if err == errAppeared {
			target.info, err = existing(path)
			if err == nil {
				err = target.replace(image)
			}
		}
		wanted := image
		if c.fails {
			wanted = c.then
			if !errors.Is(err, ErrLive) && !errors.Is(err, ErrRecord) {
				t.Error(c.name, err)
			}
		} else if err != nil {
			t.Error(c.name, err)
		}
		if got := readAll(t, path); !bytes.Equal(got, wanted) {
			t.Error(c.name, "has other bytes")
		}
		if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
			t.Error(c.name, "a temporary file remains")
		}
	}
}

func TestFileThatCannotBeExaminedIsNotReplaced(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads all files")
	}
	path := filepath.Join(t.TempDir(), "x.bloom")
	f := build(t, Params{}, []byte("a"))
	if err := f.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o200); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile(path); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}
