package pubkey

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"testing"
	"testing/iotest"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// TestEveryKindOfKeyWorks runs every kind of key at one end against every kind at the other (R219).
func TestEveryKindOfKeyWorks(t *testing.T) {
	root := newIssuer(t, nil, "root")
	middle := newIssuer(t, root, "middle")
	type host struct {
		name  string
		key   crypto.Signer
		chain func(name string, key crypto.Signer) [][]byte
	}
	certs := func(name string, key crypto.Signer) [][]byte {
		return [][]byte{issue(t, middle, key, dns(name)), middle.cert.Raw}
	}
	short := func(name string, key crypto.Signer) [][]byte { return [][]byte{issue(t, root, key, dns(name))} }
	bare := func(string, crypto.Signer) [][]byte { return nil }
	hosts := []host{
		{"Ed25519", edKey(3), bare},
		{"Ed25519 certificate", edKey(4), certs},
		{"P-256", ecKey(t, elliptic.P256()), certs},
		{"P-384", ecKey(t, elliptic.P384()), short},
		{"P-521", ecKey(t, elliptic.P521()), certs},
		{"RSA", rsaKey(), certs},
	}
	for _, c := range hosts {
		for _, s := range hosts {
			t.Run(c.name+" and "+s.name, func(t *testing.T) {
				p := newPair()
				keys := map[string]ed25519.PublicKey{"client.example": public(edKey(3))}
				p.client = Config{Key: c.key, Chain: c.chain("client.example", c.key), ServerName: "server.example", Roots: root.pool(), Time: clock}
				p.client.Keys = map[string]ed25519.PublicKey{"server.example": public(edKey(3))}
				p.server = Config{Key: s.key, Chain: s.chain("server.example", s.key), Roots: root.pool(), Keys: keys, Time: clock}
				r := p.run(t, nil)
				r.authentic(t, "client.example", "server.example")
				for _, end := range []struct {
					peer hostauth.Peer
					cfg  *Config
				}{{r.client, &p.client}, {r.server, &p.server}} {
					if key, ok := end.peer.Key.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(end.cfg.Key.Public()) {
						t.Errorf("%s has another key", end.peer.Name)
					}
					var want [][]byte
					if len(end.cfg.Chain) > 0 {
						want = append(append(want, end.cfg.Chain...), root.cert.Raw)
					}
					if got := end.peer.Certificates; !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) || len(got) != len(want) {
						t.Errorf("%s has %d certificates, want %d", end.peer.Name, len(got), len(want))
					}
				}
			})
		}
	}
}

// TestUnknownPeerIsNamed: the name of a peer whose name is not configured.
func TestUnknownPeerIsNamed(t *testing.T) {
	root := newIssuer(t, nil, "root")
	uri, err := url.Parse("spiffe://example/node7")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		want   string
		change func(*x509.Certificate)
	}{
		{"a.example", func(c *x509.Certificate) { c.DNSNames, c.URIs = []string{"a.example", "b.example"}, []*url.URL{uri} }},
		{"spiffe://example/node7", func(c *x509.Certificate) { c.URIs, c.EmailAddresses = []*url.URL{uri}, []string{"a@example"} }},
		{"192.0.2.7", func(c *x509.Certificate) { c.IPAddresses = []net.IP{{192, 0, 2, 7}} }},
		{"a@example", func(c *x509.Certificate) { c.EmailAddresses = []string{"a@example"} }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			p := newPair()
			p.client.Chain = [][]byte{issue(t, root, p.client.Key, tt.change)}
			p.server.Roots = root.pool()
			r := p.run(t, nil)
			r.authentic(t, tt.want, "server")
		})
	}
}

