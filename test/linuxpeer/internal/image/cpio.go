package image

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// archive writes the "newc" form of cpio, which the kernel unpacks to its first file system
// (Documentation/driver-api/early-userspace/buffer-format.rst). All files belong to root.
type archive struct {
	w    io.Writer
	n    int64 // bytes written
	ino  int
	dirs map[string]bool
	err  error
}

const (
	modeDir  = 0o040000
	modeFile = 0o100000
	modeLink = 0o120000
)

func newArchive(w io.Writer) *archive { return &archive{w: w, dirs: map[string]bool{}} }

// File adds a file, and the folders above it.
func (a *archive) File(name string, mode int, data []byte) {
	a.parents(name)
	a.entry(name, modeFile|mode, data)
}

// Link adds a symbolic link, and the folders above it.
func (a *archive) Link(name, target string) {
	a.parents(name)
	a.entry(name, modeLink|0o777, []byte(target))
}

// Dir adds a folder, and those above it.
func (a *archive) Dir(name string, mode int) {
	a.parents(name)
	if !a.dirs[name] {
		a.dirs[name] = true
		a.entry(name, modeDir|mode, nil)
	}
}

// Close writes the end of the archive, and returns the first error.
func (a *archive) Close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}

func (a *archive) parents(name string) {
	if dir := path.Dir(name); dir != "." && dir != "/" {
		a.Dir(dir, 0o755)
	}
}

func (a *archive) entry(name string, mode int, data []byte) {
	a.ino++
	// magic, inode, mode, uid, gid, links, mtime, size, 4 device numbers, name's length, checksum
	a.write(fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0))
	a.write(name + "\x00")
	a.pad()
	a.write(string(data))
	a.pad()
}

// pad aligns to 4 bytes.
func (a *archive) pad() { a.write(strings.Repeat("\x00", int(-a.n&3))) }

func (a *archive) write(s string) {
	if a.err != nil {
		return
	}
	n, err := io.WriteString(a.w, s)
	a.n += int64(n)
	a.err = err
}
