//go:build linux

package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// attributes changes modes, and reads them again.
func (c *check) attributes() {
	file, dir := c.path("file"), c.path("dir")
	c.write(file, []byte("x"))
	c.must(os.Mkdir(dir, 0o700))
	for _, mode := range []uint32{0, 0o444, 0o640, 0o1777, 0o755, 0o4711, 0o600} {
		c.must(syscall.Chmod(file, mode))
		c.must(syscall.Chmod(dir, mode|0o700))
		c.dropped()
		if m := c.stat(file).Mode; m != syscall.S_IFREG|mode {
			c.failf("the file has the mode %o, expected %o", m, syscall.S_IFREG|mode)
		}
		if m := c.stat(dir).Mode; m != syscall.S_IFDIR|mode|0o700 {
			c.failf("the directory has the mode %o, expected %o", m, syscall.S_IFDIR|mode|0o700)
		}
	}
	_, err := syscall.Getxattr(file, "system.posix_acl_access", nil) // as ls -l asks
	c.want("an access control list", err, syscall.ENODATA, syscall.EOPNOTSUPP)
	f := c.open(file, os.O_RDWR) // a mode that changes while a file is open
	c.must(f.Chmod(0))
	_, err = f.WriteString("still open")
	c.must(err)
	c.must(f.Sync())
	c.must(f.Close())
	c.must(os.Chmod(file, 0o600))
	c.contents(file, []byte("still open"))
	c.must(os.Remove(file))
	c.must(os.Remove(dir))
}

// times sets times, and sees what changes them.
func (c *check) times() {
	path := c.path("file")
	c.write(path, []byte("x"))
	for _, want := range []time.Time{time.Unix(0, 0), time.Unix(1<<31-1, 0), time.Unix(981173106, 123456789)} {
		c.must(os.Chtimes(path, want.Add(time.Second), want))
		c.dropped()
		st := c.stat(path)
		if got := time.Unix(st.Mtim.Unix()); !got.Equal(want) {
			c.failf("the file was changed at %v, expected %v", got, want)
		}
		if got := time.Unix(st.Atim.Unix()); !got.Equal(want.Add(time.Second)) {
			c.failf("the file was read at %v, expected %v", got, want.Add(time.Second))
		}
	}
	before := c.stat(path)
	f := c.open(path, os.O_WRONLY|os.O_APPEND)
	_, err := f.WriteString("y")
	c.must(err)
	c.must(f.Close())
	after := c.stat(path)
	if time.Unix(after.Mtim.Unix()).Equal(time.Unix(before.Mtim.Unix())) || after.Size != 2 {
		c.failf("after a write: changed at %v, %d bytes", after.Mtim, after.Size)
	}
	c.must(os.Chtimes(c.dir, time.Unix(1, 0), time.Unix(1, 0)))
	c.must(os.Remove(path))
	if c.stat(c.dir).Mtim.Sec == 1 {
		c.failf("a removal does not change the time of the directory")
	}
}

func (c *check) statfs() {
	var fs syscall.Statfs_t
	c.must(syscall.Statfs(c.dir, &fs))
	if fs.Blocks == 0 || fs.Bfree > fs.Blocks || fs.Bavail > fs.Bfree || fs.Namelen != 255 {
		c.failf("statfs: %+v", fs)
	}
}

// users has the rights of users other than the owner, by the effective user of file accesses.
func (c *check) users() {
	if !c.settings.users {
		return
	}
	c.write(c.path("secret"), []byte("secret"))
	c.must(os.Chmod(c.path("secret"), 0o640))
	c.must(os.Chown(c.path("secret"), 1000, 2000))
	c.must(os.Mkdir(c.path("own"), 0o755))
	c.must(os.Chown(c.path("own"), 1000, 2000))
	c.as(1000, 1000, func() { // the owner
		c.write(c.path("secret"), []byte("mine"))
		c.write(c.path("own/file"), []byte("mine"))
		if st := c.stat(c.path("own/file")); st.Uid != 1000 || st.Gid != 1000 {
			c.failf("the file of user 1000 has the owner %d:%d", st.Uid, st.Gid)
		}
		c.want("a file given away", os.Chown(c.path("secret"), 1001, -1), syscall.EPERM)
	})
	c.as(1001, 2000, func() { // the group
		c.contents(c.path("secret"), []byte("mine"))
		c.want("a write of the group", os.WriteFile(c.path("secret"), nil, 0), syscall.EACCES)
	})
	c.as(1001, 1001, func() { // others
		_, err := os.ReadFile(c.path("secret"))
		c.want("a read of others", err, syscall.EACCES)
		c.want("a chmod of others", os.Chmod(c.path("secret"), 0o666), syscall.EPERM)
		c.want("a file in another's directory", os.WriteFile(c.path("own/other"), nil, 0o600), syscall.EACCES)
		c.want("a removal in another's directory", syscall.Unlink(c.path("own/file")), syscall.EACCES)
		c.must(os.Mkdir(c.path("theirs"), 0o700))
	})
	_, err := os.ReadFile(c.path("secret"))
	c.must(err) // root
	c.empty(c.dir)
}

// as calls f as another user, on a thread of its own.
func (c *check) as(uid, gid int, f func()) {
	err := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err <- guarded(func() {
			c.must(syscall.Setfsgid(gid))
			c.must(syscall.Setfsuid(uid))
			f()
		})
	}()
	c.must(<-err)
}
