package security

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// opaque returns property 6 with a value. Without bytes, it says that the sender takes part.
func opaque(value ...byte) peer2.Property {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(value)))
	b = append(b, value...)
	return peer2.Property{ID: peer2.HostAuth, Data: append(b, make([]byte, -len(value)&3)...)}
}

// valueOf returns the value of property 6 in a message, or nil.
func valueOf(m *peer2.Message) []byte {
	for _, p := range m.Set {
		if p.ID == peer2.HostAuth {
			return p.Data[4 : 4+binary.BigEndian.Uint32(p.Data)]
		}
	}
	return nil
}

// setOf returns the XDR of the properties other than 6, ordered by code.
func setOf(m *peer2.Message) (b []byte) {
	set := slices.Clone(m.Set)
	slices.SortFunc(set, func(a, b peer2.Property) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range set {
		if p.ID != peer2.HostAuth {
			b = binary.BigEndian.AppendUint32(b, p.ID)
			b = binary.BigEndian.AppendUint32(b, uint32(len(p.Data)))
			b = append(b, p.Data...)
		}
	}
	return b
}

// rawDial connects a raw client to a server.
func (f fabric) rawDial(t *testing.T, addr string) *peer2.Peer {
	t.Helper()
	p := peer2.New(t, f.client, peer2.Config{Client: true})
	p.Dial(f.client, addr, nil)
	return p
}

// prove authenticates a raw client, in values of any size. The last value of the server is not
// read.
func prove(t *testing.T, p *peer2.Peer, m hostauth.Method) {
	t.Helper()
	hello := peer2.Props(1, opaque(), peer2.Property{ID: 777, Data: []byte("it is")})
	p.Send(hello)
	answer := p.Next()
	if v := valueOf(&answer); v == nil || len(v) != 0 {
		t.Fatalf("the server does not take part: %v", answer)
	}
	binding, err := verbs.BindingOf(p.QP)
	if err != nil && !errors.Is(err, verbs.ErrNotSupported) {
		t.Fatal(err)
	}
	sent := append(binary.BigEndian.AppendUint32(nil, 777), "\x00\x00\x00\x05it is\x00\x00\x00"...)
	s, err := hostauth.NewSession(m, hostauth.Info{Role: hostauth.Client, Sent: sent, Received: setOf(&answer), Binding: hostauth.Binding(binding)}, hostauth.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for step, err := s.Begin(); ; {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range step.Values(1100) {
			p.Send(peer2.Props(1, opaque(v...)))
		}
		if step.Done {
			return
		}
		next := p.Next()
		step, err = s.ReceiveValue(valueOf(&next))
	}
}

// chatty is a Method that never finishes: each end answers every message.
type chatty struct{}

func (chatty) Start(hostauth.Info) (hostauth.Exchange, error) { return chatty{}, nil }
func (chatty) Begin() (hostauth.Step, error)                  { return hostauth.Step{}, nil }
func (chatty) Receive([]byte) (hostauth.Step, error)          { return hostauth.Step{Send: true}, nil }
func (chatty) Peer() (hostauth.Peer, bool)                    { return hostauth.Peer{}, false }

// T106, T107, R312: a client that breaks the rules of host authentication loses its connection. The
// server says why to its own log alone. No Call is served, no chunk is read. An honest client is
// served at the same time.
func TestHostileClientIsNotAuthenticated(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	call := func(p *peer2.Peer, more ...peertest.Segment) {
		m := peer2.Call(9, rpctest.Bytes(9, 0, 40))
		m.Reads = more
		p.Send(m)
	}
	announce := func(p *peer2.Peer) {
		p.Send(peer2.Props(1, opaque()))
		p.Next()
	}
	values := func(list ...[]byte) func(*testing.T, *peer2.Peer) {
		return func(_ *testing.T, p *peer2.Peer) {
			announce(p)
			for _, v := range list {
				p.Send(peer2.Props(1, opaque(v...)))
			}
		}
	}
	type attack struct {
		run    func(t *testing.T, p *peer2.Peer)
		kind   error // of package hostauth; nil: of this package
		text   string
		method hostauth.Method // nil: signatures
		hurry  bool            // the server's patience is short
		wanted bool            // the same with HostAuthWanted
	}
	for name, a := range map[string]attack{
		"nothing at all":      {run: func(*testing.T, *peer2.Peer) {}, text: "Timeout", hurry: true},
		"no property 6":       {run: func(_ *testing.T, p *peer2.Peer) { p.Send(peer2.Props(1)) }, text: "does not take part"},
		"silence":             {run: func(_ *testing.T, p *peer2.Peer) { announce(p) }, text: "Timeout", hurry: true, wanted: true},
		"a message too early": {run: func(_ *testing.T, p *peer2.Peer) { p.Send(peer2.Props(1, opaque(0, 1))) }, text: "must be empty", wanted: true},
		"T107: a Call first":  {run: func(_ *testing.T, p *peer2.Peer) { call(p) }, text: "a Call before"},
		"T107: a Call instead": {run: func(_ *testing.T, p *peer2.Peer) {
			announce(p)
			call(p)
		}, text: "a Call before", wanted: true},
		"T107: a Call with a read chunk": {run: func(_ *testing.T, p *peer2.Peer) {
			announce(p)
			call(p, peertest.Segment{Position: 40, Key: 1, Length: 1 << 20, Addr: 1 << 20})
		}, text: "a Call before", wanted: true},
		"T107: a part of a Call": {run: func(_ *testing.T, p *peer2.Peer) {
			announce(p)
			p.Send(peer2.Call(9, rpctest.Bytes(9, 0, 40)).Split(20)[0])
		}, text: "a Call before", wanted: true},
		"T107: a Call in the middle": {run: func(t *testing.T, p *peer2.Peer) {
			announce(p)
			p.Send(peer2.Props(1, opaque(1)))
			call(p)
		}, text: "a part of 0 bytes", wanted: true},
		"garbage":         {run: values(append([]byte{0}, bytes.Repeat([]byte("garbage"), 100)...)), kind: hostauth.ErrVersion, wanted: true},
		"unknown kind":    {run: values([]byte{200}), kind: hostauth.ErrMalformed, wanted: true},
		"announced again": {run: values([]byte{}), kind: hostauth.ErrMalformed, wanted: true},
		"done at once":    {run: values([]byte{3}), kind: hostauth.ErrOrder, wanted: true},
		"empty message":   {run: values([]byte{0}), kind: hostauth.ErrMalformed, wanted: true},
		"small parts":     {run: values([]byte{1, 2, 3}), kind: hostauth.ErrMalformed, wanted: true},
		// The last value is the first one over the limit.
		"T106: endless part":   {run: values(slices.Repeat([][]byte{append([]byte{1}, make([]byte, 3900)...)}, 17)...), kind: hostauth.ErrLimit, text: "66300 bytes", wanted: true},
		"T106: endless rounds": {run: values(slices.Repeat([][]byte{{0, 1}}, 9)...), kind: hostauth.ErrLimit, text: "more than 8 messages", method: chatty{}, wanted: true},
		"T106: 1 GiB": {run: func(_ *testing.T, p *peer2.Peer) {
			announce(p)
			p.Send(peer2.Props(1, peer2.Property{ID: peer2.HostAuth, Data: []byte{0x40, 0, 0, 0, 1, 2, 3, 4}}))
		}, text: "Timeout", hurry: true, wanted: true},
		"after the end": {run: func(t *testing.T, p *peer2.Peer) {
			prove(t, p, rdmaiotest.Method(t, h.ClientKey()))
			p.Next()
			p.Send(peer2.Props(1, opaque(0, 1)))
		}, text: "after both ends were done", wanted: true},
	} {
		modes := []rdmaio.HostAuthMode{rdmaio.HostAuthRequired, rdmaio.HostAuthWanted}
		if !a.wanted {
			modes = modes[:1]
		}
		for kind, open := range fabrics {
			for _, mode := range modes {
				t.Run(name+"/"+kind+"/"+mode.String(), bubbled(kind, a.hurry, func(t *testing.T) {
					f := open(t)
					var log rdmaiotest.Log
					cfg := rdmaiotest.AuthConfig(mode, a.method)
					if a.method == nil {
						cfg.HostAuth.Method = rdmaiotest.Method(t, h.ServerKey())
					}
					if a.hurry {
						cfg.HostAuth.Timeout = 300 * time.Millisecond
					}
					ended := make(chan error, 2)
					cfg.Logger = log.Logger()
					cfg.Events = func(e rdmaio.Event) {
						switch e := e.(type) {
						case *rdmaio.ConnFailed:
							ended <- e.Reason
						case *rdmaio.ConnDown:
							ended <- e.Reason
						}
					}
					srv, served := f.listen(t, cfg)
					p := f.rawDial(t, srv.Addr())
					a.run(t, p)
					p.Ends()
					var reason error
					select {
					case reason = <-ended:
					case <-time.After(peertest.Patience):
						t.Fatal("no event of the end")
					}
					if !errors.Is(reason, rdmaio.ErrHostAuth) || a.kind != nil && !errors.Is(reason, a.kind) || !strings.Contains(reason.Error(), a.text) {
						t.Errorf("reason %v, want %v with %q", reason, a.kind, a.text)
					}
					if !strings.Contains(log.String(), "a connection was given up") {
						t.Errorf("log: %s", log.String())
					}
					if !errors.Is(p.QP.Err(), verbs.ErrPeerDisconnected) {
						t.Errorf("the client sees %v", p.QP.Err())
					}
					if served.Load() != 0 {
						t.Errorf("%d Calls served", served.Load())
					}
					if a.method == nil {
						if _, err := f.dial(t, srv.Addr(), rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ClientKey()))); err != nil {
							t.Errorf("an honest client: %v", err)
						}
					}
				}))
			}
		}
	}
}

