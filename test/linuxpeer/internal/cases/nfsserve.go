package cases

import (
	"net"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/v41"
)

// serveCases let the kernel's NFS client call a server of ours.
func serveCases() []Case {
	var all []Case
	for _, c := range transports() {
		all = append(all, Case{Name: "nfs-client/v3" + c.suffix, Timeout: 2 * time.Minute, Run: func(t *T) { clientV3(t, c.shareConfig) }})
		if c.RDMA {
			all = append(all, Case{Name: "nfs-client/v4.1" + c.suffix, Timeout: 2 * time.Minute, Run: func(t *T) { clientV4(t, c.CRC) }})
		}
	}
	return all
}

// transport is a way to reach a share, and its part of a case's name.
type transport struct {
	suffix string
	shareConfig
}

// transports returns all ways.
func transports() []transport {
	return []transport{
		{"-tcp", shareConfig{}},
		{"-crc", shareConfig{RDMA: true, CRC: true}},
		{"", shareConfig{RDMA: true}},
	}
}

// clientV3 mounts, and moves files through the mount.
func clientV3(t *T, cfg shareConfig) {
	s := newShare(t, cfg)
	s.mount(t)
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
	s.calls.called(t, nfs3.ProcFSInfo, nfs3.ProcPathConf, nfs3.ProcGetAttr, nfs3.ProcLookup, nfs3.ProcCreate,
		nfs3.ProcWrite, nfs3.ProcRead, nfs3.ProcSymLink, nfs3.ProcReadLink, nfs3.ProcRemove)
	calls := s.calls.procedures()
	t.Say("mounted; 8 MiB each way in %d WRITE and %d READ", calls[nfs3.ProcWrite], calls[nfs3.ProcRead])
}

// clientV4 tries to mount. The server answers EXCHANGE_ID, and refuses the next operation.
func clientV4(t *T, crc bool) {
	s := new(v41.Server)
	server, err := rdmaio.Listen(t.Context(), device(t, crc), "127.0.0.1:0", s.Handler(), nil)
	t.Must(err)
	t.Cleanup(func() { t.Must(server.Close()) })
	_, port, err := net.SplitHostPort(server.Addr())
	t.Must(err)
	t.Shell("mkdir -p " + mountPoint)
	mount := t.Background("mount.nfs", guest.HostAddr+":/", mountPoint, "-o", "vers=4.1,proto=rdma,retry=0,soft,port="+port)
	t.Await("EXCHANGE_ID", func() bool { return s.Exchanges() > 0 })
	mount.Stop()
	t.Say("NULL and EXCHANGE_ID answered")
}
