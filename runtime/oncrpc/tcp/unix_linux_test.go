package tcp_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// listenLocal starts a server at a local socket, until the end of the test.
func listenLocal(t *testing.T, addr string, h oncrpc.Handler, cfg *tcp.Config) *tcp.Server {
	t.Helper()
	if cfg == nil {
		cfg = &tcp.Config{Logger: quiet}
	}
	s, err := tcp.Listen(t.Context(), addr, h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, s) })
	return s
}

// local returns an address in a folder of the test.
func local(t *testing.T) string { return "unix:" + filepath.Join(t.TempDir(), "s") }

func TestLocalCarrierPassesTheCommonTests(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCarrierPassesTheCommonTests runs the suite over TCP")
	}
	carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
		return dial(t, listenLocal(t, local(t), server, nil).Addr(), &tcp.Config{ReverseHandler: client, Logger: quiet})
	})
}

// peers returns a handler that sends the peer of each Call and answers it.
func peers() (oncrpc.Handler, chan oncrpc.Peer) {
	seen := make(chan oncrpc.Peer, 10)
	svc := rpc.NewService(oncrpc.Program{Number: 400000, Version: 1})
	rpc.Handle(svc, 1, func(r *rpc.Request, _, _ *oncrpc.Uint32) error {
		seen <- r.Peer()
		return nil
	})
	return rpc.NewHandler(nil, svc), seen
}

func callOne(ctx context.Context, c oncrpc.Carrier) error {
	n := new(oncrpc.Uint32)
	return rpc.NewClient(c, oncrpc.Program{Number: 400000, Version: 1}, nil).Call(ctx, 1, n, n, nil)
}

// Both ends know the process at the other one, at a path and at an abstract name, and a client
// cannot choose its address.
func TestPeerIsTheProcess(t *testing.T) {
	for _, addr := range []string{local(t), "unix:@" + t.Name()} {
		h, seen := peers()
		s := listenLocal(t, addr, h, nil)
		if s.Addr() != addr {
			t.Errorf("%s: the server is at %s", addr, s.Addr())
		}
		c := dial(t, addr, nil)
		if err := callOne(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		me := oncrpc.LocalIdentity{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), PID: os.Getpid()}
		name := fmt.Sprintf("unix:uid=%d,pid=%d", me.UID, me.PID)
		if p := <-seen; p.Local == nil || *p.Local != me || p.Addr != name {
			t.Errorf("the client is %+v, %+v", p, p.Local)
		}
		if p := c.Peer(); p.Local == nil || *p.Local != me || p.Addr != addr {
			t.Errorf("the server is %+v, %+v", p, p.Local)
		}
		nc, err := net.DialUnix("unix", &net.UnixAddr{Name: "@uid=0,pid=1"}, &net.UnixAddr{Name: strings.TrimPrefix(addr, "unix:")})
		if err != nil {
			t.Fatal(err)
		}
		named := tcp.NewConn(nc, nil)
		if err := callOne(t.Context(), named); err != nil {
			t.Fatal(err)
		}
		if p := <-seen; p.Addr != name {
			t.Errorf("a client with a name is %q", p.Addr)
		}
		_ = named.Close()
	}
}

// A client of another user is that user, whatever its credential says.
func TestPeerIsAnotherUser(t *testing.T) {
	const at = "LOCAL_SERVER"
	if addr := os.Getenv(at); addr != "" {
		c := dial(t, addr, nil)
		cred, err := (&oncrpc.AuthSysParms{UID: 0, GID: 0}).Auth()
		if err != nil {
			t.Fatal(err)
		}
		n := new(oncrpc.Uint32)
		client := rpc.NewClient(c, oncrpc.Program{Number: 400000, Version: 1}, &rpc.ClientConfig{Cred: cred})
		if err := client.Call(t.Context(), 1, n, n, nil); err != nil {
			t.Fatal(err)
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root may start a process of another user")
	}
	h, seen := peers()
	s := listenLocal(t, "unix:@"+t.Name(), h, nil)
	exe, err := os.Open(os.Args[0]) // its folder may be closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^"+t.Name()+"$")
	cmd.ExtraFiles, cmd.Dir, cmd.Env = []*os.File{exe}, "/", append(os.Environ(), at+"="+s.Addr())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65533}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if p := <-seen; p.Local.UID != 65534 || p.Local.GID != 65533 || p.Local.PID != cmd.Process.Pid {
		t.Errorf("the client is %+v", p.Local)
	}
}

// The file of a server that was killed is replaced. One of a server that listens, and one that is
// not a socket, stay.
func TestSocketFileIsReplaced(t *testing.T) {
	h, _ := peers()
	addr := local(t)
	path := strings.TrimPrefix(addr, "unix:")
	leave := func() {
		t.Helper()
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		ln.Close()
	}
	leave()
	s, err := tcp.Listen(t.Context(), addr, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := callOne(t.Context(), dial(t, addr, nil)); err != nil {
		t.Error(err)
	}
	if _, err := tcp.Listen(t.Context(), addr, h, nil); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "another server listens there") {
		t.Errorf("a second server: %v", err)
	}
	if err := callOne(t.Context(), dial(t, addr, nil)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tcp.Listen(t.Context(), addr, h, nil); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("in place of a file: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "mine" {
		t.Error("the file was replaced")
	}
}

// Of several servers that start together at an old file one listens, and its file stays.
func TestServersThatStartTogether(t *testing.T) {
	h, _ := peers()
	addr := local(t)
	for range 10 {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: strings.TrimPrefix(addr, "unix:")})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		ln.Close()
		servers := make([]*tcp.Server, 4)
		var wg sync.WaitGroup
		for i := range servers {
			wg.Go(func() { servers[i], _ = tcp.Listen(t.Context(), addr, h, &tcp.Config{Logger: quiet}) })
		}
		wg.Wait()
		n := 0
		for _, s := range servers {
			if s != nil {
				n++
				if err := callOne(t.Context(), dial(t, addr, nil)); err != nil {
					t.Error(err)
				}
				leak.Close(t, s)
			}
		}
		if n != 1 {
			t.Errorf("%d servers listen", n)
		}
	}
}