// A raw client that proves its key is served, once the server has said that it is done, with a
// property that the server does not know. One with HostAuthWanted is served, too, if it calls
// first, and remains without an identity.
func TestRawClientMayProveItsKey(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	for kind, open := range fabrics {
		for _, proved := range []bool{true, false} {
			t.Run(kind, func(t *testing.T) {
				f := open(t)
				var seen happened
				mode := rdmaio.HostAuthRequired
				if !proved {
					mode = rdmaio.HostAuthWanted
				}
				cfg := rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ServerKey()))
				cfg.Events = seen.add
				srv, served := f.listen(t, cfg)
				p := f.rawDial(t, srv.Addr())
				if proved {
					prove(t, p, rdmaiotest.Method(t, h.ClientKey()))
					if m := p.Next(); !bytes.Equal(valueOf(&m), []byte{3}) {
						t.Fatalf("%v, want that the server is done", m)
					}
				}
				p.Send(peer2.Call(9, rpctest.Bytes(9, 0, 40)))
				if m := p.Next(); !m.IsReply() || served.Load() != 1 {
					t.Fatalf("%v", m)
				}
				if up := await[*rdmaio.ConnUp](t, &seen); (up.Peer != nil) != proved {
					t.Errorf("%v", up)
				}
				if !proved { // too late
					p.Send(peer2.Props(10, opaque()))
					p.Send(peer2.Props(10, opaque(0, 1, 2)))
					p.Send(peer2.Call(11, rpctest.Bytes(11, 0, 40)))
					for m := p.Next(); !m.IsReply(); m = p.Next() {
					}
				}
			})
		}
	}
}

