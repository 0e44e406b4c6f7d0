//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// exclusive creates files that must not exist.
func (c *check) exclusive() {
	path := c.path("once")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	c.must(err)
	_, err = f.WriteString("once")
	c.must(err)
	c.must(f.Close())
	if m := c.stat(path).Mode & 0o7777; m != 0o640 {
		c.failf("the mode is %o, expected 640", m)
	}
	_, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	c.want("a second exclusive create", err, syscall.EEXIST)
	c.contents(path, []byte("once"))
	c.must(os.Remove(path))
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				won.Add(1)
				_ = f.Close() // nothing was written
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n != 1 {
		c.failf("%d of 8 exclusive creates succeeded, expected 1", n)
	}
	c.must(os.Remove(path))
}

// names creates files with names of all kinds.
func (c *check) names() {
	long := strings.Repeat("n", 255)
	names := []string{
		"a", "...", ".hidden", "with space", "line\nbreak", "\xff\xfe not UTF-8", "größe", "日本語", "e\u0301", "é", "Ünïcödé-" + strings.Repeat("ö", 100),
		`back\slash`, "*?[", "-rf", long,
	}
	for _, n := range names {
		c.write(c.dir+"/"+n, []byte(n))
	}
	c.dropped()
	list := c.list(c.dir)
	for _, n := range names {
		c.contents(c.dir+"/"+n, []byte(n))
		if list[n] != 1 {
			c.failf("the name %.20q is listed %d times", n, list[n])
		}
	}
	if len(list) != len(names) {
		c.failf("%d names are listed, expected %d", len(list), len(names))
	}
	c.want("a name of 256 bytes", os.WriteFile(c.dir+"/"+long+"n", nil, 0o600), syscall.ENAMETOOLONG)
	for _, n := range names {
		c.must(os.Remove(c.dir + "/" + n))
	}
}

// links gives a file several names.
func (c *check) links() {
	c.write(c.path("a"), []byte("linked"))
	c.must(os.Mkdir(c.path("dir"), 0o755))
	for i, to := range []string{"b", "c", "dir/d"} {
		c.must(os.Link(c.path("a"), c.path(to)))
		if n := c.stat(c.path("a")).Nlink; int(n) != i+2 {
			c.failf("%d links, expected %d", n, i+2)
		}
	}
	if a, d := c.stat(c.path("a")), c.stat(c.path("dir/d")); a.Ino != d.Ino {
		c.failf("two names have the inodes %d and %d", a.Ino, d.Ino)
	}
	c.want("a link to an existing name", os.Link(c.path("a"), c.path("b")), syscall.EEXIST)
	c.want("a link to a directory", os.Link(c.path("dir"), c.path("e")), syscall.EPERM)
	c.must(os.Remove(c.path("a")))
	c.dropped()
	c.write(c.path("b"), []byte("changed"))
	c.contents(c.path("dir/d"), []byte("changed"))
	c.empty(c.dir)
}

// renames moves files and directories, also over others.
func (c *check) renames() {
	for _, d := range []string{"x", "y", "x/sub", "full", "full/sub"} {
		c.must(os.Mkdir(c.path(d), 0o755))
	}
	c.write(c.path("x/file"), []byte("moved"))
	c.write(c.path("y/old"), []byte("replaced"))
	open := c.open(c.path("y/old"), os.O_RDONLY)
	c.must(os.Rename(c.path("x/file"), c.path("y/old")))
	got := make([]byte, 8)
	_, err := open.Read(got) // the file that had the name is open still
	c.must(err)
	c.equal("a replaced file", got, []byte("replaced"))
	c.must(open.Close())
	c.dropped()
	c.contents(c.path("y/old"), []byte("moved"))
	_, err = os.Lstat(c.path("x/file"))
	c.want("the old name", err, syscall.ENOENT)
	c.must(os.Rename(c.path("y/old"), c.path("y/old")))
	c.write(c.path("x/sub/deep"), []byte("deep"))
	c.must(os.Rename(c.path("x/sub"), c.path("y/sub")))
	c.contents(c.path("y/sub/deep"), []byte("deep"))
	c.want("a directory into itself", os.Rename(c.path("y"), c.path("y/sub/y")), syscall.EINVAL)
	c.want("a directory over a full one", syscall.Rename(c.path("x"), c.path("full")), syscall.ENOTEMPTY, syscall.EEXIST)
	c.want("a file over a directory", syscall.Rename(c.path("y/old"), c.path("x")), syscall.EISDIR)
	c.want("a directory over a file", syscall.Rename(c.path("x"), c.path("y/old")), syscall.ENOTDIR)
	c.must(syscall.Rename(c.path("x"), c.path("full/sub"))) // over an empty one
	for i := range 50 {                                     // back and forth
		c.must(os.Rename(c.path("y/old"), c.path(fmt.Sprint("full/", i))))
		c.must(os.Rename(c.path(fmt.Sprint("full/", i)), c.path("y/old")))
	}
	c.contents(c.path("y/old"), []byte("moved"))
	c.empty(c.dir)
}

// symlinks stores paths of all kinds, and follows them.
func (c *check) symlinks() {
	c.write(c.path("target"), []byte("found"))
	for _, to := range []string{"target", "./target", "../symlinks/target", c.path("target")} {
		c.must(os.Symlink(to, c.path("link")))
		c.dropped()
		c.contents(c.path("link"), []byte("found"))
		c.must(os.Remove(c.path("link")))
	}
	for _, to := range []string{"nowhere", "/" + strings.Repeat("folder/", 280), "größe\n\xff"} {
		c.must(os.Symlink(to, c.path("link")))
		c.dropped()
		got, err := os.Readlink(c.path("link"))
		c.must(err)
		c.equal("a link", []byte(got), []byte(to))
		if st := c.stat(c.path("link")); st.Mode&syscall.S_IFMT != syscall.S_IFLNK || int(st.Size) != len(to) {
			c.failf("the link has the mode %o and %d bytes, expected %d", st.Mode, st.Size, len(to))
		}
		c.must(os.Remove(c.path("link")))
	}
	c.must(os.Symlink("loop", c.path("loop")))
	_, err := os.Stat(c.path("loop"))
	c.want("a link to itself", err, syscall.ELOOP)
	c.must(os.Remove(c.path("loop")))
	c.must(os.Remove(c.path("target")))
}

// special makes a named pipe and a socket. They concern the client alone.
func (c *check) special() {
	c.must(syscall.Mkfifo(c.path("pipe"), 0o640))
	c.must(syscall.Mknod(c.path("socket"), syscall.S_IFSOCK|0o600, 0))
	c.dropped()
	for name, mode := range map[string]uint32{"pipe": syscall.S_IFIFO | 0o640, "socket": syscall.S_IFSOCK | 0o600} {
		if m := c.stat(c.path(name)).Mode; m != mode {
			c.failf("%s has the mode %o, expected %o", name, m, mode)
		}
		c.must(os.Remove(c.path(name)))
	}
}

// removed uses a file that has no name any more.
func (c *check) removed() {
	path := c.path("file")
	f := c.open(path, os.O_CREATE|os.O_RDWR)
	c.must(os.Remove(path))
	_, err := os.Lstat(path)
	c.want("a removed file", err, syscall.ENOENT)
	data := random(5, 200_000)
	_, err = f.WriteAt(data, 0)
	c.must(err)
	c.must(f.Sync())
	c.must(c.drop())
	got := make([]byte, len(data))
	_, err = f.ReadAt(got, 0)
	c.must(err)
	c.equal("a removed file", got, data)
	c.must(f.Close())
}
