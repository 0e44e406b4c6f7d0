//go:build !linux

package localfs

import (
	"errors"
	"hash/fnv"
	"io"
	"os"
	"slices"
)

// readDir calls f with the names in a directory after a cookie, until f returns false. Cookie 0
// lists all names. next is the cookie of an entry. The listing has no inode numbers. A cookie is a
// hash of the name, and the listing is in the order of these, so that it stays the same while other
// entries come and go. It reads the whole directory each time, and keeps as many names as one reply
// may need. Two names with one hash, one in 2^32 directories of 65,536 entries, would be listed as
// one.
func readDir(dir *os.File, cookie uint64, f func(name string, ino, next uint64) bool) (eof bool, err error) {
	type name struct {
		cookie uint64
		name   string
	}
	const batch = 8192
	all := []name{{1, "."}, {2, ".."}}
	all = slices.DeleteFunc(all, func(n name) bool { return n.cookie <= cookie })
	more := false
	for {
		list, err := dir.Readdirnames(batch)
		for _, entry := range list {
			h := fnv.New64a()
			_, _ = io.WriteString(h, entry) // never fails
			if next := max(h.Sum64()>>1, 3); next > cookie {
				all = append(all, name{next, entry})
			}
		}
		slices.SortFunc(all, func(a, b name) int {
			if a.cookie < b.cookie {
				return -1
			}
			return 1
		})
		if len(all) > batch {
			all, more = all[:batch], true
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	for _, n := range all {
		if !f(n.name, 0, n.cookie) {
			return false, nil
		}
	}
	return !more, nil
}
