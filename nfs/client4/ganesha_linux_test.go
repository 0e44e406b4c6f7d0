package client4_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

const ganeshaConfig = `
NFS_CORE_PARAM {
	Protocols = 4;
	NFS_Port = 12049;
	Enable_NLM = false;
	Enable_RQUOTA = false;
	Enable_UDP = false;
	Plugins_Dir = PLUGINS;
}
MEM { Inode_Size = 2097152; }
NFSv4 { RecoveryRoot = DIR; Graceless = true; Minor_Versions = 1, 2; Only_Numeric_Owners = true; }
EXPORT {
	Export_Id = 1;
	Path = /export;
	Pseudo = /export;
	Protocols = 4;
	Transports = TCP;
	Access_Type = RW;
	Squash = None;
	SecType = sys;
	FSAL { Name = MEM; }
}
`

// ganesha starts NFS-Ganesha.
func ganesha(t *testing.T) {
	program, plugins := witness.Ganesha(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "ganesha.conf")
	text := strings.NewReplacer("DIR", dir, "PLUGINS", plugins).Replace(ganeshaConfig)
	check(t, os.WriteFile(config, []byte(text), 0o600))
	cmd := exec.Command(program, "-F", "-L", "/dev/stderr", "-f", config, "-p", filepath.Join(dir, "pid"))
	isolated.Start(t, cmd, "127.0.0.1:12049")
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The client uses a server of another project, by both minor versions.
func TestTheClientUsesGanesha(t *testing.T) {
	if !isolated.Run(t) {
		return
	}
	isolated.Rpcbind(t)
	ganesha(t)
	for _, minor := range []uint32{1, 2} {
		t.Run("4."+strconv.Itoa(int(minor)), func(t *testing.T) {
			cfg := &client4.Config{
				Port: 12049, MaxIO: 100_000,
				Session: &nfs4.Config{Minor: minor, Cred: &oncrpc.AuthSysParms{MachineName: []byte("test")}},
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			c, dir, err := client4.Dial(ctx, "127.0.0.1:/export", cfg)
			check(t, err)
			defer c.Close()
			if dir != "export" {
				t.Fatalf("the name is %q", dir)
			}
			dir += "/" + strconv.Itoa(int(minor))
			check(t, c.Mkdir(ctx, dir, 0o755))
			t.Run("data", func(t *testing.T) { useData(ctx, t, c, dir) })
			t.Run("names", func(t *testing.T) { useNames(ctx, t, c, dir) })
			t.Run("fs", func(t *testing.T) { useFS(ctx, t, c, dir) })
		})
	}
}

func useData(ctx context.Context, t *testing.T, c *client4.Client, dir string) {

	name := dir + "/file"
	data := make([]byte, 2_000_000)
	_, _ = rand.NewChaCha8([32]byte{18}).Read(data) // never fails
	f, err := c.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	check(t, err)
	check(t, f.CopyFrom(bytes.NewReader(data), 0, 1_500_000, nil))
	if n, err := f.WriteAt(data[1_500_000:], 1_500_000); n != 500_000 || err != nil {
		t.Fatal(n, err)
	}
	check(t, f.Close())
	if _, err := c.OpenFile(ctx, name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an exclusive open of a file that exists: %v", err)
	}
	f, err = c.Open(ctx, name)
	check(t, err)
	got := make([]byte, len(data))
	if n, err := f.ReadAt(got, 0); n != len(data) || err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v, as written: %v", n, err, bytes.Equal(got, data))
	}
	if n, err := f.ReadAt(got[:10], int64(len(data))-4); n != 4 || err != io.EOF {
		t.Errorf("read %d bytes at the end, %v", n, err)
	}
	var copied bytes.Buffer
	if n, err := f.CopyTo(&copied, 0, int64(len(data))); n != int64(len(data)) || err != nil || !bytes.Equal(copied.Bytes(), data) {
		t.Errorf("copied %d bytes, %v", n, err)
	}
	if n, err := f.CopyTo(&copied, int64(len(data))-4, 10); n != 4 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("copied %d bytes at the end, %v", n, err)
	}
	if _, err := f.WriteAt(data[:1], 0); err == nil {
		t.Error("a WRITE of a file that was opened for reading has no error")
	}
	_ = f.Close() // its data cannot be stored
	f, err = c.OpenFile(ctx, name, os.O_RDWR, 0)
	check(t, err)
	check(t, f.Truncate(1000))
	check(t, f.Close())
	when := time.Unix(1_000_000_000, 0)
	check(t, c.SetAttr(ctx, name, client4.SetTimes(when, when)))
	check(t, c.SetAttr(ctx, name, client4.SetMode(0o604)))
	if i, err := c.Stat(ctx, name); err != nil || i.Size() != 1000 || i.Mode() != 0o604 || !i.ModTime().Equal(when) {
		t.Errorf("%v, %v", i, err)
	}
	if _, err := c.ListXattrs(ctx, name); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the list of extended attributes, which the server lacks: %v", err)
	}
	f, err = c.Create(ctx, name, 0o600)
	check(t, err)
	if i, err := f.Stat(); err != nil || i.Size() != 0 {
		t.Errorf("%v, %v", i, err)
	}
	check(t, f.Close())
}

