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
// users. Access control lists are lost.
//
// WriteFile returns ErrLive, and replaces nothing, if the old file is
//   - a live filter that programs have open for writing, or that appeared or got keys during WriteFile,
//   - a layer of a live series, unless its header is cut off,
//   - a live filter with a damaged header, unless both its records are damaged or cut off too,
//   - a damaged filter that appeared or changed during WriteFile,
//   - missing or damaged, and the file path + ".1" is, or may be, a layer of a live series.
//
// It replaces other live filters. Writers are detected until just before the rename, on systems with locks (not Windows). A
// writer that opens the file after that loses its keys. If two programs read, change and write one file, the last wins: use a
// single writer.
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

// target is the file that is replaced.
type target struct {
	path string
	info os.FileInfo // nil: there is no file
	head []byte      // the header at first, which every writer of a live filter changes
}

var errAppeared = errors.New("a file appeared there")

// replaceFile writes a temporary file, and renames it.
func replaceFile(path string, b []byte) error {
	t, err := findTarget(path)
	if err == nil {
		err = t.checkFirst()
	}
	for i := 0; err == nil && i < 100; i++ {
		if err = t.replace(b); err != errAppeared {
			return err
		}
		t.info, err = existing(t.path) // head stays: a live filter that appeared is not replaced
	}
	return err
}

func findTarget(path string) (*target, error) {
	path, err := withoutLinks(path)
	if err != nil {
		return nil, err
	}
	t := &target{path: path}
	if t.info, err = existing(path); err != nil || t.info == nil {
		return t, err
	}
	file, err := openNow(path)
	if err != nil {
		return nil, err
	}
	t.head, err = headOf(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	return t, err
}

// checkFirst returns ErrLive if the file is the lost first file of a live series. A new file would hide the other layers' keys.
func (t *target) checkFirst() error {
	if h, _ := parseSealed(t.head); h != nil {
		return nil
	}
	path := t.path + ".1"
	if len(filepath.Base(path)) > 255 {
		return nil // no such name exists
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := openNow(path)
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := headOf(file)
	if err != nil {
		return err
	}
	h, why := parseSealed(head)
	damaged := why == ErrHeader || why == ErrForm || why == ErrTruncated
	if damaged || h != nil && h.series != 0 && h.slot() == 1 {
		return lost("of the layers from "+path+" on", why)
	}
	return nil
}

// existing returns nil and no error if the path is free.
func existing(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is not a regular file: %w", fs.ErrExist)
	}
	return info, err
}

func headOf(file *os.File) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(file, 0, fileHeader))
}

func (t *target) replace(b []byte) error {
	folder := filepath.Dir(t.path)
	file, err := createTemporary(folder, t.info)
	if err != nil {
		return err
	}
	err = fillAndClose(file, b, t.info)
	if err == nil {
		err = t.publish(file.Name())
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	return syncFolder(folder)
}

// publish gives the file its name. If the path was free, it makes a link: unlike a rename, that never replaces a file.
func (t *target) publish(temporary string) error {
	if t.info == nil {
		err := os.Link(temporary, t.path)
		if err == nil {
			return os.Remove(temporary)
		}
		if errors.Is(err, fs.ErrExist) {
			return errAppeared
		}
	} // the file system may lack links
	if err := t.check(); err != nil {
		return err
	}
	return os.Rename(temporary, t.path)
}

// check returns an error if replacing the file would lose keys. The file may be a live filter that has writers or has changed
// since findTarget. Or it may be a layer of a live series: adding keys to the newest layer does not change the other layers.
func (t *target) check() error {
	file, err := openNow(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	open, lockError := hasWriters(file) // before the header, which a writer changes when it leaves
	head, err := headOf(file)
	if err != nil {
		return err
	}
	h, err := parseSealed(head)
	live := hasLiveRecord(head)
	switch {
	case err == nil, !live && (errors.Is(err, ErrMagic) || errors.Is(err, ErrEmpty)):
		return nil
	case h == nil && live:
		return lost("behind its unreadable header", err)
	case h != nil && h.series != 0:
		return lost("of its series", err)
	case lockError != nil:
		return lockError
	case open:
		return lost("that other programs are adding", err)
	case !bytes.Equal(head, t.head):
		return lost("that another program added during the call", err)
	}
	return nil
}

// parseSealed checks the header and the records of a sealed filter. If only the records are at fault, it returns the header
// with the error.
func parseSealed(head []byte) (*header, error) {
	length, err := headerSize(head, uint64(len(head)))
	if err != nil {
		return nil, err
	}
	h, err := parseStatic(head[:length], true)
	if err == nil {
		_, err = parseRecords(head[:length], h)
	}
	return h, err
}

// lost returns an ErrLive that names the keys. why: the error of parseSealed.
func lost(keys string, why error) error {
	if why != ErrLive {
		keys = fmt.Sprintf("%s (%v)", keys, why)
	}
	return fmt.Errorf("the keys %s would be lost: %w", keys, ErrLive)
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
