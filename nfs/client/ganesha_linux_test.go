package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
)

// ganeshaConfig serves /export from memory. A file has at most Inode_Size bytes.
const ganeshaConfig = `
NFS_CORE_PARAM {
	Protocols = 3;
	NFS_Port = 12049;
	MNT_Port = 12048;
	Enable_NLM = false;
	Enable_RQUOTA = false;
	Enable_UDP = false;
	Plugins_Dir = PLUGINS;
}
MEM { Inode_Size = 2097152; }
NFSv4 { RecoveryRoot = DIR; Graceless = true; }
EXPORT {
	Export_Id = 1;
	Path = /export;
	Pseudo = /export;
	Protocols = 3;
	Transports = TCP;
	Access_Type = RW;
	Squash = None;
	SecType = sys;
	FSAL { Name = MEM; }
}
`

// ganesha starts NFS-Ganesha, and waits until it has registered its ports with rpcbind: MOUNT is
// the last.
func ganesha(t *testing.T) {
	program, plugins := witness.Ganesha(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "ganesha.conf")
	text := strings.NewReplacer("DIR", dir, "PLUGINS", plugins).Replace(ganeshaConfig)
	check(t, os.WriteFile(config, []byte(text), 0o600))
	cmd := exec.Command(program, "-F", "-L", "/dev/stderr", "-f", config, "-p", filepath.Join(dir, "pid"))
	isolated.Start(t, cmd, "127.0.0.1:12049")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, err := rpcbind.Resolve(ctx, "127.0.0.1", mount3.Program, mount3.Version, "tcp", nil)
		if err == nil {
			return
		}
		if !errors.Is(err, rpcbind.ErrNotRegistered) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The client uses a server of another project, whose ports it finds through rpcbind.
func TestGanesha(t *testing.T) {
	if !isolated.Run(t) {
		return
	}
	isolated.Rpcbind(t)
	ganesha(t)
	ctx := t.Context()
	user := &client.Config{Transport: "tcp", MaxIO: 100_000, Cred: &oncrpc.AuthSysParms{MachineName: []byte("test")}}
	c, name := dial(t, "127.0.0.1:/export", user)
	if name != "." {
		t.Errorf("the name is %q", name)
	}

	t.Run("procedures", ganeshaProcedures)
	t.Run("tree", func(t *testing.T) { ganeshaTree(t, c) })
	t.Run("cut", func(t *testing.T) { ganeshaCut(t, *user) })

	t.Run("data", func(t *testing.T) {
		data := make([]byte, 2_000_000)
		_, _ = rand.NewChaCha8([32]byte{18}).Read(data) // never fails
		f, err := c.OpenFile(ctx, "file", os.O_CREATE|os.O_EXCL, 0o640)
		check(t, err)
		check(t, f.CopyFrom(bytes.NewReader(data), 0, int64(len(data)), nil))
		check(t, f.Close())
		if f, err = c.Open(ctx, "file"); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(data))
		if n, err := f.ReadAt(got, 0); n != len(data) || err != nil || !bytes.Equal(got, data) {
			t.Errorf("read %d bytes, %v, as written: %v", n, err, bytes.Equal(got, data))
		}
		if n, err := f.ReadAt(got[:10], int64(len(data))-4); n != 4 || err != io.EOF {
			t.Errorf("read %d bytes at the end, %v", n, err)
		}
		check(t, f.Truncate(1000))
		check(t, f.Close())
		when := time.Unix(1_000_000_000, 0)
		check(t, c.SetAttr(ctx, "file", client.SetTimes(when, when)))
		check(t, c.SetAttr(ctx, "file", client.SetMode(0o604)))
		if i, err := c.Stat(ctx, "file"); err != nil || i.Size() != 1000 || i.Mode() != 0o604 || !i.ModTime().Equal(when) {
			t.Errorf("%v, %v", i, err)
		}
	})

	t.Run("names", func(t *testing.T) {
		check(t, c.Mkdir(ctx, "dir", 0o755))
		check(t, c.Mkdir(ctx, "dir/sub", 0o755))
		check(t, c.Symlink(ctx, "../file", "dir/link"))
		if to, err := c.ReadLink(ctx, "dir/link"); to != "../file" || err != nil {
			t.Errorf("the link leads to %q, %v", to, err)
		}
		check(t, c.Rename(ctx, "file", "dir/sub/moved"))
		check(t, c.Link(ctx, "dir/sub/moved", "dir/second"))
		if i, err := c.Stat(ctx, "dir/second"); err != nil || i.Attr.Nlink != 2 {
			t.Errorf("%v, %v", i, err)
		}
		_, none := c.Stat(ctx, "file")
		_, below := c.Stat(ctx, "dir/second/x")
		_, again := c.OpenFile(ctx, "dir/second", os.O_CREATE|os.O_EXCL, 0o600)
		for _, tt := range []struct {
			err  error
			want nfs3.Status
		}{
			{none, nfs3.StatusNoent},
			{below, nfs3.StatusNotdir},
			{again, nfs3.StatusExist},
			{c.Mkdir(ctx, "dir", 0o755), nfs3.StatusExist},
			{c.Rmdir(ctx, "dir"), nfs3.StatusNotempty},
		} {
			var refused *client.StatusError
			if !errors.As(tt.err, &refused) || refused.Status != tt.want {
				t.Errorf("%v, expected %v", tt.err, tt.want)
			}
		}
		for _, name := range []string{"dir/link", "dir/second", "dir/sub/moved"} {
			check(t, c.Remove(ctx, name))
		}
		check(t, c.Rmdir(ctx, "dir/sub"))
	})

	t.Run("listing", func(t *testing.T) {
		want := make([]string, 1000)
		for i := range want {
			want[i] = fmt.Sprintf("%04d", i)
			f, err := c.Create(ctx, "dir/"+want[i], 0o600)
			check(t, err)
			check(t, f.Close())
		}
		var got []string
		for i, err := range c.ReadDir(ctx, "dir") {
			check(t, err)
			got = append(got, i.Name())
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%d names: %q...", len(got), got[:min(len(got), 10)])
		}
	})
}
