package security

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
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
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// fabric is a pair of devices, and the address to listen at.
type fabric struct {
	server, client, relay verbs.Device
	addr                  string
}

// fabrics opens devices of a kind. "tls" is rdmatcp over TLS. All but rdmatcp have channel
// bindings.
var fabrics = map[string]func(t testing.TB) fabric{
	"mem": func(t testing.TB) fabric {
		net := mem.New(nil)
		open := func(name string) verbs.Device {
			return rdmaiotest.Opened(t, func() (*mem.Device, error) { return net.Open(name, nil) })
		}
		return fabric{open("server"), open("client"), open("relay"), "there"}
	},
	"rdmatcp": func(t testing.TB) fabric {
		open := func() verbs.Device { return rdmaiotest.Opened(t, openTCP) }
		return fabric{open(), open(), open(), "127.0.0.1:0"}
	},
	"tls": func(t testing.TB) fabric {
		// No end verifies the other's certificate: only host authentication can detect a relay.
		cfg := &rdmatcp.Config{TLS: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{tlstest.NewAuthority(t).Issue(nil)}}}
		open := func() verbs.Device {
			return rdmaiotest.Opened(t, func() (*rdmatcp.Device, error) { return rdmatcp.Open(cfg) })
		}
		return fabric{open(), open(), open(), "127.0.0.1:0"}
	},
}

// bubbled returns a test over a fabric. Over memory it runs in a bubble of package synctest. A test
// that waits for a Timeout takes real time over the others: a short run skips it.
func bubbled(kind string, waits bool, test func(t *testing.T)) func(t *testing.T) {
	if kind == "mem" {
		return func(t *testing.T) { synctest.Test(t, test) }
	}
	return func(t *testing.T) {
		if waits && testing.Short() {
			t.Skip("waits for a Timeout, as over memory, where that takes no time")
		}
		test(t)
	}
}

func openTCP() (*rdmatcp.Device, error) { return rdmatcp.Open(nil) }

// listen starts a server that answers each Call with a reply of 8 bytes, and counts them.
func (f fabric) listen(t testing.TB, cfg *rdmaio.Config) (*rdmaio.Server, *atomic.Int32) {
	t.Helper()
	served := new(atomic.Int32)
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		served.Add(1)
		r.Reply(rdmaio.Message{Inline: rpctest.Bytes(binary.BigEndian.Uint32(r.Message), 1, 8)}, nil)
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
	_, err = c.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: rpctest.Bytes(c.XID(), 0, 40)}})
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
	i := &issuer{key: rdmaiotest.NewHosts(t).Server}
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
func TestModesDecideWhoIsServed(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	off, wanted, required := rdmaio.HostAuthOff, rdmaio.HostAuthWanted, rdmaio.HostAuthRequired
	for name, open := range fabrics {
		for _, c := range []struct {
			server, client rdmaio.HostAuthMode
			up, known      bool
		}{
			{off, off, true, false},
			{off, wanted, true, false},
			{off, required, false, false},
			{wanted, off, true, false},
			{wanted, wanted, true, true},
			{wanted, required, true, true},
			{required, off, false, false},
			{required, wanted, true, true},
			{required, required, true, true},
		} {
			t.Run(fmt.Sprint(name, "/", c.server, " ", c.client), func(t *testing.T) {
				f := open(t)
				var seen happened
				cfg := rdmaiotest.AuthConfig(c.server, rdmaiotest.Method(t, h.ServerKey()))
				cfg.Events = seen.add
				srv, served := f.listen(t, cfg)
				conn, err := f.dial(t, srv.Addr(), rdmaiotest.AuthConfig(c.client, rdmaiotest.Method(t, h.ClientKey())))
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
				peer := conn.Peer().Host
				up := await[*rdmaio.ConnUp](t, &seen)
				if (peer != nil) != c.known || (up.Peer != nil) != c.known {
					t.Fatalf("peer %+v; %v", peer, up)
				}
				if c.known && (peer.Name != "nas1" || up.Peer.Name != "host7" || !strings.Contains(up.String(), `authenticated as "host7" by pubkey`)) {
					t.Errorf("peer %+v; %v", peer, up)
				}
			})
		}
	}
}

