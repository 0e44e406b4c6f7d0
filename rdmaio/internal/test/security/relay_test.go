package security

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// relay is an attacker between a client and a server: it accepts the client, dials the server, and
// passes on every message. It returns the result of the client's Dial, and the messages that the
// client has sent.
func (f fabric) relayed(t *testing.T, addr string, cfg *rdmaio.Config, change func(client bool, b []byte) []byte) (sent [][]byte, err error) {
	t.Helper()
	listenAt := strings.Replace(f.addr, "there", "the server, as the client believes", 1)
	ln, err := f.relay.Listen(context.Background(), listenAt)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	toClient, toServer := peertest.NewSized(t, f.relay, 40, 4096), peertest.NewSized(t, f.relay, 40, 4096)
	done := make(chan error, 1)
	go func() {
		_, err := f.dial(t, ln.Addr(), cfg)
		done <- err
	}()
	if !toClient.Accept(ln, nil) {
		t.FailNow()
	}
	toServer.Dial(f.relay, addr, nil)
	for {
		select {
		case err := <-done:
			return sent, err
		case <-toServer.Lost:
			_ = toClient.QP.Disconnect()
			return sent, <-done
		case <-toClient.Lost:
			_ = toServer.QP.Disconnect()
			return sent, <-done
		default:
		}
		if b := toClient.Message(time.Millisecond); b != nil {
			sent = append(sent, b)
			pass(toServer, change(true, b))
		}
		if b := toServer.Message(time.Millisecond); b != nil {
			pass(toClient, change(false, b))
		}
	}
}

// pass sends a message on a connection that may be lost.
func pass(to *peertest.Peer, b []byte) {
	if to.QP.State() == verbs.StateConnected {
		to.Send(b)
	}
}

func unchanged(_ bool, b []byte) []byte { return b }

// R312: without a channel binding, a relay that changes nothing is not noticed: both ends believe
// that they are connected to each other, and the relay reads and can change all that follows. With
// a binding of the two connections it is refused, before a Call.
func TestRelayIsNoticedByTheBinding(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	for kind, open := range fabrics {
		t.Run(kind, func(t *testing.T) {
			f := open(t)
			var seen happened
			cfg := rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, rdmaiotest.Method(t, h.ServerKey()))
			cfg.Events = seen.add
			srv, served := f.listen(t, cfg)
			sent, err := f.relayed(t, srv.Addr(), rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, rdmaiotest.Method(t, h.ClientKey())), unchanged)
			if kind == "rdmatcp" {
				if up := await[*rdmaio.ConnUp](t, &seen); err != nil || served.Load() != 1 || up.Peer.Name != "host7" {
					t.Errorf("the relay was noticed: %v, %d Calls served, %v", err, served.Load(), up)
				}
				if m, err := peer2.Parse(sent[len(sent)-1]); err != nil || !m.IsCall() || len(m.Payload) != 40 {
					t.Errorf("the relay has not seen the Call: %v, %v", m, err)
				}
				return
			}
			if !errors.Is(err, hostauth.ErrTranscript) || !strings.Contains(err.Error(), "channel binding") || served.Load() != 0 {
				t.Errorf("%v, %d Calls served; want %v", err, served.Load(), hostauth.ErrTranscript)
			}
		})
	}
}

// A method may refuse connections without a binding. Then the relay has no chance.
func TestMethodMayRequireABinding(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	strict := func(cfg pubkey.Config) hostauth.Method {
		cfg.RequireBinding = true
		return rdmaiotest.Method(t, cfg)
	}
	for kind, open := range fabrics {
		t.Run(kind, func(t *testing.T) {
			f := open(t)
			srv, served := f.listen(t, rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, strict(h.ServerKey())))
			_, err := f.dial(t, srv.Addr(), rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, strict(h.ClientKey())))
			if bound := kind != "rdmatcp"; (err == nil) != bound || served.Load() == 1 != bound {
				t.Errorf("%v, %d Calls served", err, served.Load())
			}
		})
	}
}