func useNames(ctx context.Context, t *testing.T, c *client4.Client, dir string) {

	check(t, c.Mkdir(ctx, dir+"/dir", 0o755))
	check(t, c.Mkdir(ctx, dir+"/dir/sub", 0o755))
	check(t, c.Symlink(ctx, "../file", dir+"/dir/link"))
	if to, err := c.ReadLink(ctx, dir+"/dir/link"); to != "../file" || err != nil {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	check(t, c.Rename(ctx, dir+"/file", dir+"/dir/sub/moved"))
	check(t, c.Link(ctx, dir+"/dir/sub/moved", dir+"/dir/second"))
	if i, err := c.Stat(ctx, dir+"/dir/second"); err != nil || i.Attr.NumLinks != 2 {
		t.Errorf("%v, %v", i, err)
	}
	if _, err := c.Stat(ctx, dir+"/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := c.Mkdir(ctx, dir+"/dir", 0o700); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := c.Remove(ctx, dir+"/dir"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory with files was removed: %v", err)
	}
	if _, err := c.Open(ctx, dir+"/../x"); !errors.Is(err, client4.ErrName) {
		t.Error(err)
	}
	deep := dir + strings.Repeat("/deep", 20)
	for i := range 20 {
		check(t, c.Mkdir(ctx, dir+strings.Repeat("/deep", i+1), 0o700))
	}
	if i, err := c.Stat(ctx, deep); err != nil || !i.IsDir() {
		t.Error(i, err)
	}
	check(t, c.Mkdir(ctx, dir+"/many", 0o700))
	var want []string
	for i := range 300 {
		name := "entry-" + strings.Repeat("x", 60) + strconv.Itoa(i)
		want = append(want, name)
		check(t, c.Symlink(ctx, "to", dir+"/many/"+name))
	}
	var got []string
	for i, err := range c.ReadDir(ctx, dir+"/many") {
		check(t, err)
		got = append(got, i.Name())
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("%d names, want %d", len(got), len(want))
	}
	check(t, c.Remove(ctx, dir+"/many/"+want[0]))
}

func useFS(ctx context.Context, t *testing.T, c *client4.Client, dir string) {

	check(t, c.Mkdir(ctx, dir+"/tree", 0o755))
	check(t, c.Mkdir(ctx, dir+"/tree/empty", 0o755))
	check(t, c.Mkdir(ctx, dir+"/tree/below", 0o755))
	for name, text := range map[string]string{"a": "hello", "below/b": strings.Repeat("0123456789", 50), "below/none": ""} {
		f, err := c.Create(ctx, dir+"/tree/"+name, 0o644)
		check(t, err)
		_, err = f.WriteAt([]byte(text), 0)
		check(t, err)
		check(t, f.Close())
	}
	check(t, fstest.TestFS(c.FS(ctx, dir+"/tree"), "a", "below/b", "below/none", "empty"))
}

// A server that cannot be reached is an error.
func TestDialFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	check(t, l.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := client4.Dial(ctx, "127.0.0.1:/x", &client4.Config{Port: port}); err == nil {
		t.Error("there is no error")
	}
	if _, _, err := client4.Dial(t.Context(), "storage", nil); err == nil || !strings.Contains(err.Error(), "HOST:/PATH") {
		t.Error(err)
	}
}