// rawAccept starts a listener of the relay's device, and dials it. run plays the server.
func (f fabric) rawAccept(t *testing.T, cfg *rdmaio.Config, run func(p *peer2.Peer)) (*rdmaio.Conn, error) {
	t.Helper()
	ln, err := f.server.Listen(context.Background(), f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := peer2.New(t, f.server, peer2.Config{})
	type dialed struct {
		c   *rdmaio.Conn
		err error
	}
	done := make(chan dialed, 1)
	go func() {
		c, err := rdmaio.Dial(context.Background(), f.client, ln.Addr(), cfg)
		done <- dialed{c, err}
	}()
	if !p.Accept(ln, nil) {
		t.FailNow()
	}
	run(p)
	d := <-done
	if d.err == nil {
		t.Cleanup(func() { _ = d.c.Close() })
	}
	return d.c, d.err
}

// R220, T106: a server that breaks the rules of host authentication is not dialed. One without host
// authentication is, with HostAuthWanted. A client's message that is reflected to it does not prove
// anything.
func TestHostileServerIsNotDialed(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	both := func(cfg *rdmaio.Config) { // one key at both ends
		same := h.ClientKey()
		same.Keys["nas1"] = rdmaiotest.Public(h.Client)
		cfg.HostAuth.Method = rdmaiotest.Method(t, same)
	}
	for name, c := range map[string]struct {
		run    func(p *peer2.Peer)
		change func(*rdmaio.Config)
		kind   error
		text   string
		hurry  bool // the client's patience is short
		wanted bool // with HostAuthWanted, Dial succeeds
	}{
		"no property 6": {run: func(p *peer2.Peer) {
			m := p.Next()
			p.Send(peer2.Props(m.XID))
		}, text: "does not take part", wanted: true},
		"no properties": {run: func(p *peer2.Peer) {
			p.Next()
			p.Send(peer2.Grant())
		}, hurry: true, text: "Timeout", wanted: true},
		"silence": {run: func(p *peer2.Peer) {
			m := p.Next()
			p.Send(peer2.Props(m.XID, opaque()))
		}, hurry: true, text: "Timeout"},
		"reflection": {run: func(p *peer2.Peer) {
			m := p.Next()
			p.Send(peer2.Props(m.XID, opaque()))
			m = p.Next()
			p.Send(peer2.Props(m.XID, opaque(valueOf(&m)...)))
		}, kind: hostauth.ErrReflected, change: both},
		"done without a proof": {run: func(p *peer2.Peer) {
			m := p.Next()
			p.Send(peer2.Props(m.XID, opaque()))
			p.Next()
			p.Send(peer2.Props(m.XID, opaque(3)))
		}, kind: hostauth.ErrOrder},
		"a reverse Call": {run: func(p *peer2.Peer) {
			m := p.Next()
			p.Send(peer2.Props(m.XID, opaque()))
			p.Next()
			p.Send(peer2.Call(5, rpctest.Bytes(5, 0, 40)))
		}, text: "a Call before", change: func(cfg *rdmaio.Config) {
			cfg.ReverseHandler = rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				t.Error("a reverse Call is served")
				r.Drop(nil)
			})
		}},
	} {
		for kind, open := range fabrics {
			for _, mode := range []rdmaio.HostAuthMode{rdmaio.HostAuthRequired, rdmaio.HostAuthWanted} {
				t.Run(name+"/"+kind+"/"+mode.String(), bubbled(kind, c.hurry, func(t *testing.T) {
					cfg := rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ClientKey()))
					if c.change != nil {
						c.change(cfg)
					}
					if c.hurry {
						cfg.HostAuth.Timeout = 100 * time.Millisecond
					}
					conn, err := open(t).rawAccept(t, cfg, c.run)
					if c.wanted && mode == rdmaio.HostAuthWanted {
						if err != nil {
							t.Fatal(err)
						}
						if peer := conn.Peer().Host; peer != nil {
							t.Errorf("peer %+v", peer)
						}
						return
					}
					if !errors.Is(err, rdmaio.ErrHostAuth) || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
						t.Errorf("got %v, want %v with %q", err, c.kind, c.text)
					}
				}))
			}
		}
	}
}

