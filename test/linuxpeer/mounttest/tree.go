//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// settings are those of a run of all checks.
type settings struct {
	size  int64        // bytes of large files, together
	users bool         // the program is root, and the server tells users apart
	drop  func() error // called between writing and reading
}

// checks are the checks by name. Each gets a new directory, and leaves it empty.
var checks = []struct {
	name string
	run  func(c *check)
}{
	{"tree", (*check).tree},
	{"attributes", (*check).attributes},
	{"times", (*check).times},
	{"data", (*check).data},
	{"holes", (*check).holes},
	{"append", (*check).appends},
	{"truncate", (*check).truncates},
	{"direct", (*check).direct},
	{"mmap", (*check).mmap},
	{"seek", (*check).seeks},
	{"exclusive", (*check).exclusive},
	{"names", (*check).names},
	{"links", (*check).links},
	{"renames", (*check).renames},
	{"symlinks", (*check).symlinks},
	{"special", (*check).special},
	{"removed", (*check).removed},
	{"listing", (*check).listing},
	{"concurrent", (*check).concurrent},
	{"statfs", (*check).statfs},
	{"users", (*check).users},
}

// tree runs all checks in a new directory of dir, and prints a line for each.
func tree(dir string, s settings, out io.Writer) error {
	base := filepath.Join(dir, "tree")
	if err := os.Mkdir(base, 0o777); err != nil {
		return err
	}
	syscall.Umask(0)
	var failed []string
	for _, one := range checks {
		c := &check{settings: s, dir: filepath.Join(base, one.name)}
		start := time.Now()
		err := c.do(one.run)
		if err != nil {
			failed = append(failed, one.name)
			fmt.Fprintf(out, "FAIL %s: %v\n", one.name, err)
			continue
		}
		fmt.Fprintf(out, "PASS %s %.1f s\n", one.name, time.Since(start).Seconds())
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d checks failed: %s", len(failed), len(checks), strings.Join(failed, ", "))
	}
	return guarded(func() { (&check{}).rmdir(base) })
}

// check is a check that runs. Its methods end it by a panic with a failure.
type check struct {
	settings
	dir string
}

type failure struct{ error }

// do runs a check in its directory. The check must leave it empty.
func (c *check) do(run func(c *check)) error {
	return guarded(func() {
		c.must(os.Mkdir(c.dir, 0o777))
		run(c)
		c.rmdir(c.dir)
	})
}

// guarded calls f, and returns the failure that ended it.
func guarded(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v.error
		default:
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	f()
	return nil
}

func (c *check) failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (c *check) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// want fails the check unless err is one of the error numbers.
func (c *check) want(what string, err error, numbers ...syscall.Errno) {
	for _, n := range numbers {
		if errors.Is(err, n) {
			return
		}
	}
	c.failf("%s: found %v, expected %v", what, err, numbers)
}

// rmdir removes a directory. The kernel renames a file that is removed while anything of it is in
// use, which may be so a moment after the last read, and removes it later: rmdir waits for that.
func (c *check) rmdir(path string) {
	for range 3000 {
		err := syscall.Rmdir(path)
		if !errors.Is(err, syscall.ENOTEMPTY) {
			c.must(err)
			return
		}
		for name := range c.list(path) {
			if !strings.HasPrefix(name, ".nfs") {
				c.failf("%s is not empty: it has %q", path, name)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.failf("%s still has files that are in use", path)
}

// path returns a path in the check's directory.
func (c *check) path(names ...string) string {
	return filepath.Join(append([]string{c.dir}, names...)...)
}

// dropped stores everything and forgets it.
func (c *check) dropped() {
	syscall.Sync()
	c.must(c.drop())
}

func (c *check) write(path string, data []byte) { c.must(os.WriteFile(path, data, 0o666)) }

// contents fails the check unless a file has these bytes.
func (c *check) contents(path string, want []byte) {
	got, err := os.ReadFile(path)
	c.must(err)
	c.equal(path, got, want)
}

func (c *check) equal(what string, got, want []byte) {
	if len(got) != len(want) {
		c.failf("%s: found %d bytes, expected %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			c.failf("%s: byte %d is %#x, expected %#x", what, i, got[i], want[i])
		}
	}
}

func (c *check) stat(path string) *syscall.Stat_t {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		c.failf("lstat %s: %v", path, err)
	}
	return &st
}

func (c *check) open(path string, flag int) *os.File {
	f, err := os.OpenFile(path, flag, 0o666)
	c.must(err)
	return f
}

// list returns the number of times that each name is in a directory.
func (c *check) list(path string) map[string]int {
	f, err := os.Open(path)
	c.must(err)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	c.must(err)
	count := map[string]int{}
	for _, n := range names {
		count[n]++
	}
	return count
}