// A relay that changes a property, or removes host authentication, is noticed without a binding,
// too. The latter only where one end requires it (R220).
func TestChangedPropertyIsNoticed(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	property := func(client bool, b []byte) []byte {
		m, err := peer2.Parse(b)
		if err != nil || m.Type != peer2.ConnProp || !client || len(valueOf(&m)) > 0 {
			return b
		}
		m.Set[0] = peer2.Prop(peer2.SendSize, 8192)
		return m.Bytes()
	}
	removed := func(_ bool, b []byte) []byte {
		m, err := peer2.Parse(b)
		if err != nil || m.Type != peer2.ConnProp {
			return b
		}
		for i, p := range m.Set {
			if p.ID == peer2.HostAuth {
				m.Set = append(m.Set[:i], m.Set[i+1:]...)
				break
			}
		}
		return m.Bytes()
	}
	for name, c := range map[string]struct {
		mode   rdmaio.HostAuthMode
		change func(bool, []byte) []byte
		want   error
	}{
		"property":          {rdmaio.HostAuthWanted, property, hostauth.ErrTranscript},
		"removed, wanted":   {rdmaio.HostAuthWanted, removed, nil},
		"removed, required": {rdmaio.HostAuthRequired, removed, rdmaio.ErrHostAuth},
	} {
		t.Run(name, func(t *testing.T) {
			f := fabrics["rdmatcp"](t)
			srv, served := f.listen(t, rdmaiotest.AuthConfig(c.mode, rdmaiotest.Method(t, h.ServerKey())))
			_, err := f.relayed(t, srv.Addr(), rdmaiotest.AuthConfig(c.mode, rdmaiotest.Method(t, h.ClientKey())), c.change)
			// Where the property is required, the server refuses, too: its disconnect can overtake
			// its properties.
			disconnected := c.want == rdmaio.ErrHostAuth && errors.Is(err, verbs.ErrPeerDisconnected)
			if !errors.Is(err, c.want) && !disconnected || (err == nil) != (served.Load() == 1) {
				t.Errorf("%v, %d Calls served; want %v", err, served.Load(), c.want)
			}
		})
	}
}

// Messages of an exchange that succeeded do not let in the attacker that has recorded them, at
// whatever server, nor does what a server has sent.
func TestReplayedExchangeIsRefused(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	f := fabrics["rdmatcp"](t) // without a binding, which alone would stop the attack
	var seen happened
	cfg := rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, rdmaiotest.Method(t, h.ServerKey()))
	srv, served := f.listen(t, cfg)
	var answers [][]byte
	sent, err := f.relayed(t, srv.Addr(), rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, rdmaiotest.Method(t, h.ClientKey())), func(client bool, b []byte) []byte {
		if !client {
			answers = append(answers, b)
		}
		return b
	})
	if err != nil || served.Load() != 1 {
		t.Fatal(err)
	}
	cfg.Events = seen.add
	cfg.HostAuth.Method = rdmaiotest.Method(t, h.ServerKey())
	f.addr = "127.0.0.1:0"
	again, servedAgain := f.listen(t, cfg)
	play := func(t *testing.T, messages [][]byte) error {
		t.Helper()
		p := f.rawDial(t, again.Addr())
		for i, b := range messages {
			m, err := peer2.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if m.Type != peer2.ConnProp {
				continue
			}
			p.Send(m)
			const clientHello = 1
			if v := valueOf(&m); i == 0 || len(v) > 4 && v[4] == clientHello {
				p.Next()
			}
		}
		p.Ends()
		seen.mu.Lock()
		defer seen.mu.Unlock()
		for len(seen.all) == 0 {
			seen.mu.Unlock()
			time.Sleep(time.Millisecond)
			seen.mu.Lock()
		}
		e := seen.all[0].(*rdmaio.ConnFailed)
		seen.all = nil
		return e.Reason
	}
	if err := play(t, sent); !errors.Is(err, hostauth.ErrTranscript) {
		t.Errorf("replay: %v, want %v", err, hostauth.ErrTranscript)
	}
	if err := play(t, answers[:2]); !errors.Is(err, hostauth.ErrOrder) {
		t.Errorf("messages of a server: %v, want %v", err, hostauth.ErrOrder)
	}
	if servedAgain.Load() != 0 {
		t.Error("the attacker was served")
	}
}