// refusing is a Method that fails a while after the channel is closed.
type refusing struct{ after chan struct{} }

func (r refusing) Start(hostauth.Info) (hostauth.Exchange, error) {
	<-r.after
	time.Sleep(20 * time.Millisecond)
	return nil, errors.New("not on Sundays")
}

// The first failure is the reason, also where a Call of the peer is received before the connection
// is closed. Notifications of the server come late, so that the Call arrives while the Method runs.
func TestFirstFailureIsTheReason(t *testing.T) {
	for name, open := range fabrics {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.server = fault.New(fault.Config{Rate: map[fault.Kind]float64{fault.DelayNotify: 1}}).Device(f.server)
			var seen happened
			sent := make(chan struct{})
			cfg := rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, refusing{sent})
			cfg.Events = seen.add
			srv, served := f.listen(t, cfg)
			p := f.rawDial(t, srv.Addr())
			p.Send(peer2.Props(1, opaque()))
			p.Send(peer2.Call(9, rpctest.Bytes(9, 0, 40)))
			close(sent)
			p.Ends()
			e := await[*rdmaio.ConnFailed](t, &seen)
			if !errors.Is(e.Reason, rdmaio.ErrHostAuth) || !strings.Contains(e.Reason.Error(), "not on Sundays") || served.Load() != 0 {
				t.Errorf("event: %v; %d Calls served", e, served.Load())
			}
		})
	}
}