// TestCallbacksAcceptPeers: Verify and UnknownKey accept peers.
func TestCallbacksAcceptPeers(t *testing.T) {
	root := newIssuer(t, nil, "root")
	p := newPair()
	p.client.Chain = [][]byte{issue(t, root, p.client.Key, dns("client.example"))}
	p.client.Keys, p.client.ServerName = nil, ""
	p.client.UnknownKey = func(key ed25519.PublicKey) (string, error) {
		if !key.Equal(public(edKey(2))) {
			t.Error("UnknownKey got another key")
		}
		return "found", nil
	}
	var verified []string
	p.client.Verify = func(peer hostauth.Peer, chains [][]*x509.Certificate) error {
		if chains != nil {
			t.Error("Verify got chains for a bare key")
		}
		verified = append(verified, peer.Name)
		return nil
	}
	p.server.Roots = root.pool()
	p.server.Verify = func(peer hostauth.Peer, chains [][]*x509.Certificate) error {
		if len(chains) != 1 || len(chains[0]) != 2 || chains[0][0].DNSNames[0] != peer.Name {
			t.Errorf("Verify got %d chains", len(chains))
		}
		verified = append(verified, peer.Name)
		return nil
	}
	r := p.run(t, nil)
	r.authentic(t, "client.example", "found")
	if len(verified) != 2 || verified[0] != "found" || verified[1] != "client.example" {
		t.Errorf("Verify saw %q", verified)
	}
}

// TestMessagesOutOfOrderAreRefused gives each end messages that its state does not allow. It uses
// the exchanges without a Session.
func TestMessagesOutOfOrderAreRefused(t *testing.T) {
	p := newPair()
	messages := p.run(t, nil).messages
	start := func(cfg *Config, info hostauth.Info, begin bool) hostauth.Exchange {
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		x, err := m.Start(info)
		if err != nil {
			t.Fatal(err)
		}
		if begin {
			if _, err := x.Begin(); err != nil {
				t.Fatal(err)
			}
		}
		return x
	}
	const client, server = true, false
	tests := []struct {
		name     string
		role     bool
		begin    bool
		messages [][]byte // all but the last one are accepted
		kind     error
		text     string
	}{
		{"client: client hello of another", client, true, messages[:1], hostauth.ErrOrder, "found a client hello, expected a server hello"},
		{"client: client proof", client, true, messages[2:], hostauth.ErrOrder, "found a client proof, expected a server hello"},
		{"client: before Begin", client, false, messages[1:2], hostauth.ErrOrder, "expected no message"},
		{"client: empty", client, true, [][]byte{{}}, hostauth.ErrMalformed, "0 bytes"},
		{"server: server hello", server, true, messages[1:2], hostauth.ErrOrder, "found a server hello, expected a client hello"},
		{"server: client proof", server, true, messages[2:], hostauth.ErrOrder, "found a client proof, expected a client hello"},
		{"server: second client hello", server, true, [][]byte{messages[0], messages[0]}, hostauth.ErrOrder, "expected a client proof"},
		{"server: before Begin", server, false, messages[:1], hostauth.ErrOrder, "expected no message"},
		{"server: empty", server, true, [][]byte{{}}, hostauth.ErrMalformed, "0 bytes"},
		{"server: empty after hello", server, true, [][]byte{messages[0], nil}, hostauth.ErrMalformed, "0 bytes"},
		{"server: other method", server, true, [][]byte{[]byte("XA\x01\x01")}, hostauth.ErrVersion, "584101, expected 484101"},
		{"server: version 2", server, true, [][]byte{[]byte("HA\x02\x01")}, hostauth.ErrVersion, "484102, expected 484101"},
		{"server: type 0", server, true, [][]byte{[]byte("HA\x01\x00")}, hostauth.ErrMalformed, "type 0"},
		{"server: type 4", server, true, [][]byte{[]byte("HA\x01\x04")}, hostauth.ErrMalformed, "type 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := start(&p.server, p.serverInfo, tt.role == server && tt.begin)
			if tt.role == client {
				x = start(&p.client, p.clientInfo, tt.begin)
			}
			var err error
			for i, msg := range tt.messages {
				if err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
				_, err = x.Receive(msg)
			}
			checkError(t, err, tt.kind, tt.text)
			if _, ok := x.Peer(); ok {
				t.Error("Peer is known")
			}
			if _, err := x.Receive(messages[0]); !errors.Is(err, hostauth.ErrOrder) {
				t.Errorf("after the error: %v, want %v", err, hostauth.ErrOrder)
			}
		})
	}
	t.Run("after the end", func(t *testing.T) {
		c, s := start(&p.client, p.clientInfo, false), start(&p.server, p.serverInfo, true)
		step, err := c.Begin()
		for from, to := c, s; err == nil && !(step.Done && !step.Send); from, to = to, from {
			step, err = to.Receive(step.Message)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []hostauth.Exchange{c, s} {
			if _, err := x.Receive(messages[0]); !errors.Is(err, hostauth.ErrOrder) {
				t.Errorf("a message after the end: %v, want %v", err, hostauth.ErrOrder)
			}
		}
	})
}

