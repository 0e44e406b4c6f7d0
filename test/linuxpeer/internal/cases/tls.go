package cases

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
)

// tlsCases try RPC-with-TLS (RFC 9289) with the kernel's NFS server and client, for which tlshd
// does the handshakes. The connections are of TCP.
func tlsCases() []Case {
	return []Case{
		{Name: "tls/probe", Timeout: time.Minute, Run: tlsProbes},
		{Name: "tls/server", Timeout: 2 * time.Minute, Run: tlsServer},
		{Name: "tls/server-mutual", Timeout: 2 * time.Minute, Run: tlsServerMutual},
		{Name: "tls/recovery", Timeout: 2 * time.Minute, Run: tlsRecovery},
		{Name: "tls/client", Timeout: 2 * time.Minute, Run: tlsClient},
		{Name: "tls/client-mutual", Timeout: 2 * time.Minute, Run: tlsClientMutual},
		{Name: "tls/client-refused", Timeout: 2 * time.Minute, Run: tlsClientRefused},
		{Name: "tls/no-tlshd", Timeout: time.Minute, Run: tlsNoDaemon},
	}
}

// shared is a folder that the guest exports with a policy for TLS, and a file in it.
type shared struct {
	root nfs3.Handle
	data []byte // of the file "data"
}

// exportTLS exports a folder until the end of the case. xprtsec is the option of exports(5): "tls"
// is TLS without a certificate of the client, and "mtls" with one.
func exportTLS(t *T, xprtsec string, fsid int) *shared {
	dir := fmt.Sprintf("/export/fsid%d", fsid)
	s := &shared{data: random(1 << 20)}
	t.Run("mkdir", "-p", dir)
	t.Must(t.Guest().Put(t.Context(), dir+"/data", 0o644, bytes.NewReader(s.data)))
	t.Run("/later/run", "exportfs", "-o", fmt.Sprintf("rw,insecure,no_root_squash,no_subtree_check,fsid=%d,xprtsec=%s", fsid, xprtsec), "*:"+dir)
	t.Cleanup(func() {
		t.Run("/later/run", "exportfs", "-u", "*:"+dir)
		t.Run("rm", "-r", dir)
	})
	cred, err := nfs.Cred(0, 0)
	t.Must(err)
	s.root, err = nfs.Mount(t.Context(), t.Forward(mountd), dir, cred)
	t.Must(err)
	return s
}

// clientTLS is the configuration of a client that demands TLS. certs are the client's.
func (a *authority) clientTLS(certs ...tls.Certificate) tcp.TLS {
	return tcp.TLS{
		Mode: tcp.TLSRequired, WithoutALPN: true,
		Config: &tls.Config{RootCAs: a.pool, ServerName: guestName, Certificates: certs},
	}
}

// tlsDial connects to the guest's NFS server.
func tlsDial(t *T, cfg tcp.TLS) (*tcp.Conn, error) {
	conn, err := tcp.Dial(t.Context(), t.Forward(nfsTCP), &tcp.Config{TLS: cfg})
	if err == nil {
		t.Cleanup(func() { t.Must(conn.Close()) })
	}
	return conn, err
}

// stubs returns a client of NFS version 3 on a new connection, and the connection.
func stubs(t *T, cfg tcp.TLS) (*nfs3rpc.Client, *tcp.Conn) {
	conn, err := tlsDial(t, cfg)
	t.Must(err)
	cred, err := nfs.Cred(0, 0)
	t.Must(err)
	return nfs3rpc.NewClient(conn, &rpc.ClientConfig{Cred: cred}), conn
}

// outcome returns the status of a call, or the word with which the RPC layer refused it.
func outcome(t *T, status nfs3.Status, err error) string {
	var refused *oncrpc.ReplyError
	if errors.As(err, &refused) && refused.Reply == oncrpc.Denied {
		return refused.Auth.String()
	}
	t.Must(err)
	return status.String()
}

// lookUp looks the file up, and returns its handle and the outcome.
func (s *shared) lookUp(t *T, c *nfs3rpc.Client) (nfs3.Handle, string) {
	var res nfs3.LookupRes
	err := c.LookupInto(t.Context(), &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: s.root, Name: nfs3.Filename("data")}}, &res, nil)
	return res.OK.Object, outcome(t, res.Status, err)
}

