package cases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// shareConfig configures newShare. By default the guest mounts over TCP without TLS.
type shareConfig struct {
	nfsd.Config         // without Dir and State, which are folders of the case
	RDMA, CRC   bool    // RDMA serves RDMA, too, with CRCs if CRC.
	TLS         tcp.TLS // TLS configures the server over TCP.
}

// share is a directory of the host that package nfsd serves, over TCP and perhaps over RDMA. The
// guest mounts it.
type share struct {
	cfg       shareConfig
	calls     callers
	log       *lines // of the server over TCP
	dev       verbs.Device
	nfsd      *nfsd.Server
	mounts    *tcp.Server // MOUNT and NFS, without TLS
	byTCP     *tcp.Server
	byRDMA    *rdmaio.Server
	addresses [3]string // of these three
}

// newShare serves a new directory until the end of the case.
func newShare(t *T, cfg shareConfig) *share {
	dir, err := os.MkdirTemp(t.Dir(), "share-")
	t.Must(err)
	cfg.Dir, cfg.State = filepath.Join(dir, "export"), filepath.Join(dir, "state")
	t.Must(os.Mkdir(cfg.Dir, 0o777))
	t.Must(os.Chmod(cfg.Dir, 0o777)) // whatever the umask
	s := &share{cfg: cfg, log: newLines(), addresses: [3]string{"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"}}
	t.Cleanup(func() { t.Logf("the server's log:\n%s", s.log.String()) })
	if cfg.RDMA {
		s.dev = device(t, cfg.CRC)
	}
	t.Cleanup(func() { t.Must(s.stop()) })
	s.start(t)
	return s
}

// start starts the servers, at the addresses that they had before.
func (s *share) start(t *T) {
	var err error
	s.nfsd, err = nfsd.New(s.cfg.Config)
	t.Must(err)
	handler := s.nfsd.Handler()
	s.calls.setNext(handler)
	ctx := context.WithoutCancel(t.Context()) // the servers are closed after the guest's mount
	s.mounts, err = tcp.Listen(ctx, s.addresses[0], handler, nil)
	t.Must(err)
	logger := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.byTCP, err = tcp.Listen(ctx, s.addresses[1], &s.calls, &tcp.Config{TLS: s.cfg.TLS, Logger: logger})
	t.Must(err)
	s.addresses[0], s.addresses[1] = s.mounts.Addr(), s.byTCP.Addr()
	if s.cfg.RDMA {
		s.byRDMA, err = rdmaio.Listen(ctx, s.dev, s.addresses[2], &s.calls, nil)
		t.Must(err)
		s.addresses[2] = s.byRDMA.Addr()
	}
}

// stop closes the servers, in the middle of whatever they do.
func (s *share) stop() error {
	var errs []error
	if s.byRDMA != nil {
		errs = append(errs, s.byRDMA.Close())
	}
	if s.byTCP != nil {
		errs = append(errs, s.byTCP.Close())
	}
	if s.mounts != nil {
		errs = append(errs, s.mounts.Close())
	}
	if s.nfsd != nil {
		errs = append(errs, s.nfsd.Close())
	}
	s.byRDMA, s.byTCP, s.mounts, s.nfsd = nil, nil, nil, nil
	return errors.Join(errs...)
}

// options returns the mount options that lead to the server.
func (s *share) options(t *T) string {
	proto, addr := "tcp", s.addresses[1]
	if s.cfg.RDMA {
		proto, addr = "rdma", s.addresses[2]
	}
	_, port, err := net.SplitHostPort(addr)
	t.Must(err)
	_, mountPort, err := net.SplitHostPort(s.addresses[0])
	t.Must(err)
	return fmt.Sprintf("vers=3,proto=%s,port=%s,mountproto=tcp,mountport=%s,nolock", proto, port, mountPort)
}

// mountArgs returns the arguments of mount.nfs for the share under a name of the host.
func (s *share) mountArgs(t *T, host, options string) []string {
	return []string{host + ":/export", mountPoint, "-o", s.options(t) + "," + options}
}

// mountPoint is where the guest mounts a share.
const mountPoint = "/mnt/host"

// mount mounts the share in the guest until the end of the case, or until unmount is called.
func (s *share) mount(t *T) (unmount func()) {
	unmount, err := s.tryMount(t, guest.HostAddr, "retry=0")
	t.Must(err)
	return unmount
}

// tryMount mounts the share under a name of the host, with further options. err is the error of
// mount.
func (s *share) tryMount(t *T, host, options string) (unmount func(), err error) {
	t.Run("mkdir", "-p", mountPoint)
	// busybox's mount would run mount.nfs twice. A server that refuses the client in the handshake
	// of TLS 1.3 does so after the client's side is complete, and the kernel may try for seconds.
	res, err := t.Guest().Run(t.Context(), append([]string{"timeout", "25", "mount.nfs"}, s.mountArgs(t, host, options)...)...)
	t.Logf("guest$ mount %s, %s: %s%s", host, options, res.Stdout, res.Stderr)
	// A program that timeout has killed has an exit code from 128 on.
	if exit := (*guest.ExitError)(nil); errors.As(err, &exit) && exit.Result.Code < 128 {
		return nil, exit
	}
	t.Must(err)
	unmount = sync.OnceFunc(func() { t.Run("umount", mountPoint) })
	t.Cleanup(unmount)
	return unmount, nil
}
