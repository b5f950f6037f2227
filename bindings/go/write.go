// SPDX-License-Identifier: MIT

// Writing filters to files and streams.

package bloomfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Bytes returns a copy of the bytes of the filter. It returns ErrChanged if another program changed the open file.
func (f *Filter) Bytes() ([]byte, error) {
	c, err := f.open()
	if err != nil {
		return nil, err
	}
	b, err := allocate(uint64(len(c.image)))
	if err != nil {
		return nil, err
	}
	err = c.guard(func() error {
		copy(b, c.image)
		if c.file != nil && c.cut() {
			return ErrChanged
		}
		return nil
	})
	if err == nil {
		err = c.look() // after the copy
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// stable returns bytes that no other program can change. The caller must not change them.
func (f *Filter) stable() ([]byte, error) {
	if c := f.opened.Load(); c != nil && c.file == nil {
		return c.image, c.look()
	}
	return f.Bytes()
}

// WriteTo writes the bytes of the filter, with their checksums, to w. It does not verify them, but returns ErrChanged as
// Bytes does.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	b, err := f.stable()
	if err != nil {
		return 0, err
	}
	return io.Copy(w, bytes.NewReader(b))
}

// WriteFile writes the filter to a file. It replaces an existing regular file of that name, and follows symbolic links. The
// new file appears complete or not at all, and is on disk when WriteFile returns. It has the permissions of the old file,
// and its owner and group where the system allows it. If it does not allow the group, the group has the rights of other
// users. Access control lists are lost. If the old file is a live filter that programs have open for writing, WriteFile
// returns ErrLive. It replaces other live filters, and leaves the other files of a series. If two programs read, change
// and write one file, the last wins: use a single writer.
func (f *Filter) WriteFile(path string) error {
	b, err := f.stable()
	if err != nil {
		return fmt.Errorf("bloomfile: cannot write %s: %w", path, err)
	}
	return writeImage(path, b)
}

func writeImage(path string, b []byte) error {
	if err := replaceFile(path, b); err != nil {
		return fmt.Errorf("bloomfile: cannot write %s: %w", path, plain(err))
	}
	return nil
}

// replaceFile writes a temporary file, and renames it.
func replaceFile(path string, b []byte) error {
	path, err := withoutLinks(path)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	old, err := os.Stat(path)
	if err == nil && !old.Mode().IsRegular() {
		return fmt.Errorf("it is not a regular file: %w", fs.ErrExist)
	}
	file, err := createTemporary(folder, old)
	if err != nil {
		return err
	}
	temporary := file.Name()
	err = fillAndClose(file, b, old)
	if err == nil && old != nil && hasWriters(path) {
		err = fmt.Errorf("the keys that other programs add to it would be lost: %w", ErrLive)
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
		return err
	}
	return syncFolder(folder)
}

// withoutLinks returns the path of the file to replace. A rename would replace a symbolic link, not its target.
func withoutLinks(path string) (string, error) {
	for i := 0; i < 40; i++ {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil // a missing file is created
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(path)) // ".." begins there
			if err != nil {
				return "", err
			}
			target = filepath.Join(folder, target)
		}
		path = target
	}
	return "", fmt.Errorf("too many symbolic links: %w", fs.ErrInvalid)
}

// createTemporary creates a file, private until it has the rights of the old file, if any. Its name is short, so that the
// folder accepts it if it accepts that of the file.
func createTemporary(folder string, old os.FileInfo) (file *os.File, err error) {
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600
	}
	for i := 0; i < 1000; i++ {
		name := fmt.Sprintf(".bloomfile.%d.%d", os.Getpid(), time.Now().UnixNano()+int64(i))
		file, err = os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return file, err
}

// fillAndClose writes the file, with the rights of the old file, if any.
func fillAndClose(file *os.File, b []byte, old os.FileInfo) (err error) {
	if old != nil {
		err = keepRights(file, old)
	}
	if err == nil {
		_, err = file.Write(b)
	}
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be opened there
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if closing := folder.Close(); err == nil {
		err = closing
	}
	return err
}