// read reads the file and compares its bytes. It returns the number of calls.
func (s *shared) read(t *T, c *nfs3rpc.Client) int {
	info, err := c.FSInfo(t.Context(), &nfs3.FSInfoArgs{FSRoot: s.root})
	t.Must(err)
	file, saw := s.lookUp(t, c)
	if saw != nfs3.StatusOK.String() || info.Status != nfs3.StatusOK {
		t.Fatalf("FSINFO: %v, LOOKUP: %s, expected NFS3_OK", info.Status, saw)
	}
	attr, err := c.GetAttr(t.Context(), &nfs3.GetAttrArgs{Object: file})
	t.Must(err)
	if n := attr.OK.ObjAttributes.Size; attr.Status != nfs3.StatusOK || int(n) != len(s.data) {
		t.Fatalf("GETATTR: %v, a file of %d bytes, expected %d", attr.Status, n, len(s.data))
	}
	var got []byte
	for calls := 1; ; calls++ {
		res, err := c.Read(t.Context(), &nfs3.ReadArgs{File: file, Offset: nfs3.Offset(len(got)), Count: nfs3.Count(info.OK.Rtmax)})
		t.Must(err)
		if res.Status != nfs3.StatusOK || len(res.OK.Data) == 0 {
			t.Fatalf("READ at byte %d: %v, %d bytes", len(got), res.Status, len(res.OK.Data))
		}
		if got = append(got, res.OK.Data...); !res.OK.EOF && len(got) < len(s.data) {
			continue
		}
		if !bytes.Equal(got, s.data) {
			t.Fatalf("READ: the %d bytes are not the file's %d", len(got), len(s.data))
		}
		return calls
	}
}

// tlsServer calls the kernel's server on an export with xprtsec=tls.
func tlsServer(t *T) {
	a := startTLSHD(t)
	s := exportTLS(t, "tls", 11)
	plaintext(t, s)

	strict := a.clientTLS()
	strict.WithoutALPN = false
	if _, err := tlsDial(t, strict); !errors.Is(err, tcp.ErrTLS) {
		t.Errorf("a client that insists on ALPN: %v, expected ErrTLS, because tlshd sends none", err)
	} else {
		t.Logf("a client that insists on ALPN: %v", err)
	}
	stranger := newAuthority(t).clientTLS()
	if _, err := tlsDial(t, stranger); !errors.Is(err, tcp.ErrTLS) {
		t.Errorf("a client of another authority: %v, expected ErrTLS", err)
	}

	c, conn := stubs(t, a.clientTLS())
	t.Must(c.Null(t.Context()))
	state := conn.Peer().TLS
	if state == nil || state.Version != "TLS 1.3" || !state.Verified || state.Protocol != "" {
		t.Fatalf("the session is %+v, expected TLS 1.3, a verified server, no application protocol", state)
	}
	calls := s.read(t, c)
	t.Report(Finding{
		What: "NULL, FSINFO, LOOKUP, GETATTR, READ of 1 MiB on an export with xprtsec=tls, over TLS", Rule: "RFC 9289 §4.1",
		Expected: "the calls in the session", Saw: state.Version + ", NFS3_OK, the bytes of the file",
	})
	t.Say("%s, %s, 1 MiB in %d READ", state.Version, state.CipherSuite, calls)
}

// plaintext calls procedures without TLS.
func plaintext(t *T, s *shared) {
	c, _ := stubs(t, tcp.TLS{})
	var attr nfs3.GetAttrRes
	err := c.GetAttrInto(t.Context(), &nfs3.GetAttrArgs{Object: s.root}, &attr, nil)
	attrSaw := outcome(t, attr.Status, err)
	var info nfs3.FSInfoRes
	err = c.FSInfoInto(t.Context(), &nfs3.FSInfoArgs{FSRoot: s.root}, &info, nil)
	infoSaw := outcome(t, info.Status, err)
	_, lookupSaw := s.lookUp(t, c)
	t.Report(Finding{
		What: "GETATTR, FSINFO, LOOKUP on an export with xprtsec=tls, in plaintext", Rule: "exports(5)", Expected: "refused",
		Saw:       strings.Join([]string{attrSaw, infoSaw, lookupSaw}, ", "),
		Deviation: slices.Contains([]string{attrSaw, infoSaw, lookupSaw}, nfs3.StatusOK.String()),
	})
}

