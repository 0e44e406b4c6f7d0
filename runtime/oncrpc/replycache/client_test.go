package replycache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// A client with an identity keeps its replies when its address changes, and gets no reply of
// another client with its address (R288). A certificate that is not verified is not an identity.
func TestIdentityIsTheClient(t *testing.T) {
	tls := func(verified bool, certificate string) oncrpc.Peer {
		return oncrpc.Peer{TLS: &oncrpc.TLSState{PeerCertificates: [][]byte{[]byte(certificate)}, Verified: verified}}
	}
	host := func(name string) oncrpc.Peer {
		return oncrpc.Peer{Host: &oncrpc.HostIdentity{Method: "m", Name: name}}
	}
	for _, tt := range []struct {
		name          string
		first, second oncrpc.Peer
		from          string // second
		same          bool
	}{
		{"no identity, the same host", oncrpc.Peer{}, oncrpc.Peer{}, "192.0.2.1", true},
		{"no identity, another host", oncrpc.Peer{}, oncrpc.Peer{}, "192.0.2.2", false},
		{"certificate, another host", tls(true, "a"), tls(true, "a"), "192.0.2.2", true},
		{"another certificate, the same host", tls(true, "a"), tls(true, "b"), "192.0.2.1", false},
		{"a claimed certificate, another host", tls(false, "a"), tls(false, "a"), "192.0.2.2", false},
		{"a claim of the first one's certificate", tls(true, "a"), tls(false, "a"), "192.0.2.1", false},
		{"host authentication, another host", host("a"), host("a"), "192.0.2.2", true},
		{"another host name, the same host", host("a"), host("b"), "192.0.2.1", false},
		{"no identity the second time", host("a"), oncrpc.Peer{}, "192.0.2.1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, nil)
			first, second := d.conn("192.0.2.1"), d.conn(tt.from)
			first.peer, second.peer = tt.first, tt.second
			d.ran(first, 7, true)
			first.lost()
			d.ran(second, 7, !tt.same)
		})
	}
}

// user is the Responder of a Call with RPCSEC_GSS.
type user struct {
	oncrpc.Responder
	name string
}

func (u *user) Principal() string { return u.name }

// The principal that a Call has proved is the client, whatever the host (R288).
func TestPrincipalIsTheClient(t *testing.T) {
	for _, name := range []string{"alice", "bob"} {
		d := newDesk(t, nil)
		first, second := d.conn("192.0.2.1"), d.conn("192.0.2.2")
		as := func(c *fuzzConn, name string) {
			x := d.call(c, 8)
			x.request.Responder = &user{x, name}
			x.request.Message[3]++ // Call 9, of this user
			x.Serve(d.cache)
		}
		as(first, "alice")
		first.lost()
		before := d.executed.Load()
		as(second, name)
		// Call 8 was executed, too.
		if got, want := d.executed.Load()-before == 2, name != "alice"; got != want {
			t.Errorf("the Call of %s was executed: %v, want %v", name, got, want)
		}
	}
}

// datagrams is a peer over UDP. Its conn is down, as after the last reply to the peer.
type datagrams struct {
	*conn
	addr string
}

func (d *datagrams) RemoteAddr() string { return d.addr }
func (*datagrams) Network() string      { return oncrpc.NetIDUDP }

// Over UDP a client sends a Call again from the same port, so that another port is another client,
// which need not wait (R288).
func TestPortIsAPartOfAClientOverUDP(t *testing.T) {
	executed := 0
	cache := replycache.New(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		executed++
		b, _ := oncrpc.NewReply(7, oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: b}, nil)
	}), nil)
	for i, tt := range []struct {
		addr     string
		executed int
	}{{"192.0.2.1:700", 1}, {"192.0.2.1:700", 1}, {"192.0.2.1:701", 2}, {"192.0.2.1:700", 2}, {"192.0.2.2:700", 3}} {
		ctx, end := context.WithCancel(t.Context())
		c := &conn{ctx: ctx}
		r, replied := request(c)
		r.Responder.(*responder).as = &datagrams{c, tt.addr}
		cache.ServeRPC(r)
		if <-replied; executed != tt.executed {
			t.Errorf("Call %d, from %s: executed %d times, want %d", i, tt.addr, executed, tt.executed)
		}
		end()
	}
}

// probed is a connection that counts probes.
type probed struct {
	*conn
	limits []time.Duration
}

func (p *probed) Probe(limit time.Duration) { p.limits = append(p.limits, limit) }

// A Call that is held back makes both connections find out whether their clients are there, once.
// It waits for Grace even if both answer.
func TestConnectionsOfAHeldCallAreProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		executed := 0
		cache := replycache.New(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			executed++
			b, _ := oncrpc.NewReply(7, oncrpc.Success).AppendBinary(nil)
			r.Reply(oncrpc.Message{Inline: b}, nil)
		}), nil)
		one, lose := context.WithCancel(t.Context())
		defer lose()
		other, loseOther := context.WithCancel(t.Context())
		defer loseOther()
		first, second := &probed{conn: &conn{ctx: one}}, &probed{conn: &conn{ctx: other}}
		serve := func(c *probed) <-chan bool {
			r, replied := request(c.conn)
			r.Responder.(*responder).as = c
			cache.ServeRPC(r)
			return replied
		}
		<-serve(first)
		start := time.Now()
		replied := serve(second)
		if len(first.limits) != 1 || len(second.limits) != 1 || first.limits[0] != 45*time.Second {
			t.Errorf("probes with %v and %v, want one each within 45 s", first.limits, second.limits)
		}
		if !<-replied || executed != 2 || time.Since(start) != 90*time.Second {
			t.Errorf("executed %d times after %v", executed, time.Since(start))
		}
	})
}