// Version 1 has no host authentication. With HostAuthRequired neither end falls back to it, and
// with HostAuthWanted the peer has no identity.
func TestVersion1HasNoHostAuth(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	for kind, open := range fabrics {
		for _, mode := range []rdmaio.HostAuthMode{rdmaio.HostAuthWanted, rdmaio.HostAuthRequired} {
			t.Run(kind+"/"+mode.String(), func(t *testing.T) {
				f := open(t)
				old, _ := f.listen(t, &rdmaio.Config{Versions: []int{1}})
				f.addr = strings.Replace(f.addr, "there", "there, too", 1)
				guarded, served := f.listen(t, rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ServerKey())))
				conn, err := f.dial(t, old.Addr(), rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ClientKey())))
				_, atServer := f.dial(t, guarded.Addr(), &rdmaio.Config{Versions: []int{1}})
				if c, failed := rdmaio.NewClient(f.client, old.Addr(), &rdmaio.ClientConfig{Conn: rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ClientKey())), DialFailures: 3, MinBackoff: -1}); failed != nil {
					t.Error(failed)
				} else {
					for range 3 { // it must not learn to begin with version 1
						_, failed = c.Call(context.Background(), &rdmaio.Call{Message: rdmaio.Message{Inline: rpctest.Bytes(c.XID(), 0, 40)}})
						if (failed == nil) != (err == nil) || failed != nil && !errors.Is(failed, rdmaio.ErrNoVersion) {
							t.Errorf("Client: %v", failed)
						}
					}
					_ = c.Close()
				}
				if mode == rdmaio.HostAuthRequired {
					if !errors.Is(err, rdmaio.ErrNoVersion) || !strings.Contains(err.Error(), "excludes version 1") || atServer == nil || served.Load() != 0 {
						t.Errorf("client: %v; server: %v, %d Calls served", err, atServer, served.Load())
					}
					return
				}
				if err != nil || atServer != nil || conn.Terms().Version != 1 {
					t.Fatalf("client: %v; server: %v", err, atServer)
				}
				if peer := conn.Peer().Host; peer != nil {
					t.Errorf("peer %+v", peer)
				}
			})
		}
	}
}

// countedMethod counts the exchanges of a Method.
type countedMethod struct {
	hostauth.Method
	n atomic.Int32
}

func (c *countedMethod) Start(info hostauth.Info) (hostauth.Exchange, error) {
	c.n.Add(1)
	return c.Method.Start(info)
}

// A Client authenticates on each of its connections. A server that it does not accept fails its
// Calls at once.
func TestClientAuthenticatesEachConnection(t *testing.T) {
	h := rdmaiotest.NewHosts(t)
	for kind, open := range fabrics {
		t.Run(kind, func(t *testing.T) {
			f := open(t)
			srv, served := f.listen(t, rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, rdmaiotest.Method(t, h.ServerKey())))
			m := &countedMethod{Method: rdmaiotest.Method(t, h.ClientKey())}
			call := func(m hostauth.Method, losses int) error {
				c, err := rdmaio.NewClient(f.client, srv.Addr(), &rdmaio.ClientConfig{Conn: rdmaiotest.AuthConfig(rdmaio.HostAuthRequired, m), MinBackoff: -1})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				ctx, cancel := context.WithTimeout(context.Background(), peertest.Patience)
				defer cancel()
				for i := range losses + 1 {
					if i > 0 {
						for _, conn := range srv.Conns() {
							conn.Close()
						}
					}
					if _, err := c.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: rpctest.Bytes(c.XID(), 0, 40)}}); err != nil {
						return err
					}
				}
				return nil
			}
			if err := call(m, 2); err != nil || m.n.Load() != 3 || served.Load() != 3 {
				t.Errorf("%v, authenticated %d times, %d Calls served; want 3", err, m.n.Load(), served.Load())
			}
			wrong := h.ClientKey()
			wrong.ServerName = "nas2"
			if err := call(rdmaiotest.Method(t, wrong), 0); !errors.Is(err, hostauth.ErrUntrusted) || served.Load() != 3 {
				t.Errorf("%v, %d Calls served", err, served.Load())
			}
		})
	}
}

// Settings that cannot work are refused, with the field and the remedy.
func TestHostAuthConfigIsRefusedByItsField(t *testing.T) {
	m := rdmaiotest.Method(t, rdmaiotest.NewHosts(t).ServerKey())
	f := fabrics["mem"](t)
	for _, c := range []struct {
		versions []int
		auth     rdmaio.HostAuth
		want     string
	}{
		{[]int{2}, rdmaio.HostAuth{Mode: rdmaio.HostAuthRequired}, "HostAuth.Mode is required and Method nil"},
		{[]int{2}, rdmaio.HostAuth{Mode: 3, Method: m}, "HostAuth.Mode is mode 3, must be"},
		{nil, rdmaio.HostAuth{Mode: rdmaio.HostAuthRequired, Method: m}, "Versions [1], must have 2"},
		{nil, rdmaio.HostAuth{Mode: rdmaio.HostAuthWanted, Method: m}, ""},
		{nil, rdmaio.HostAuth{Method: m}, ""},
	} {
		_, err := rdmaio.NewClient(f.client, "there", &rdmaio.ClientConfig{Conn: &rdmaio.Config{Versions: c.versions, HostAuth: c.auth}})
		if c.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.auth, err)
			}
			continue
		}
		if !errors.Is(err, verbs.ErrInvalidValue) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.auth, err, c.want)
		}
	}
}