// R219: all kinds of identities, with chains of certificates that are longer than a Send, with the
// smallest number of credits and other sizes of messages.
func TestAllKindsOfIdentitiesWork(t *testing.T) {
	h, root := rdmaiotest.NewHosts(t), newIssuer(t)
	long := func(c *x509.Certificate) {
		for i := range 150 {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("name%d.of.a.host.with.many.names.example", i))
		}
	}
	chain := func(cfg pubkey.Config, key ed25519.PrivateKey, name string) pubkey.Config {
		cfg.Roots = root.pool()
		cfg.Chain = [][]byte{certify(t, root, key, func(c *x509.Certificate) { c.DNSNames = []string{name}; long(c) })}
		if n := len(cfg.Chain[0]); n < 5000 {
			t.Fatalf("a certificate of %d bytes is shorter than a Send", n)
		}
		return cfg
	}
	certified := [2]pubkey.Config{chain(h.ServerKey(), h.Server, "nas1"), chain(h.ClientKey(), h.Client, "host7")}
	mixed := [2]pubkey.Config{h.ServerKey(), certified[1]}
	mixed[0].Roots = root.pool()
	for name, open := range fabrics {
		for kind, m := range map[string][2]pubkey.Config{"keys": {h.ServerKey(), h.ClientKey()}, "certificates": certified, "mixed": mixed} {
			for size, change := range map[string]func(*rdmaio.Config){
				"default": func(*rdmaio.Config) {}, "one credit": func(c *rdmaio.Config) { c.Credits = 1 },
				"large": func(c *rdmaio.Config) { c.InlineSend, c.InlineRecv = 16<<10, 16<<10 },
			} {
				t.Run(name+"/"+kind+"/"+size, func(t *testing.T) {
					f := open(t)
					var seen happened
					cfg := rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, rdmaiotest.Method(t, m[0]))
					change(cfg)
					cfg.Events = seen.add
					srv, _ := f.listen(t, cfg)
					cfg = rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, rdmaiotest.Method(t, m[1]))
					change(cfg)
					conn, err := f.dial(t, srv.Addr(), cfg)
					if err != nil {
						t.Fatal(err)
					}
					peer := conn.Peer().Host
					up := await[*rdmaio.ConnUp](t, &seen)
					if peer.Name != "nas1" || up.Peer.Name != "host7" || !rdmaiotest.Public(h.Server).Equal(peer.Key) || !rdmaiotest.Public(h.Client).Equal(up.Peer.Key) {
						t.Errorf("peers %+v and %+v", peer, up.Peer)
					}
					if (peer.Certificates != nil) != (kind == "certificates") || (up.Peer.Certificates != nil) != (kind != "keys") {
						t.Errorf("%d and %d certificates", len(peer.Certificates), len(up.Peer.Certificates))
					}
				})
			}
		}
	}
}

// R220, T106: one end does not accept the other. It has the reason, and the other sees the
// connection closed. Nothing is served.
func TestRefusedIdentityIsNotServed(t *testing.T) {
	h, other, root := rdmaiotest.NewHosts(t), rdmaiotest.NewHosts(t), newIssuer(t)
	certified := func(change func(*x509.Certificate)) pubkey.Config {
		cfg := h.ServerKey()
		cfg.Chain = [][]byte{certify(t, root, h.Server, func(c *x509.Certificate) { c.DNSNames = []string{"nas1"}; change(c) })}
		return cfg
	}
	trusting := h.ClientKey()
	trusting.Keys, trusting.Roots = nil, root.pool()
	for name, c := range map[string]struct {
		server, client func(*pubkey.Config)
		base           *pubkey.Config // of the server, in place of a bare key
		byClient       bool           // the client refuses
		want           error
	}{
		"client has another key":  {client: func(c *pubkey.Config) { c.Key = other.Client }, want: hostauth.ErrUntrusted},
		"server has another key":  {server: func(c *pubkey.Config) { c.Key = other.Server }, byClient: true, want: hostauth.ErrUntrusted},
		"server has another name": {client: func(c *pubkey.Config) { c.ServerName = "nas2" }, byClient: true, want: hostauth.ErrUntrusted},
		"server refuses by a function": {server: func(c *pubkey.Config) {
			c.Verify = func(hostauth.Peer, [][]*x509.Certificate) error { return errors.New("not today") }
		}, want: hostauth.ErrUntrusted},
		"expired":         {byClient: true, want: hostauth.ErrCertificate, base: new(certified(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })), client: func(c *pubkey.Config) { *c = trusting }},
		"of another host": {byClient: true, want: hostauth.ErrCertificate, base: new(certified(func(c *x509.Certificate) { c.DNSNames = []string{"nas2"} })), client: func(c *pubkey.Config) { *c = trusting }},
		"unknown issuer": {byClient: true, want: hostauth.ErrCertificate, base: new(certified(func(*x509.Certificate) {})), client: func(c *pubkey.Config) {
			*c = trusting
			c.Roots = newIssuer(t).pool()
		}},
	} {
		for kind, open := range fabrics {
			for _, mode := range []rdmaio.HostAuthMode{rdmaio.HostAuthWanted, rdmaio.HostAuthRequired} {
				t.Run(fmt.Sprint(name, "/", kind, "/", mode), func(t *testing.T) {
					f := open(t)
					server, client := h.ServerKey(), h.ClientKey()
					if c.base != nil {
						server = *c.base
					}
					for cfg, change := range map[*pubkey.Config]func(*pubkey.Config){&server: c.server, &client: c.client} {
						if change != nil {
							change(cfg)
						}
					}
					var seen happened
					var log rdmaiotest.Log
					cfg := rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, server))
					cfg.Events, cfg.Logger = seen.add, log.Logger()
					srv, served := f.listen(t, cfg)
					_, atClient := f.dial(t, srv.Addr(), rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, client)))
					atServer := await[*rdmaio.ConnFailed](t, &seen).Reason
					own, peers := atServer, atClient
					if c.byClient {
						own, peers = atClient, atServer
					} else if !strings.Contains(log.String(), "a connection was given up") {
						t.Errorf("log: %s", log.String())
					}
					if !errors.Is(own, rdmaio.ErrHostAuth) || !errors.Is(own, c.want) {
						t.Errorf("own reason: %v, want %v", own, c.want)
					}
					if !errors.Is(peers, rdmaio.ErrHostAuth) || !errors.Is(peers, verbs.ErrPeerDisconnected) || errors.Is(peers, c.want) {
						t.Errorf("the other end: %v, want %v", peers, verbs.ErrPeerDisconnected)
					}
					if served.Load() != 0 || len(srv.Conns()) != 0 {
						t.Errorf("%d Calls served, %d connections", served.Load(), len(srv.Conns()))
					}
				})
			}
		}
	}
}