// signer is a crypto.Signer whose signatures are changed.
type signer struct {
	crypto.Signer
	change func([]byte) ([]byte, error)
}

func (s signer) Sign(r io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	b, err := s.Signer.Sign(r, digest, opts)
	if err != nil {
		return nil, err
	}
	return s.change(b)
}

// TestLocalFaults: faults of this side are not blamed on the peer, and no faulty signature is sent.
func TestLocalFaults(t *testing.T) {
	broken := errors.New("device\nremoved")
	faulty := func(b []byte) ([]byte, error) { b[0] ^= 1; return b, nil }
	failing := func([]byte) ([]byte, error) { return nil, broken }
	tests := []struct {
		name   string
		change func(p *pair)
		client bool // the client fails
		text   string
	}{
		{"random at the client", func(p *pair) { p.client.Rand = iotest.ErrReader(broken) }, true, `no nonce from Config.Rand: device\nremoved`},
		{"random at the server", func(p *pair) { p.server.Rand = iotest.ErrReader(broken) }, false, "no nonce"},
		{"too little randomness", func(p *pair) { p.server.Rand = bytes.NewReader(make([]byte, 31)) }, false, "no nonce"},
		{"signer of the client", func(p *pair) { p.client.Key = signer{edKey(1), failing} }, true, `cannot sign: device\nremoved`},
		{"signer of the server", func(p *pair) { p.server.Key = signer{edKey(2), failing} }, false, "cannot sign"},
		{"faulty signature of the client", func(p *pair) { p.client.Key = signer{edKey(1), faulty} }, true, "does not match"},
		{"faulty signature of the server", func(p *pair) { p.server.Key = signer{edKey(2), faulty} }, false, "does not match"},
		{"no binding at the client", func(p *pair) { p.client.RequireBinding, p.clientInfo.Binding = true, hostauth.Binding{} }, true, "RequireBinding"},
		{"no binding at the server", func(p *pair) { p.server.RequireBinding, p.serverInfo.Binding = true, hostauth.Binding{} }, false, "RequireBinding"},
		{"no name", func(p *pair) { p.client.ServerName = "" }, true, "neither ServerName nor Verify"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair()
			tt.change(p)
			r := p.run(t, nil)
			err, other := r.serverErr, r.clientErr
			if tt.client {
				err, other = other, err
			}
			checkError(t, err, hostauth.ErrLocal, tt.text)
			if other != nil || r.clientDone || r.serverDone {
				t.Errorf("other end: %v; client done %v, server done %v", other, r.clientDone, r.serverDone)
			}
		})
	}
}

// TestMethodServesSeveralConnections uses one Method for several connections at the same time.
func TestMethodServesSeveralConnections(t *testing.T) {
	p := newPair()
	client, err := New(&p.client)
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(&p.server)
	if err != nil {
		t.Fatal(err)
	}
	one := func() error {
		c, err := client.Start(p.clientInfo)
		if err != nil {
			return err
		}
		s, err := server.Start(p.serverInfo)
		if err != nil {
			return err
		}
		if _, err := s.Begin(); err != nil {
			return err
		}
		step, err := c.Begin()
		for from, to := c, s; err == nil && step.Send; from, to = to, from {
			step, err = to.Receive(step.Message)
		}
		return err
	}
	const n = 8
	errs := make(chan error, n)
	for range n {
		go func() { errs <- one() }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
