//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// digest returns a digest of the names, types and contents of a tree, and of its owners, modes and
// times if attributes is set.
func digest(dir string, attributes bool) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %v", name, e.Type())
		if attributes && name != "." {
			info, err := e.Info()
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			fmt.Fprintf(sum, " %o %d %d", st.Mode, st.Uid, st.Gid)
			if e.Type() != fs.ModeSymlink { // not all programs set the times of links
				fmt.Fprintf(sum, " %d", info.ModTime().Unix()) // busybox's tar knows seconds only
			}
		}
		switch {
		case e.Type().IsRegular():
			return content(sum, path)
		case e.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			fmt.Fprintf(sum, " %q", to)
			return err
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// content writes the length and the bytes of a file.
func content(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, " %d ", info.Size())
	_, err = io.Copy(w, f)
	return err
}

// fill makes a tree of about size bytes: empty and small files, some of a megabyte, one of a
// quarter of all, directories in directories, links, modes and times.
func fill(dir string, size int64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := fillFile(filepath.Join(dir, "large"), 0, size/4); err != nil {
		return err
	}
	rest := size - size/4
	for i := 0; rest > 0; i++ {
		sub := filepath.Join(dir, fmt.Sprint("d", i%8), fmt.Sprint("e", i%5))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return err
		}
		n := min(rest, []int64{0, 1, 5000, 70_000, 300_001, 1 << 20, 3 << 20, 8 << 20}[i%8])
		path := filepath.Join(sub, fmt.Sprint("file", i))
		if err := fillFile(path, i, n); err != nil {
			return err
		}
		rest -= n
	}
	return os.Symlink("large", filepath.Join(dir, "link"))
}

func fillFile(path string, i int, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for rest, round := size, 0; rest > 0 && err == nil; round++ {
		n := min(rest, 1<<20)
		_, err = f.Write(random(byte(i+round), int(n)))
		rest -= n
	}
	if err == nil {
		err = f.Chmod([]fs.FileMode{0o644, 0o600, 0o755, 0o440}[i%4])
	}
	if err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	return f.Close()
}
