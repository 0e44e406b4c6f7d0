package cases

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/nfsd"
)

// serveCases let the kernel's NFS/RDMA client call a server of ours.
func serveCases() []Case {
	var all []Case
	for _, crc := range []bool{true, false} {
		suffix := ""
		if crc {
			suffix = "-crc"
		}
		all = append(all,
			Case{Name: "nfs-client/v3" + suffix, Timeout: 2 * time.Minute, Run: func(t *T) { clientV3(t, crc) }},
			Case{Name: "nfs-client/v4.1" + suffix, Timeout: 2 * time.Minute, Run: func(t *T) { clientV4(t, crc) }},
		)
	}
	return all
}

// serveNFS starts a server in memory, and returns its ports for RDMA and for the mount protocol.
func serveNFS(t *T, crc bool) (s *nfsd.Server, server *rdmaio.Server, port, mountPort string) {
	s = nfsd.New()
	server, err := rdmaio.Listen(t.Context(), device(t, crc), "127.0.0.1:0", s.Handler(), nil)
	t.Must(err)
	t.Cleanup(func() { t.Must(server.Close()) })
	ln, _ := t.Listen()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.ServeMount(ctx, ln) }()
	t.Cleanup(func() { cancel(); <-done })
	_, port, err = net.SplitHostPort(server.Addr())
	t.Must(err)
	_, mountPort, err = net.SplitHostPort(ln.Addr().String())
	t.Must(err)
	return s, server, port, mountPort
}

// clientV3 mounts, and moves files through the mount.
func clientV3(t *T, crc bool) {
	s, _, port, mountPort := serveNFS(t, crc)
	t.Shell("mkdir -p /mnt/host")
	t.Run("mount", "-t", "nfs", "-o", fmt.Sprintf("rdma,port=%s,vers=3,nolock,mountport=%s,mountproto=tcp", port, mountPort), guest.HostAddr+":/", "/mnt/host")
	t.Cleanup(func() { t.Run("umount", "/mnt/host") })
	t.Shell(`cd /mnt/host && echo hello >file && sync && ln -s file link && ls -l`)
	sums := t.Shell(`dd if=/dev/urandom of=/tmp/data bs=1M count=8 2>/dev/null && cp /tmp/data /mnt/host/data && sync &&
		echo 3 >/proc/sys/vm/drop_caches && sha256sum </tmp/data && sha256sum </mnt/host/data; rm /tmp/data`)
	lines := strings.Split(sums, "\n")
	if len(lines) != 2 || lines[0] != lines[1] {
		t.Errorf("the file through the mount differs: %q", sums)
	}
	if out := t.Shell("cat /mnt/host/link && rm /mnt/host/*"); out != "hello" {
		t.Errorf("the link leads to %q", out)
	}
	for _, proc := range []string{"FSINFO", "PATHCONF", "GETATTR", "LOOKUP", "CREATE", "WRITE", "READ", "SYMLINK", "READLINK", "REMOVE"} {
		if s.Calls(proc) == 0 {
			t.Errorf("the kernel did not call %s", proc)
		}
	}
	t.Say("mounted; 8 MiB each way in %d WRITE and %d READ", s.Calls("WRITE"), s.Calls("READ"))
}

// clientV4 tries to mount. The server answers EXCHANGE_ID, and refuses the next operation.
func clientV4(t *T, crc bool) {
	s, _, port, _ := serveNFS(t, crc)
	t.Shell("mkdir -p /mnt/host")
	out := t.Shell(fmt.Sprintf("timeout 6 mount -t nfs -o rdma,port=%s,vers=4.1,retry=0,soft %s:/ /mnt/host 2>&1; echo $?", port, guest.HostAddr))
	if s.Calls("EXCHANGE_ID") == 0 {
		t.Errorf("the kernel did not call EXCHANGE_ID: %s", out)
	}
	t.Say("NULL and %d EXCHANGE_ID answered; the mount ends with %q", s.Calls("EXCHANGE_ID"), firstLine(out))
}
