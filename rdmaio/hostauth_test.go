package rdmaio_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// hosts has the keys of a client and a server.
type hosts struct{ client, server ed25519.PrivateKey }

func newHosts(t testing.TB) (h hosts) {
	t.Helper()
	for _, key := range []*ed25519.PrivateKey{&h.client, &h.server} {
		var err error
		if _, *key, err = ed25519.GenerateKey(rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// clientKey and serverKey are the configurations of package pubkey with bare keys.
func (h hosts) clientKey() pubkey.Config {
	return pubkey.Config{Key: h.client, Keys: map[string]ed25519.PublicKey{"nas1": public(h.server)}, ServerName: "nas1"}
}

func (h hosts) serverKey() pubkey.Config {
	return pubkey.Config{Key: h.server, Keys: map[string]ed25519.PublicKey{"host7": public(h.client)}}
}

// method makes a Method, or none without a Key.
func method(t testing.TB, cfg pubkey.Config) hostauth.Method {
	t.Helper()
	m, err := pubkey.New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// authConfig returns a Config of version 2 with host authentication.
func authConfig(mode rdmaio.HostAuthMode, m hostauth.Method) *rdmaio.Config {
	return &rdmaio.Config{Versions: []int{2, 1}, HostAuth: rdmaio.HostAuth{Mode: mode, Method: m}}
}

// fabric is a pair of devices, and the address to listen at.
type fabric struct {
	server, client verbs.Device
	addr           string
}

// fabrics opens devices of a kind: "mem", "rdmatcp", or "tls" for rdmatcp over TLS.
var fabrics = map[string]func(t testing.TB) fabric{
	"mem": func(t testing.TB) fabric {
		net := mem.New(nil)
		return fabric{opened(t, func() (*mem.Device, error) { return net.Open("server", nil) }), opened(t, func() (*mem.Device, error) { return net.Open("client", nil) }), "there"}
	},
	"rdmatcp": func(t testing.TB) fabric {
		open := func() (*rdmatcp.Device, error) { return rdmatcp.Open(nil) }
		return fabric{opened(t, open), opened(t, open), "127.0.0.1:0"}
	},
	"tls": func(t testing.TB) fabric {
		open := func() (*rdmatcp.Device, error) { return rdmatcp.Open(nil) }
		return fabric{newTLSDevice(t, opened(t, open)), newTLSDevice(t, opened(t, open)), "127.0.0.1:0"}
	},
}

// opened opens a device, which is closed at the end of the test.
func opened[D verbs.Device](t testing.TB, open func() (D, error)) D {
	t.Helper()
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// listen starts a server that answers each Call with a reply of 8 bytes, and counts them.
func (f fabric) listen(t testing.TB, cfg *rdmaio.Config) (*rdmaio.Server, *atomic.Int32) {
	t.Helper()
	served := new(atomic.Int32)
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		served.Add(1)
		r.Reply(rdmaio.Message{Inline: rpcOf(binary.BigEndian.Uint32(r.Message), 1, 8)}, nil)
	})
	srv, err := rdmaio.Listen(context.Background(), f.server, f.addr, h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv, served
}

// dial dials, and makes a Call if that succeeds.
func (f fabric) dial(t testing.TB, addr string, cfg *rdmaio.Config) (*rdmaio.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), peertest.Patience)
	defer cancel()
	c, err := rdmaio.Dial(ctx, f.client, addr, cfg)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: rpcOf(c.XID(), 0, 40)}})
	return c, err
}

// happened collects the events of one side.
type happened struct {
	mu  sync.Mutex
	all []rdmaio.Event
}

func (h *happened) add(e rdmaio.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
}

// await waits for an event of a type.
func await[E rdmaio.Event](t testing.TB, h *happened) E {
	t.Helper()
	for start := time.Now(); time.Since(start) < peertest.Patience; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		for _, e := range h.all {
			if got, ok := e.(E); ok {
				h.mu.Unlock()
				return got
			}
		}
		h.mu.Unlock()
	}
	var none E
	t.Fatalf("no event of type %T; there are %v", none, h.all)
	return none
}

// certify makes a certificate of a key, for its own or by an issuer.
func certify(t testing.TB, issuer *issuer, key crypto.Signer, change func(*x509.Certificate)) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	parent, signer := template, key
	if issuer != nil {
		parent, signer = issuer.cert, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// issuer issues certificates.
type issuer struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{key: newHosts(t).server}
	der := certify(t, nil, i.key, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	})
	var err error
	if i.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *issuer) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(i.cert)
	return p
}

// R219, R220, R312: both ends with all modes, over all fabrics. Where one requires authentication
// and the other does not take part, there is no connection, and no Call is served. Where both take
// part, both know the other.
func TestHostAuthModes(t *testing.T) {
	h := newHosts(t)
	off, wanted, required := rdmaio.HostAuthOff, rdmaio.HostAuthWanted, rdmaio.HostAuthRequired
	for name, open := range fabrics {
		for _, c := range []struct {
			server, client rdmaio.HostAuthMode
			up, known      bool
		}{
			{off, off, true, false}, {off, wanted, true, false}, {off, required, false, false},
			{wanted, off, true, false}, {wanted, wanted, true, true}, {wanted, required, true, true},
			{required, off, false, false}, {required, wanted, true, true}, {required, required, true, true},
		} {
			t.Run(fmt.Sprint(name, "/", c.server, " ", c.client), func(t *testing.T) {
				f := open(t)
				var seen happened
				cfg := authConfig(c.server, method(t, h.serverKey()))
				cfg.Events = seen.add
				srv, served := f.listen(t, cfg)
				conn, err := f.dial(t, srv.Addr(), authConfig(c.client, method(t, h.clientKey())))
				if (err == nil) != c.up || (served.Load() == 1) != c.up {
					t.Fatalf("%v, and %d Calls served", err, served.Load())
				}
				if !c.up {
					if c.server == required {
						if e := await[*rdmaio.ConnFailed](t, &seen); !errors.Is(e.Reason, rdmaio.ErrHostAuth) || !strings.Contains(e.Reason.Error(), "does not take part") {
							t.Errorf("event: %v", e)
						}
					} else if !errors.Is(err, rdmaio.ErrHostAuth) {
						t.Errorf("Dial: %v", err)
					}
					return
				}
				peer, ok := conn.Peer()
				up := await[*rdmaio.ConnUp](t, &seen)
				if ok != c.known || (up.Peer != nil) != c.known {
					t.Fatalf("peer %+v, %v; %v", peer, ok, up)
				}
				if c.known && (peer.Name != "nas1" || up.Peer.Name != "host7" || !strings.Contains(up.String(), `authenticated as "host7" by pubkey`)) {
					t.Errorf("peer %+v; %v", peer, up)
				}
			})
		}
	}
}
