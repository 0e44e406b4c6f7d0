//go:build linux

package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
)

// random returns n bytes that look random, others for each seed.
func random(seed byte, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // never fails
	return b
}

// data writes large files in pieces of odd sizes, and reads them in others.
func (c *check) data() {
	const files = 3
	size := int(c.size / files)
	for i := range byte(files) {
		data := random(i, size)
		f := c.open(c.path("file"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
		for rest, n := data, 1; len(rest) > 0; n = (n*3 + 1) % 700_001 {
			piece := min(len(rest), n)
			_, err := f.Write(rest[:piece])
			c.must(err)
			rest = rest[piece:]
		}
		c.must(f.Sync())
		c.must(f.Close())
		c.dropped()
		f = c.open(c.path("file"), os.O_RDONLY)
		got := make([]byte, 0, size)
		for n := 5; ; n = (n*7 + 3) % 300_007 {
			piece := make([]byte, n+1)
			m, err := f.Read(piece)
			got = append(got, piece[:m]...)
			if err == io.EOF {
				break
			}
			c.must(err)
		}
		c.must(f.Close())
		c.equal("file", got, data)
	}
	c.must(os.Remove(c.path("file")))
}

// holes writes beyond the end. The bytes before are zero, and files grow beyond 4 GiB.
func (c *check) holes() {
	const far = 5 << 30
	f := c.open(c.path("holes"), os.O_CREATE|os.O_RDWR)
	for _, at := range []int64{0, 100_000, 1 << 20, far} {
		_, err := f.WriteAt([]byte("mark"), at)
		c.must(err)
	}
	c.must(f.Close())
	c.dropped()
	if n := c.stat(c.path("holes")).Size; n != far+4 {
		c.failf("the file has %d bytes, expected %d", n, int64(far+4))
	}
	want := make([]byte, 1<<20+4)
	for _, at := range []int{0, 100_000, 1 << 20} {
		copy(want[at:], "mark")
	}
	f = c.open(c.path("holes"), os.O_RDONLY)
	got := make([]byte, len(want))
	_, err := f.ReadAt(got, 0)
	c.must(err)
	c.equal("holes", got, want)
	got = make([]byte, 4101)
	n, err := f.ReadAt(got, far-4096)
	if err != io.EOF {
		c.failf("a read at the end: %v, expected EOF", err)
	}
	c.equal("holes beyond 4 GiB", got[:n], append(make([]byte, 4096), "mark"...))
	c.must(f.Close())
	c.must(os.Remove(c.path("holes")))
}

// appends writes by O_APPEND through two files that are open at the same time.
func (c *check) appends() {
	path, want := c.path("log"), ""
	a, b := c.open(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND), c.open(path, os.O_WRONLY|os.O_APPEND)
	for i := range 200 {
		f, line := a, strings.Repeat("a", i)+"\n"
		if i%3 == 0 {
			f, line = b, strings.Repeat("b", i)+"\n"
		}
		_, err := f.WriteString(line)
		c.must(err)
		want += line
	}
	c.must(a.Close())
	c.must(b.Close())
	c.dropped()
	c.contents(path, []byte(want))
	c.must(os.Remove(path))
}

// truncates makes a file shorter and longer.
func (c *check) truncates() {
	path, data := c.path("file"), random(9, 300_000)
	c.write(path, data)
	for _, size := range []int{299_999, 4097, 4096, 1, 0} {
		c.must(os.Truncate(path, int64(size)))
		c.dropped()
		c.contents(path, data[:size])
	}
	c.write(path, data)
	c.must(os.Truncate(path, 1000))
	c.must(os.Truncate(path, 200_000)) // bytes that were cut off do not come back
	c.dropped()
	c.contents(path, append(bytes.Clone(data[:1000]), make([]byte, 199_000)...))
	f := c.open(path, os.O_TRUNC|os.O_WRONLY)
	c.must(f.Close())
	c.contents(path, nil)
	c.must(os.Remove(path))
}

// pages returns memory that begins with a page.
func (c *check) pages(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	c.must(err)
	return b
}

// direct writes and reads past the cache of the kernel.
func (c *check) direct() {
	path, data := c.path("direct"), random(3, 1<<20)
	f := c.open(path, os.O_CREATE|os.O_RDWR|syscall.O_DIRECT)
	page := c.pages(256 << 10)
	for at := 0; at < len(data); at += len(page) {
		copy(page, data[at:])
		_, err := f.WriteAt(page, int64(at))
		c.must(err)
	}
	clear(page)
	_, err := f.ReadAt(page, 512<<10)
	c.must(err)
	c.equal("a direct read", page, data[512<<10:][:len(page)])
	c.must(syscall.Munmap(page))
	c.must(f.Close())
	c.contents(path, data)
	c.must(os.Remove(path))
}

// mmap changes a file in memory.
func (c *check) mmap() {
	path, data := c.path("mapped"), random(4, 300_000)
	c.write(path, data)
	f := c.open(path, os.O_RDWR)
	m, err := syscall.Mmap(int(f.Fd()), 0, len(data), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	c.must(err)
	c.equal("the file in memory", m, data)
	for _, at := range []int{0, 4095, 150_000, len(data) - 1} {
		data[at] ^= 0xff
		m[at] ^= 0xff
	}
	c.must(f.Close())
	c.must(syscall.Munmap(m))
	c.dropped()
	c.contents(path, data)
	c.must(os.Remove(path))
}

// seeks moves to places that exist, and to those that cannot.
func (c *check) seeks() {
	path := c.path("file")
	c.write(path, []byte("0123456789"))
	f := c.open(path, os.O_RDONLY)
	_, err := f.Seek(-1, io.SeekStart)
	c.want("a seek before the start", err, syscall.EINVAL)
	_, err = f.Seek(-11, io.SeekEnd)
	c.want("a seek before the start, from the end", err, syscall.EINVAL)
	_, err = f.Seek(-3, io.SeekEnd)
	c.must(err)
	got, err := io.ReadAll(f)
	c.must(err)
	c.equal("the end", got, []byte("789"))
	_, err = f.Seek(1<<40, io.SeekStart)
	c.must(err)
	if n, err := f.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		c.failf("a read beyond the end: %d bytes, %v", n, err)
	}
	c.must(f.Close())
	c.must(os.Remove(path))
}
