package nfs4_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// ganeshaConfig serves /export from memory, by version 4 alone.
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
NFSv4 { RecoveryRoot = DIR; Graceless = true; Lease_Lifetime = 20; Delegations = true; Minor_Versions = 1,2; }
EXPORT {
	Export_Id = 1;
	Path = /export;
	Pseudo = /export;
	Protocols = 4;
	Transports = TCP;
	Access_Type = RW;
	Squash = None;
	SecType = sys;
	Delegations = RW;
	FSAL { Name = MEM; }
}
`

const ganeshaAddr = "127.0.0.1:12049"

// ganesha starts NFS-Ganesha, and returns the function that kills it and starts it again.
func ganesha(t *testing.T) (restart func()) {
	program, plugins := witness.Ganesha(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "ganesha.conf")
	check(t, os.WriteFile(config, []byte(strings.NewReplacer("DIR", dir, "PLUGINS", plugins).Replace(ganeshaConfig)), 0o600))
	var cmd *exec.Cmd
	start := func() {
		cmd = exec.Command(program, "-F", "-L", "/dev/stderr", "-f", config, "-p", filepath.Join(dir, "pid"))
		isolated.Start(t, cmd, ganeshaAddr)
	}
	start()
	return func() {
		check(t, cmd.Process.Kill())
		for { // until its port is free
			conn, err := net.Dial("tcp", ganeshaAddr)
			if err != nil {
				break
			}
			check(t, conn.Close())
			time.Sleep(10 * time.Millisecond)
		}
		check(t, os.RemoveAll(filepath.Join(dir, "pid")))
		start()
	}
}

// ganeshaSession returns a session with the server at an address, and the root of the export.
func ganeshaSession(t *testing.T, addr string, cfg nfs4.Config) (*nfs4.Session, nfs42.Handle) {
	t.Helper()
	cfg.Cred = &oncrpc.AuthSysParms{MachineName: []byte("test")}
	s, err := nfs4.DialTCP(t.Context(), addr, &cfg, &tcp.ClientConfig{MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	root, err := exported(t.Context(), s)
	check(t, err)
	return s, root
}

// exported returns the root of the export.
func exported(ctx context.Context, s nfs4.Doer) (nfs42.Handle, error) {
	var c nfs4.Compound
	c.PutRootFH()
	c.Lookup("export")
	fh := c.GetFH()
	err := s.Do(ctx, &c)
	return fh.OK.Object, err
}

// create makes a file that must not exist, opens it to read and write, and adds its handle.
func create(c *nfs4.Compound, dir nfs42.Handle, name string) (*nfs42ext.OpenRes, *nfs42.GetFHRes) {
	c.PutFH(dir)
	res := c.Open(&nfs42ext.OpenArgs{
		ShareAccess: nfs42.OpenShareAccessBoth | nfs42.OpenShareAccessWantNoDeleg, Owner: nfs42.OpenOwner{Owner: []byte(name)},
		OpenHow: nfs42.OpenFlag{OpenType: nfs42.OpenTypeCreate, How: nfs42.CreateHow{
			Mode: nfs42.CreateModeGuarded, CreateAttrs: nfs42.Fattr{AttrMask: nfs42.Bitmap{0, 1 << (nfs42.AttrMode - 32)}, AttrVals: []byte{0, 0, 1, 0o200}},
		}},
		Claim: nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypeNull, File: nfs42.Component(name)},
	})
	return res, c.GetFH()
}

// The session works with a server of another project: data, cuts and restarts.
func TestGaneshaServesTheSession(t *testing.T) {
	if !isolated.Run(t) {
		return
	}
	isolated.Rpcbind(t)
	restart := ganesha(t)
	for _, minor := range []uint32{1, 2} {
		t.Run(fmt.Sprintf("data 4.%d", minor), func(t *testing.T) { ganeshaData(t, minor) })
	}
	t.Run("cut", ganeshaCut)
	t.Run("gone", ganeshaGone)
	t.Run("restart", func(t *testing.T) { ganeshaRestart(t, restart) })
}

func ganeshaData(t *testing.T, minor uint32) {
	s, root := ganeshaSession(t, ganeshaAddr, nfs4.Config{Minor: minor})
	ctx, name := t.Context(), fmt.Sprint("data", minor)
	var c nfs4.Compound
	open, fh := create(&c, root, name)
	check(t, s.Do(ctx, &c))
	id, file := open.OK.StateID, fh.OK.Object
	data := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{4}).Read(data) // never fails

	c.Reset()
	c.PutFH(file)
	wrote := c.Write(&nfs42.WriteArgs{StateID: id, Data: data})
	c.Commit(0, 0)
	check(t, s.Do(ctx, &c))
	if int(wrote.OK.Count) != len(data) {
		t.Fatalf("wrote %d bytes", wrote.OK.Count)
	}
	c.Reset()
	c.Results = [][]byte{make([]byte, len(data))}
	c.PutFH(file)
	read := c.Read(&nfs42.ReadArgs{StateID: id, Count: nfs42.Count(len(data))})
	attr := c.GetAttr(nfs42.Bitmap{1 << nfs42.AttrSize})
	check(t, s.Do(ctx, &c))
	if string(read.OK.Data) != string(data) || attr.OK.ObjAttributes.AttrVals[5] != byte(len(data)>>16) {
		t.Errorf("read %d bytes, attributes %v", len(read.OK.Data), attr)
	}
	c.Reset()
	c.PutFH(file)
	c.Close(id)
	c.PutFH(root)
	c.Remove(name)
	check(t, s.Do(ctx, &c))
	c.Reset()
	c.PutFH(root)
	c.Remove(name)
	if err := s.Do(ctx, &c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed again: %v", err)
	}
}

// cutter is a proxy to the server that cuts each connection after a random number of bytes.
func cutter(t *testing.T) (addr string, cuts func() int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { check(t, ln.Close()) })
	var mu sync.Mutex
	n, random := 0, rand.New(rand.NewPCG(3, 4))
	wg.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", ganeshaAddr)
			if err != nil {
				_ = near.Close()
				continue
			}
			for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
				mu.Lock()
				left := 2000 + random.Int64N(20_000)
				mu.Unlock()
				wg.Go(func() {
					_, _ = io.CopyN(ends[0], ends[1], left) // the other direction may have cut
					mu.Lock()
					n++
					mu.Unlock()
					_, _ = near.Close(), far.Close()
				})
			}
		}
	})
	return ln.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return n / 2
	}
}

// ganeshaCut creates and removes files while connections are cut: each call is executed once, since
// a second CREATE would find the file, and a second REMOVE would not.
func ganeshaCut(t *testing.T) {
	addr, cuts := cutter(t)
	s, root := ganeshaSession(t, addr, nfs4.Config{})
	ctx := t.Context()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				name := fmt.Sprintf("cut %d %d", g, i)
				var c nfs4.Compound
				open, _ := create(&c, root, name)
				if err := s.Do(ctx, &c); err != nil {
					t.Errorf("OPEN %s: %v", name, err)
					continue
				}
				id := open.OK.StateID
				c.Reset()
				c.PutFH(root)
				c.Lookup(name)
				c.Close(id)
				c.PutFH(root)
				c.Remove(name)
				if err := s.Do(ctx, &c); err != nil {
					t.Errorf("CLOSE and REMOVE %s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	if n := cuts(); n < 5 {
		t.Errorf("%d connections were cut", n)
	} else {
		t.Logf("%d connections were cut", n)
	}
}

// ganeshaGone has callers that give up: their slots serve others.
func ganeshaGone(t *testing.T) {
	s, root := ganeshaSession(t, ganeshaAddr, nfs4.Config{Slots: 2})
	for i := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error)
		go func() {
			var c nfs4.Compound
			c.PutFH(root)
			c.GetAttr(nfs42.Bitmap{1 << nfs42.AttrSize})
			over <- s.Do(ctx, &c)
		}()
		if i%2 == 0 {
			time.Sleep(time.Duration(i) * 10 * time.Microsecond)
		}
		cancel()
		if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if _, err := exported(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// ganeshaRestart restarts the server under a session: the next call finds the state reclaimed.
func ganeshaRestart(t *testing.T, restart func()) {
	reclaimed := make(chan struct{}, 10)
	s, _ := ganeshaSession(t, ganeshaAddr, nfs4.Config{Reclaim: func(ctx context.Context, do nfs4.Doer) error {
		reclaimed <- struct{}{}
		return nil
	}})
	restart()
	if _, err := exported(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	<-reclaimed
}
