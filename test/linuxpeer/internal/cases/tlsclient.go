package cases

import (
	"cmp"
	"crypto/tls"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// serverTLS is the configuration of a server that demands TLS, with a certificate.
func (a *authority) serverTLS(cert tls.Certificate) tcp.TLS {
	return tcp.TLS{Mode: tcp.TLSRequired, WithoutALPN: true, Config: &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: a.pool}}
}

// tlsOptions are the mount options of all cases: the mount fails when the server is lost.
const tlsOptions = "retry=0,soft,"

// files moves a file through the mount.
func (s *share) files(t *T) {
	sums := t.Shell(`dd if=/dev/urandom of=/tmp/data bs=1M count=4 2>/dev/null && cp /tmp/data ` + mountPoint + `/data && sync &&
		echo 3 >/proc/sys/vm/drop_caches && sha256sum </tmp/data && sha256sum <` + mountPoint + `/data; rm /tmp/data`)
	lines := strings.Split(sums, "\n")
	if len(lines) != 2 || lines[0] != lines[1] {
		t.Errorf("the file through the mount differs: %q", sums)
	}
	s.calls.called(t, nfs3.ProcFSInfo, nfs3.ProcLookup, nfs3.ProcCreate, nfs3.ProcWrite, nfs3.ProcRead)
}

// tlsClient lets the kernel's client mount with xprtsec=tls.
func tlsClient(t *T) {
	a := startTLSHD(t)
	s := newShare(t, shareConfig{TLS: a.serverTLS(a.issue(hostName))})
	unmount, err := s.tryMount(t, hostName, tlsOptions+"xprtsec=tls")
	t.Must(err)
	s.files(t)
	for _, c := range s.byTCP.Conns() {
		t.Must(c.Close())
	}
	t.Shell("echo again >" + mountPoint + "/again && sync")
	if n := s.byTCP.Stats().Accepted; n < 2 {
		t.Errorf("%d connections, expected a second one after the server closed the first", n)
	}
	plain, calls, session := s.calls.counts()
	if plain > 0 {
		t.Errorf("%d calls came without TLS", plain)
	}
	if session == nil || session.Version != "TLS 1.3" || session.PeerCertificates != nil {
		t.Fatalf("the session is %+v, expected TLS 1.3 without a certificate", session)
	}
	t.Report(Finding{
		What: "mount of version 3 with xprtsec=tls, a file of 4 MiB each way", Rule: "RFC 9289 §4.1", Expected: "all calls but the probe in the session",
		Saw: session.Version + ", all calls but the probe in the session",
	})
	protocol := Finding{What: "application protocol that the kernel's client offers", Rule: "RFC 9289 §5", Expected: "sunrpc", Saw: session.Protocol}
	if session.Protocol == "" {
		protocol.Saw, protocol.Deviation = "none", true
	}
	t.Report(protocol)
	t.Report(Finding{
		What: "calls after the server has closed the connection", Rule: "RFC 9289 §4.1", Expected: "a new connection with a session of its own",
		Saw: "a new connection with a session of its own",
	})
	t.Report(Finding{What: "name of the server in the handshake, of a mount of host:/", Rule: "RFC 6066 §3", Expected: "the host's name", Saw: session.ServerName})
	unmount()
	// A connection that ends without close_notify has another reason.
	s.log.await(t, `reason="tcp: the peer closed the connection"`)
	t.Report(Finding{What: "end of the session, after umount", Rule: "RFC 9289 §5.1.1", Expected: "close_notify", Saw: "close_notify"})
	t.Say("%s, %s, %d calls", session.Version, session.CipherSuite, calls)
}

// tlsClientMutual lets the kernel's client mount with xprtsec=mtls.
func tlsClientMutual(t *T) {
	a := startTLSHD(t)
	cfg := a.serverTLS(a.issue(hostName))
	cfg.Config.ClientAuth = tls.RequireAndVerifyClientCert
	s := newShare(t, shareConfig{TLS: cfg})
	_, err := s.tryMount(t, hostName, tlsOptions+"xprtsec=mtls")
	t.Must(err)
	s.files(t)
	plain, calls, session := s.calls.counts()
	if plain > 0 {
		t.Errorf("%d calls came without TLS", plain)
	}
	if session == nil || !session.Verified {
		t.Fatalf("the session is %+v, expected a verified client", session)
	}
	t.Report(Finding{
		What: "mount of version 3 with xprtsec=mtls, a file of 4 MiB each way", Rule: "RFC 9289 §4.2", Expected: "a certificate that leads to the authority",
		Saw: "a certificate that leads to the authority",
	})
	t.Say("%s, %d calls", session.Version, calls)
}

