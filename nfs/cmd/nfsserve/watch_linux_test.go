package main

import (
	"bytes"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// kernelVersions are the versions of the lock manager that the kernel registers.
var kernelVersions = []uint32{1, 3, nlm4.Version}

// lockPort returns the port of the lock manager for clients over TCP, or "" if none is registered.
func lockPort(t *testing.T, vers string) string {
	t.Helper()
	for line := range strings.Lines(output(t, "rpcinfo", "-p", "127.0.0.1")) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "100021" && f[1] == vers && f[2] == "tcp" {
			return f[3]
		}
	}
	return ""
}

// await waits until the lock manager of version 4 has a port.
func await(t *testing.T, want string) {
	t.Helper()
	for lockPort(t, "4") != want {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// take registers another lock manager as the kernel does: with rights over each registration.
func take(t *testing.T, mapper, addr string) {
	t.Helper()
	network, to := "unix", socket
	var d net.Dialer
	if mapper == "own" {
		network, to, d.LocalAddr = "tcp", "127.0.0.1:111", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 800}
	}
	nc, err := d.DialContext(t.Context(), network, to)
	check(t, err)
	conn := tcp.NewConn(nc, nil)
	defer conn.Close()
	c := rpcbind.NewClient(conn, nil)
	for _, vers := range kernelVersions {
		_ = c.Unset(t.Context(), nlm4.Program, vers, oncrpc.NetIDTCP, "") // may not be registered
		check(t, c.Set(t.Context(), nlm4.Program, vers, oncrpc.NetIDTCP, at(nlm4.Program, vers, oncrpc.NetIDTCP, addr)[0].at, ""))
	}
}

// waitForLock lets process 1 of this host lock a file, and process 2 wait for the lock.
func waitForLock(t *testing.T) {
	t.Helper()
	conn, err := tcp.Dial(t.Context(), "127.0.0.1:2049", nil)
	check(t, err)
	defer conn.Close()
	mnt, err := mount3rpc.NewClient(conn, nil).Mount(t.Context(), mount3.DirPath("/export"))
	check(t, err)
	file, err := nfs3rpc.NewClient(conn, nil).Lookup(t.Context(), &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: nfs3.Handle{Data: mnt.OK.Handle}, Name: nfs3.Filename("greeting")}})
	check(t, err)
	c := nlm4rpc.NewClient(conn, nil)
	lock := func(svid int32) nlm4.Lock {
		return nlm4.Lock{CallerName: xdr.String("here"), FH: nlm4.Object(file.OK.Object.Data), Owner: nlm4.Object{byte(svid)}, SVID: svid}
	}
	for i, want := range []nlm4.Status{nlm4.StatusGranted, nlm4.StatusBlocked} {
		res, err := c.Lock(t.Context(), &nlm4.LockArgs{Block: true, Exclusive: true, Lock: lock(int32(i + 1))})
		check(t, err)
		if res.Stat.Stat != want {
			t.Fatalf("LOCK of process %d: %v, expected %v", i+1, res.Stat.Stat, want)
		}
	}
	_, err = c.Unlock(t.Context(), &nlm4.UnlockArgs{Lock: lock(1)})
	check(t, err)
}

// When the host of the server mounts NFS, the lock manager of the kernel takes the registration of
// the server's, and removes it with the last mount. The server registers again each time, calls the
// kernel for a lock that waits, and gives the registration back at its end.
func TestKernelTakesTheRegistration(t *testing.T) {
	if !alone(t) {
		return
	}
	program := command(t)
	for _, mapper := range []string{"own", "system"} {
		t.Run(mapper, func(t *testing.T) {
			if mapper == "system" {
				isolated.Rpcbind(t)
			}
			granted := make(chan int32, 1)
			svc := rpc.NewService(nlm4rpc.Program())
			rpc.Handle(svc, nlm4.ProcGranted, func(_ *rpc.Request, args *nlm4.TestArgs, res *nlm4.Res) error {
				granted <- args.Lock.SVID
				*res = nlm4.Res{Stat: nlm4.Stat{Stat: nlm4.StatusGranted}}
				return nil
			})
			kernel, err := tcp.Listen(t.Context(), "127.0.0.1:0", rpc.NewHandler(nil, svc), nil)
			check(t, err)
			defer kernel.Close()

			var stderr bytes.Buffer
			cmd := exec.Command(program, "-portmap", mapper, "-rdma", "", served(t))
			launch(t, cmd, &stderr)
			await(t, "2049")
			take(t, mapper, kernel.Addr())
			await(t, "2049")
			waitForLock(t)
			if svid := <-granted; svid != 2 {
				t.Errorf("GRANTED for process %d, expected 2", svid)
			}
			end(t, cmd)
			wants(t, stderr.String(), "another lock manager (port "+port(kernel.Addr())+")", "-o nolock", "rpc.statd")
			if n := strings.Count(stderr.String(), "\n"); n != 1 {
				t.Errorf("%d lines: %s", n, stderr.String())
			}
			if mapper == "system" {
				if got := lockPort(t, "4"); got != port(kernel.Addr()) {
					t.Errorf("after the end of the server, port %q is registered, expected the kernel's", got)
				}
			}
		})
	}
}
