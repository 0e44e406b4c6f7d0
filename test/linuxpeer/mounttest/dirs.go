//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
)

// tree creates directories in directories with files in each, finds all, and removes them.
func (c *check) tree() {
	const depth, width, files = 3, 3, 3
	var dirs []string
	var grow func(dir string, level int)
	grow = func(dir string, level int) {
		for i := range files {
			name := fmt.Sprintf("%s/f%d", dir, i)
			c.write(name, []byte(name))
		}
		for i := 0; level < depth && i < width; i++ {
			sub := fmt.Sprintf("%s/d%d", dir, i)
			c.must(os.Mkdir(sub, 0o777))
			dirs = append(dirs, sub)
			grow(sub, level+1)
		}
	}
	grow(c.dir, 0)
	c.want("a directory that exists", os.Mkdir(dirs[0], 0o777), syscall.EEXIST)
	c.want("a directory with files", syscall.Rmdir(dirs[0]), syscall.ENOTEMPTY)
	c.want("rmdir of a file", syscall.Rmdir(dirs[0]+"/f0"), syscall.ENOTDIR)
	c.dropped()
	for _, dir := range append([]string{c.dir}, dirs...) {
		for i := range files {
			name := fmt.Sprintf("%s/f%d", dir, i)
			c.contents(name, []byte(name))
		}
		_, err := os.Lstat(dir + "/none")
		c.want("a name that does not exist", err, syscall.ENOENT)
	}
	if n := c.stat(c.dir).Nlink; n != width+2 {
		c.failf("the directory has %d links, expected %d", n, width+2)
	}
	f, err := os.Stat(dirs[0] + "/..")
	c.must(err)
	if st := f.Sys().(*syscall.Stat_t); st.Ino != c.stat(c.dir).Ino {
		c.failf("the parent of a directory has the inode %d, expected %d", st.Ino, c.stat(c.dir).Ino)
	}
	c.empty(c.dir)
}

// empty removes what a directory has.
func (c *check) empty(dir string) {
	entries, err := os.ReadDir(dir)
	c.must(err)
	for _, e := range entries {
		path := dir + "/" + e.Name()
		if e.IsDir() {
			c.empty(path)
			c.rmdir(path)
		} else if err := os.Remove(path); !strings.HasPrefix(e.Name(), ".nfs") {
			c.must(err)
		}
	}
}

// listing lists a directory while names come and go: each name that stays is listed once.
func (c *check) listing() {
	const count, others = 250, 25
	for i := range count {
		c.write(c.path(fmt.Sprintf("stays-%d", i)), nil)
	}
	for i := range others {
		c.write(c.path(fmt.Sprintf("goes-%d", i)), nil)
	}
	c.dropped()
	f, err := os.Open(c.dir)
	c.must(err)
	seen := map[string]int{}
	for step := 0; ; step++ {
		names, err := f.Readdirnames(1 + count/10)
		for _, n := range names {
			seen[n]++
		}
		if errors.Is(err, io.EOF) {
			break
		}
		c.must(err)
		if step < others {
			c.must(os.Remove(c.path(fmt.Sprintf("goes-%d", step))))
		}
		c.write(c.path(fmt.Sprintf("comes-%d", step)), nil)
		if step == 3 {
			c.must(c.drop())
		}
	}
	c.must(f.Close())
	for i := range count {
		if name := fmt.Sprintf("stays-%d", i); seen[name] != 1 {
			c.failf("%s is listed %d times", name, seen[name])
		}
	}
	if n := c.list(c.dir); n["stays-0"] != 1 || n["comes-0"] != 1 {
		c.failf("the directory misses names of %d, or lists them more than once", len(n))
	}
	c.empty(c.dir)
}

// concurrent works in one directory from several goroutines.
func (c *check) concurrent() {
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for i := range cap(errs) {
		wg.Go(func() {
			own := &check{settings: c.settings, dir: c.path(fmt.Sprint(i))}
			errs <- own.do(func(own *check) {
				for round := range byte(5) {
					data := random(byte(i)<<4|round, 50_000)
					own.write(own.path("new"), data)
					own.must(os.Rename(own.path("new"), own.path("file")))
					own.contents(own.path("file"), data)
				}
				own.must(os.Remove(own.path("file")))
			})
		})
	}
	wg.Wait()
	for range cap(errs) {
		c.must(<-errs)
	}
}
