package client_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// mountsAt returns the directories that a server lists as mounted.
func mountsAt(t *testing.T, port int) (dirs []string) {
	t.Helper()
	conn, err := tcp.Dial(t.Context(), net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil)
	check(t, err)
	defer conn.Close()
	list, err := mount3rpc.NewClient(conn, nil).Dump(t.Context())
	check(t, err)
	for _, m := range list {
		dirs = append(dirs, string(m.Directory))
	}
	return dirs
}

// A Client of Dial is in the server's list of mounts until it is closed, also if it has a directory
// below the export, and if Dial itself fails after MOUNT.
func TestCloseUnmounts(t *testing.T) {
	s := serve(t, nfsd.Config{})
	port := s.overTCP(t)
	cfg := client.Config{Transport: "tcp", Port: port, MountPort: port}
	c, _, err := client.Dial(t.Context(), "127.0.0.1:/export/below", &cfg)
	check(t, err)
	if got := mountsAt(t, port); len(got) != 1 || got[0] != "/export" {
		t.Errorf("the mounts are %q, expected /export", got)
	}
	check(t, c.Close())
	if got := mountsAt(t, port); len(got) != 0 {
		t.Errorf("after Close the mounts are %q", got)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, closed.Close())
	cfg.Port = closed.Addr().(*net.TCPAddr).Port
	if _, _, err = client.Dial(t.Context(), "127.0.0.1:/export", &cfg); err == nil {
		t.Error("Dial connected to a closed port")
	}
	if got := mountsAt(t, port); len(got) != 0 {
		t.Errorf("after a failed Dial the mounts are %q", got)
	}
}

// A MOUNT server that is gone, or does not answer, does not make Close fail or wait for long.
func TestCloseWithoutMountServer(t *testing.T) {
	s := serve(t, nfsd.Config{})
	port := s.overTCP(t)
	for _, silent := range []bool{false, true} {
		mount, err := tcp.Listen(t.Context(), "127.0.0.1:0", s.handler, nil)
		check(t, err)
		at, err := strconv.Atoi(portOf(mount.Addr()))
		check(t, err)
		c, _, err := client.Dial(t.Context(), "127.0.0.1:/export", &client.Config{Transport: "tcp", Port: port, MountPort: at})
		check(t, err)
		check(t, mount.Close())
		if silent {
			l, err := net.Listen("tcp", mount.Addr())
			check(t, err)
			defer l.Close()
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Close() }()
		select {
		case err := <-ended:
			check(t, err)
		case <-time.After(time.Minute): // of a test that hangs
			t.Fatal("Close waits for the MOUNT server")
		}
	}
}

func portOf(addr string) string { _, port, _ := net.SplitHostPort(addr); return port }