// A client without host authentication at a server that requires it: the error of the Call names
// host authentication. A server that only wants it, and closes after a reply, is not suspected.
func TestMissingHostAuthIsNamed(t *testing.T) {
	for kind, open := range fabrics {
		t.Run(kind, func(t *testing.T) {
			h := rdmaiotest.NewHosts(t)
			for _, mode := range []rdmaio.HostAuthMode{rdmaio.HostAuthRequired, rdmaio.HostAuthWanted} {
				f := open(t)
				s, err := rdmaio.Listen(context.Background(), f.server, f.addr, rpctest.Quick(nil), rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ServerKey())))
				if err != nil {
					t.Fatal(err)
				}
				c, err := rdmaio.Dial(context.Background(), f.client, s.Addr(), &rdmaio.Config{Versions: []int{2}})
				if err == nil {
					_, err = c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
				}
				required := mode == rdmaio.HostAuthRequired
				if required && !errors.Is(err, verbs.ErrPeerDisconnected) || !required && err != nil {
					t.Errorf("server %v: the Call ended with %v", mode, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if c == nil {
					continue
				}
				<-c.Done()
				if named := strings.Contains(c.Err().Error(), "set Config.HostAuth here"); named != required {
					t.Errorf("server %v: %v, host authentication is named %v", mode, c.Err(), named)
				}
				if required && !strings.Contains(err.Error(), "set Config.HostAuth here") {
					t.Errorf("the Call's error does not name host authentication: %v", err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A server that closes the connection before it answers a Call may require host authentication that
// an attacker on the path has hidden: the error names that where this side wants it, and property 6
// is missing. After an answer it is not suspected, and without host authentication here only if the
// server has it.
func TestRemovedHostAuthIsNamed(t *testing.T) {
	const off, absent = "set Config.HostAuth here", "an attacker on the path may have removed property 6"
	h := rdmaiotest.NewHosts(t)
	for name, c := range map[string]struct {
		mode     rdmaio.HostAuthMode
		has      bool // the server has property 6
		answered bool
		want     string
	}{
		"wanted, removed":              {rdmaio.HostAuthWanted, false, false, absent},
		"wanted, removed and answered": {rdmaio.HostAuthWanted, false, true, ""},
		"off, there":                   {rdmaio.HostAuthOff, true, false, off},
		"off, there and answered":      {rdmaio.HostAuthOff, true, true, ""},
		"off, absent":                  {rdmaio.HostAuthOff, false, false, ""},
	} {
		for kind, open := range fabrics {
			t.Run(name+"/"+kind, func(t *testing.T) {
				cfg := &rdmaio.Config{Versions: []int{2}}
				if c.mode != rdmaio.HostAuthOff {
					cfg = rdmaiotest.AuthConfig(c.mode, rdmaiotest.Method(t, h.ClientKey()))
				}
				var server *peer2.Peer
				conn, err := open(t).rawAccept(t, cfg, func(p *peer2.Peer) {
					server = p
					m := p.Next()
					var set []peer2.Property
					if c.has {
						set = append(set, opaque())
					}
					p.Send(peer2.Props(m.XID, set...))
				})
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					_, err := conn.Call(context.Background(), rpctest.NullCall(conn.XID(), 40))
					done <- err
				}()
				if call := server.Next(); c.answered {
					server.Send(peer2.Reply(call.XID, rpctest.Bytes(call.XID, 1, 8)))
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if err := server.QP.Disconnect(); err != nil {
					t.Error(err)
				}
				<-conn.Done()
				ends := []error{conn.Err()}
				if !c.answered {
					ends = append(ends, <-done)
				}
				for _, err := range ends {
					named := strings.Contains(err.Error(), off) || strings.Contains(err.Error(), absent)
					if !errors.Is(err, verbs.ErrPeerDisconnected) || !strings.Contains(err.Error(), c.want) || named != (c.want != "") ||
						c.want == absent && strings.Contains(err.Error(), off) || errors.Is(err, rdmaio.ErrHostAuth) {
						t.Errorf("%v, want a disconnect with %q", err, c.want)
					}
				}
			})
		}
	}
}