// tlsServerMutual calls the kernel's server on an export with xprtsec=mtls, and with a certificate
// on one with xprtsec=tls.
func tlsServerMutual(t *T) {
	a := startTLSHD(t)
	s := exportTLS(t, "mtls", 12)

	anonymous, _ := stubs(t, a.clientTLS())
	_, saw := s.lookUp(t, anonymous)
	t.Report(Finding{
		What: "LOOKUP on an export with xprtsec=mtls, over TLS, no certificate", Rule: "RFC 9289 §4.2", Expected: "refused",
		Saw: saw, Deviation: saw == nfs3.StatusOK.String(),
	})

	own := a.issue(hostName, guest.HostAddr)
	c, conn := stubs(t, a.clientTLS(own))
	calls, version := s.read(t, c), conn.Peer().TLS.Version
	t.Report(Finding{
		What: "FSINFO, LOOKUP, GETATTR, READ of 1 MiB on an export with xprtsec=mtls, with a certificate", Rule: "RFC 9289 §4.2", Expected: "the calls in the session",
		Saw: version + ", NFS3_OK, the bytes of the file",
	})

	// In TLS 1.3 the client's side of the handshake is complete before the server has its
	// certificate.
	conn, err := tlsDial(t, a.clientTLS(newAuthority(t).issue(hostName)))
	if err == nil {
		err = nfs3rpc.NewClient(conn, nil).Null(t.Context())
	}
	t.Logf("a certificate of another authority: %v", err)
	saw = "refused"
	if err == nil {
		saw = "NULL is answered"
	}
	t.Report(Finding{What: "a certificate of an authority that tlshd does not trust", Rule: "RFC 9289 §4.2", Expected: "refused", Saw: saw, Deviation: err == nil})

	plain := exportTLS(t, "tls", 11)
	_, saw = plain.lookUp(t, c)
	t.Report(Finding{What: "LOOKUP on an export with xprtsec=tls, over TLS, with a certificate", Saw: saw})
	either := exportTLS(t, "tls:mtls", 13)
	_, with := either.lookUp(t, c)
	_, without := either.lookUp(t, anonymous)
	t.Report(Finding{What: "LOOKUP on an export with xprtsec=tls:mtls, over TLS, with a certificate and without", Saw: with + ", " + without})
	t.Say("1 MiB in %d READ", calls)
}

// tlsRecovery resets connections in the middle of a transfer. Each new one has its own session.
func tlsRecovery(t *T) {
	a := startTLSHD(t)
	s := exportTLS(t, "tls", 11)
	cutter, err := nfs.NewCutter(t.Forward(nfsTCP), 100_000, 700_000)
	t.Must(err)
	t.Cleanup(func() { t.Must(cutter.Close()) })
	conn, err := tcp.NewClient(cutter.Addr(), &tcp.ClientConfig{Conn: &tcp.Config{TLS: a.clientTLS()}, MinBackoff: 50 * time.Millisecond})
	t.Must(err)
	t.Cleanup(func() { t.Must(conn.Close()) })
	cred, err := nfs.Cred(0, 0)
	t.Must(err)
	upload(t, &mounted{Client: nfs.NewClient(conn, nfs.Config{Cred: cred}), root: s.root}, random(2<<20), 64<<10, 8)
	stats := conn.Stats()
	if cutter.Cuts() != 2 || stats.Connects < 3 {
		t.Errorf("%d connections cut, expected 2; %+v", cutter.Cuts(), stats)
	}
	t.Say("%d connections reset, %d calls sent again", cutter.Cuts(), stats.Retransmissions)
}

// tlsNoDaemon demands TLS of a server whose host does not run tlshd.
func tlsNoDaemon(t *T) {
	requireTLS(t)
	a := newAuthority(t)
	cfg := a.clientTLS()
	for _, mode := range []tcp.TLSMode{tcp.TLSRequired, tcp.TLSWanted} {
		cfg.Mode = mode
		_, err := tlsDial(t, cfg)
		if !errors.Is(err, oncrpc.ErrAuth) {
			t.Errorf("mode %v: %v, expected an error like that of a refused credential (RFC 9289 §4.1)", mode, err)
		}
		t.Logf("mode %v: %v", mode, err)
	}
}
