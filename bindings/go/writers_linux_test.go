// SPDX-License-Identifier: MIT

// A live filter that another program writes.

package bloomfile

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestLiveFilterWithWritersIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.bloom")
	f := build(t, Params{}, []byte("a"))
	if err := os.WriteFile(path, readAll(t, refused+"live-clean.bloom"), 0o666); err != nil {
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

func TestFileWithLeaseIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.bloom")
	holder, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	lease := func(kind uintptr) error {
		if _, _, err := syscall.Syscall(syscall.SYS_FCNTL, holder.Fd(), syscall.F_SETLEASE, kind); err != 0 {
			return err
		}
		return nil
	}
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, syscall.SIGIO)
	defer signal.Stop(wanted)
	if err := lease(syscall.F_WRLCK); err != nil {
		t.Skip(err)
	}
	released := make(chan error, 1)
	go func() {
		<-wanted
		released <- lease(syscall.F_UNLCK)
	}()
	if err := build(t, Params{}, []byte("a")).WriteFile(path); err != nil {
		t.Error(err)
	}
	if err := <-released; err != nil {
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
	poisoned, torn := readAll(t, refused+"poisoned.bloom"), readAll(t, refused+"live-records-of-equal-sequence-differ.bloom")
	series := golden + "live/growing-2/filter.bloom"
	first, newest := readAll(t, series), readAll(t, series+".1")
	ring := readAll(t, golden+"live/forgetting-3-wrapped/filter.bloom")
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
		{"is removed", live, nil, false, false}, {"appears, poisoned", nil, poisoned, false, true},
		{"appears, with damaged records", nil, torn, false, true}, {"first layer", first, first, false, true},
		{"sealed, with a lock", image, image, true, false},
		{"newest layer", newest, newest, false, true}, {"layer of a ring", ring, ring, false, true},
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
			if !errors.Is(err, ErrLive) {
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

func TestLiveFilterWithDamagedHeaderIsNotReplaced(t *testing.T) {
	series := golden + "live/growing-2/filter.bloom"
	for i, name := range []string{refused + "live-clean.bloom", refused + "poisoned.bloom", series, series + ".1"} {
		head := readAll(t, name)[:fileHeader]
		path := filepath.Join(t.TempDir(), "x.bloom")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		write := func(at, end int) {
			if _, err := file.WriteAt(head[at:end], int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		write(0, len(head))
		for at, right := range head {
			for _, damage := range []byte{0x10 ^ 0x02, 0xFF} { // 0x02 is in the size of the embedded form
				head[at] = right ^ damage
				write(at, at+1)
				appeared, unchanged := (&target{path: path}).check(), (&target{path: path, head: head}).check()
				if !errors.Is(appeared, ErrLive) || (i >= 2 || at < fileHeader/2) && !errors.Is(unchanged, ErrLive) {
					t.Fatal(name, at, damage, appeared, unchanged)
				}
			}
			head[at] = right
			write(at, at+1)
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

func TestLongestNameIsWritten(t *testing.T) {
	if err := build(t, Params{}, []byte("a")).WriteFile(filepath.Join(t.TempDir(), strings.Repeat("n", 255))); err != nil {
		t.Error(err)
	}
}

func TestLostFirstFileOfASeriesIsNotReplaced(t *testing.T) {
	sealed := build(t, Params{}, []byte("a"))
	first, second := readAll(t, golden+"live/growing-2/filter.bloom"), readAll(t, golden+"live/growing-2/filter.bloom.1")
	damaged := append([]byte(nil), second...)
	damaged[200] ^= 1
	unknown := append([]byte(nil), second...)
	unknown[12] ^= 1
	for _, next := range [][]byte{second, damaged, unknown, second[:100], nil, []byte("text")} {
		for _, b := range [][]byte{nil, {}, first[:100]} {
			path := filepath.Join(t.TempDir(), "live.bloom")
			for name, content := range map[string][]byte{path: b, path + ".1": next} {
				if content == nil {
					continue
				}
				if err := os.WriteFile(name, content, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			isLayer := len(next) > 4
			if err := sealed.WriteFile(path); errors.Is(err, ErrLive) != isLayer || !isLayer && err != nil {
				t.Error(len(b), len(next), err)
			}
		}
	}
}
