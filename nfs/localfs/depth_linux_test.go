package localfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// A path of several names gives all bits of a mode, as a path of one does.
func TestModesBelow(t *testing.T) {
	l, dir := served(t)
	check(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	for _, mode := range []fs.FileMode{0o751, fs.ModeSetuid | 0o700, fs.ModeSetgid | 0o700, fs.ModeSticky | 0o700} {
		check(t, os.Chmod(filepath.Join(dir, "a/b"), mode))
		n, _ := at(t, l, "a/b")
		if a, err := n.Attr(); err != nil || a.Mode != fs.ModeDir|mode {
			t.Errorf("the mode is %v, %v, expected %v", a.Mode, err, fs.ModeDir|mode)
		}
	}
}

// Finding a file by its ID, and listing a directory of 1,000 with the attributes of each entry, at
// several depths.
func BenchmarkDepth(b *testing.B) {
	for _, depth := range []int{0, 1, 10, 40} {
		for _, use := range []bool{true, false} {
			l, dir := served(b)
			l.below.use = l.below.use && use
			path := strings.TrimSuffix(strings.Repeat("d/", depth), "/")
			check(b, os.MkdirAll(filepath.Join(dir, path), 0o755))
			n, _, err := l.Root()
			check(b, err)
			for range depth {
				n, _, err = n.Lookup("d")
				check(b, err)
			}
			var id vfs.ID
			for i := range 1000 {
				f, _, err := n.Create(fmt.Sprint(i), vfs.New{Mode: 0o600})
				check(b, err)
				id, err = f.ID()
				check(b, err)
			}
			b.Run(fmt.Sprintf("resolve/depth=%d/openat2=%v", depth, l.below.use), func(b *testing.B) {
				for b.Loop() {
					_, _, err := l.Resolve(id)
					check(b, err)
				}
			})
			b.Run(fmt.Sprintf("list/depth=%d/openat2=%v", depth, l.below.use), func(b *testing.B) {
				for b.Loop() {
					_, err := n.ReadDir(0, func(e vfs.Entry) bool {
						_, _, err := n.Lookup(e.Name)
						check(b, err)
						return true
					})
					check(b, err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/entry")
			})
		}
	}
}