// A server that is closed leaves a file alone that is another's by then.
func TestFileOfAnotherServerStays(t *testing.T) {
	h, _ := peers()
	addr := local(t)
	first := listenLocal(t, addr, h, nil)
	if err := os.Remove(strings.TrimPrefix(addr, "unix:")); err != nil {
		t.Fatal(err)
	}
	listenLocal(t, addr, h, nil)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := callOne(t.Context(), dial(t, addr, nil)); err != nil {
		t.Error(err)
	}
}

// The file has the permissions of SocketMode, whatever the umask is, and 0600 without.
func TestSocketModeIsSet(t *testing.T) {
	h, _ := peers()
	for mode, want := range map[os.FileMode]os.FileMode{0: 0o600, 0o666: 0o666, 0o660: 0o660} {
		addr := local(t)
		listenLocal(t, addr, h, &tcp.Config{SocketMode: mode, Logger: quiet})
		info, err := os.Lstat(strings.TrimPrefix(addr, "unix:"))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%v: %v, %v", mode, info.Mode(), err)
		}
	}
}

// Wrong addresses are refused with the reason, and an address with a port names a host.
func TestLocalAddressesAreChecked(t *testing.T) {
	h, _ := peers()
	long := "unix:/" + strings.Repeat("x", 103)
	for addr, want := range map[string]string{
		long: "the path of the socket has 104 bytes, at most 103", "unix:/no/such/folder/s": "no such file",
	} {
		if _, err := tcp.Listen(t.Context(), addr, h, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listen at %s: %v", addr, err)
		}
		if _, err := tcp.Dial(t.Context(), addr, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dial %s: %v", addr, err)
		}
	}
	if _, err := tcp.NewClient(long, nil); err == nil {
		t.Error("a client of a path that is too long")
	}
	var name *net.DNSError
	if _, err := tcp.Dial(t.Context(), "unix:2049", nil); !errors.As(err, &name) {
		t.Errorf("the host unix: %v", err)
	}
}

// A Client connects again to a server that starts again.
func TestLocalClientConnectsAgain(t *testing.T) {
	h, seen := peers()
	addr := local(t)
	c, err := tcp.NewClient(addr, &tcp.ClientConfig{MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		s := listenLocal(t, addr, h, nil)
		if err := callOne(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		<-seen
		leak.Close(t, s)
	}
	if n := c.Stats().Connects; n != 3 {
		t.Errorf("%d connections", n)
	}
}

// When a client goes away, the context of its Call is cancelled at once. A client that has closed
// its direction alone gets its reply.
func TestLocalClientGoesAway(t *testing.T) {
	entered, free := make(chan context.Context), make(chan struct{})
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		entered <- r.Context()
		select {
		case <-free:
		case <-r.Context().Done():
		}
		reply, _ := oncrpc.NewReply(7, oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: reply}, nil)
	})
	s := listenLocal(t, local(t), h, &tcp.Config{PeerTimeout: -1, Logger: quiet})
	send := func() *net.UnixConn {
		t.Helper()
		nc, err := net.Dial("unix", strings.TrimPrefix(s.Addr(), "unix:"))
		if err != nil {
			t.Fatal(err)
		}
		msg, _ := oncrpc.NewCall(7, 400000, 1, 1, oncrpc.None()).AppendBinary(nil)
		if _, err := nc.Write(append([]byte{0x80, 0, 0, byte(len(msg))}, msg...)); err != nil {
			t.Fatal(err)
		}
		return nc.(*net.UnixConn)
	}
	nc := send()
	ctx := <-entered
	_ = nc.Close()
	<-ctx.Done()

	nc = send()
	<-entered
	_ = nc.CloseWrite()
	time.Sleep(2 * time.Millisecond) // the server may or may not have seen the end
	free <- struct{}{}
	if n, err := nc.Read(make([]byte, 100)); n != 28 || err != nil {
		t.Errorf("the reply has %d bytes, %v", n, err)
	}
	_ = nc.Close()
}

// TLS goes over a local socket, too, if the name in the certificate is known.
func TestLocalConnectionWithTLS(t *testing.T) {
	h, seen := peers()
	config := tlstest.NewAuthority(t).Config()
	s := listenLocal(t, local(t), h, &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: config}, Logger: quiet})
	if _, err := tcp.Dial(t.Context(), s.Addr(), &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: config}}); err == nil || !strings.Contains(err.Error(), "ServerName") {
		t.Errorf("without a name: %v", err)
	}
	config = config.Clone()
	config.ServerName = "server.example"
	if err := callOne(t.Context(), dial(t, s.Addr(), &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: config}})); err != nil {
		t.Fatal(err)
	}
	if p := <-seen; p.TLS == nil || p.Local == nil {
		t.Errorf("the client is %+v", p)
	}
}