// tlsMount is a mount, and what the kernel should do.
type tlsMount struct {
	what, rule, xprtsec string
	host                string // by default the host's name
	cfg                 tcp.TLS
	ours, theirs        string // reasons for refusing in the log of the server, and of tlshd
	works               bool
}

// tlsClientRefused tries mounts that must fail, and mounts by address.
func tlsClientRefused(t *T) {
	a, stranger := startTLSHD(t), newAuthority(t)
	own := a.issue(hostName)
	allowing, strict, demanding := a.serverTLS(own), a.serverTLS(own), a.serverTLS(own)
	allowing.Mode = tcp.TLSWanted
	strict.WithoutALPN = false
	demanding.Config.ClientAuth = tls.RequireAndVerifyClientCert
	list := []tlsMount{
		{what: "no TLS at the server", rule: "RFC 9289 §6.1.1", xprtsec: "tls"},
		{what: "a server that demands TLS", rule: "RFC 9289 §6.1.2", xprtsec: "none", cfg: a.serverTLS(own)},
		{what: "a server that allows TLS", rule: "RFC 9289 §6.1", xprtsec: "none", cfg: allowing, works: true},
		{what: "a server that insists on ALPN", rule: "RFC 9289 §5", xprtsec: "tls", cfg: strict, ours: "ALPN"},
		{what: "a server that demands a certificate", rule: "RFC 9289 §4.2", xprtsec: "tls", cfg: demanding, ours: "certificate"},
		{
			what: "a certificate of another name", rule: "RFC 9289 §5.2.1", xprtsec: "tls",
			cfg: a.serverTLS(a.issue("other")), ours: "TLS handshake", theirs: "Certificate owner unexpected",
		},
		{
			what: "a certificate of another authority", rule: "RFC 9289 §5.2.1", xprtsec: "tls",
			cfg: stranger.serverTLS(stranger.issue(hostName)), ours: "TLS handshake", theirs: "Certificate signer not found",
		},
		{
			what: "by address, a certificate with the name alone", rule: "RFC 9289 §5.2.1", xprtsec: "tls", host: guest.HostAddr,
			cfg: a.serverTLS(own), theirs: "Handshake with '" + guest.HostAddr + "' (" + guest.HostAddr + ") failed",
		},
		{
			what: "by address, a certificate with the address", rule: "RFC 9289 §5.2.1", xprtsec: "tls", host: guest.HostAddr,
			cfg: a.serverTLS(a.issue(hostName, guest.HostAddr)), works: true,
		},
	}
	for _, m := range list {
		m.try(t, a.tlshd)
	}
	t.Say("%d mounts", len(list))
}

// try mounts, and reports the outcome. A mount that fails must do so for the reason of m.
func (m *tlsMount) try(t *T, tlshd *Process) {
	s := newShare(t, shareConfig{TLS: m.cfg})
	options := "xprtsec=" + m.xprtsec
	if !m.works {
		options += ",timeo=10,retrans=1"
	}
	_, err := s.tryMount(t, cmp.Or(m.host, hostName), tlsOptions+options)
	f := Finding{What: "mount with xprtsec=" + m.xprtsec + ": " + m.what, Rule: m.rule, Expected: "refused", Saw: "refused", Deviation: (err == nil) != m.works}
	if m.works {
		f.Expected = "mounted"
	}
	if err == nil {
		f.Saw = "mounted"
	}
	t.Report(f)
	if plain, secure, _ := s.calls.counts(); err != nil && plain+secure > 0 {
		t.Errorf("%s: %d calls without TLS and %d with it reached the handler, expected none", m.what, plain, secure)
	}
	if err != nil && m.ours != "" {
		s.log.await(t, m.ours)
	}
	if err != nil && m.theirs != "" {
		tlshd.Await(m.theirs)
	}
}
