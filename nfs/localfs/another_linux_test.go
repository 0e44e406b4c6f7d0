package localfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// A file that is renamed to the name of a Node is not the one whose owner the server checked: its
// attributes stay.
func TestNoChangeOfAnotherFile(t *testing.T) {
	for _, chmod := range []bool{true, false} {
		eachWay(t, func(t *testing.T, l *FS, dir string) {
			if chmod && !l.below.chmod {
				t.Skip("the kernel does not have fchmodat2, or a sandbox refuses it")
			}
			l.below.chmod = chmod
			mine, other := filepath.Join(dir, "mine"), filepath.Join(dir, "other")
			check(t, os.WriteFile(mine, nil, 0o644))
			check(t, os.WriteFile(other, nil, 0o600))
			old := time.Unix(1_000_000_000, 0)
			check(t, os.Chtimes(other, old, old))
			n, _ := at(t, l, "mine")
			check(t, os.Rename(other, mine))
			mode := fs.FileMode(0o666)
			for what, c := range map[string]vfs.Change{"mode": {Mode: &mode}, "time": {Mtime: time.Now()}} {
				if err := n.SetAttr(c); err == nil {
					t.Errorf("SetAttr of the %s succeeds", what)
				}
			}
			info, err := os.Stat(mine)
			check(t, err)
			if info.Mode() != 0o600 || !info.ModTime().Equal(old) {
				t.Errorf("the other file has mode %v and time %v", info.Mode(), info.ModTime())
			}
		})
	}
}
