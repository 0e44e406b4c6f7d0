package localfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/localfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs/vfstest"
)

func TestDirectoryAsFileSystem(t *testing.T) {
	configs := map[vfs.FS]localfs.Config{}
	open := func(t *testing.T, cfg localfs.Config) vfs.FS {
		t.Helper()
		l, err := localfs.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if configs[l] != (localfs.Config{}) {
				_ = l.Close()
			}
		})
		configs[l] = cfg
		return l
	}
	vfstest.Test(t, vfstest.Config{
		New: func(t *testing.T) vfs.FS {
			base := t.TempDir()
			cfg := localfs.Config{Dir: filepath.Join(base, "dir"), State: filepath.Join(base, "state")}
			if err := os.Mkdir(cfg.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			return open(t, cfg)
		},
		Reopen: func(t *testing.T, old vfs.FS) vfs.FS {
			cfg := configs[old]
			delete(configs, old)
			if err := old.(*localfs.FS).Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, cfg)
		},
	})
}
