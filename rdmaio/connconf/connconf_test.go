package connconf_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/connconf"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// pair is a client and a server whose connections do not use RFC 8797, as the devices carry no
// private data.
type pair struct {
	t      testing.TB
	client verbs.Device
	server *rdmaio.Server

	handler rdmaio.Handler // replaces the handler that records Calls, unless nil

	mu    sync.Mutex
	seen  [][]byte     // Calls that the next handler got
	terms rdmaio.Terms // when the first of them came
}

func newPair(t testing.TB, cfg *connconf.Config, conf bool) *pair {
	return newPairBehind(t, func(next rdmaio.Handler) rdmaio.Handler {
		if conf {
			next = replycache.New(connconf.Handler(next, cfg), nil)
		}
		return next
	})
}

// newPairBehind is newPair with a server that passes Calls through other handlers first.
func newPairBehind(t testing.TB, behind func(next rdmaio.Handler) rdmaio.Handler) *pair {
	t.Helper()
	net := mem.New(nil)
	open := func(name string) verbs.Device {
		d, err := net.Open(name, &verbs.DeviceAttributes{MaxPrivateData: -1})
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
	p := &pair{t: t, client: open("client")}
	var h rdmaio.Handler = rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if p.handler != nil {
			p.handler.ServeRPC(r)
			return
		}
		p.mu.Lock()
		if len(p.seen) == 0 {
			p.terms = r.Conn().(*rdmaio.Conn).Terms()
		}
		p.seen = append(p.seen, bytes.Clone(r.Message))
		p.mu.Unlock()
		xid := binary.BigEndian.Uint32(r.Message)
		b, _ := oncrpc.NewReply(xid, oncrpc.ProgUnavail).AppendBinary(nil)
		r.Reply(rdmaio.Message{Inline: b}, nil)
	})
	var err error
	if p.server, err = rdmaio.Listen(context.Background(), open("server"), "here", behind(h), &rdmaio.Config{InlineSend: 8192, InlineRecv: 6144}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *pair) dial() *rdmaio.Conn {
	p.t.Helper()
	c, err := rdmaio.Dial(context.Background(), p.client, "here", &rdmaio.Config{InlineSend: 4096, InlineRecv: 2048})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return c
}

// accepted returns the server's end of the connection. The server may list it later than Dial
// returns at the client.
func (p *pair) accepted() *rdmaio.Conn {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if conns := p.server.Conns(); len(conns) > 0 {
			return conns[0]
		}
	}
	p.t.Fatal("the server has no connection")
	return nil
}

// R293 to R297: one round trip sets the terms of both ends.
func TestOneRoundTripSetsTheTerms(t *testing.T) {
	p := newPair(t, &connconf.Config{Reads: 3}, true)
	c := p.dial()
	ok, err := connconf.Configure(context.Background(), c, &connconf.Config{Reads: 5})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got, want := c.Terms(), (rdmaio.Terms{Version: 1, InlineSend: 4096, InlineRecv: 1024, Reads: 3}); got != want {
		t.Errorf("client: %+v, want %+v", got, want)
	}
	if got, want := p.accepted().Terms(), (rdmaio.Terms{Version: 1, InlineSend: 2048, InlineRecv: 6144, Reads: 5}); got != want {
		t.Errorf("server: %+v, want %+v", got, want)
	}
	if len(p.seen) != 0 {
		t.Errorf("the next handler got %d Calls", len(p.seen))
	}
}

// Each connection is configured on its own, also with a reply cache before the handler.
func TestConfigureEach(t *testing.T) {
	p := newPair(t, nil, true)
	for range 3 {
		if ok, err := connconf.Configure(context.Background(), p.dial(), nil); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	for _, c := range p.server.Conns() {
		if got, want := c.Terms(), (rdmaio.Terms{Version: 1, InlineSend: 2048, InlineRecv: 6144, Reads: 16}); got != want {
			t.Errorf("server: %+v, want %+v", got, want)
		}
	}
}

// R298: with a server that does not serve the program the terms stay, and the connection works.
func TestNoProgram(t *testing.T) {
	p := newPair(t, nil, false)
	c := p.dial()
	was := c.Terms()
	if ok, err := connconf.Configure(context.Background(), c, nil); ok || err != nil {
		t.Error(ok, err)
	}
	if c.Terms() != was {
		t.Errorf("%+v, was %+v", c.Terms(), was)
	}
	// The Call written by hand (R294), after its XID: CALL, RPC 2, program 100400 version 1
	// procedure 1, no credentials; 4096, 2048, 16.
	want, _ := hex.DecodeString("00000000" + "00000002" + "00018830" + "00000001" + "00000001" + strings.Repeat("00000000", 4) +
		"00001000" + "00000800" + "00000010")
	if len(p.seen) != 1 || !bytes.Equal(p.seen[0][4:], want) {
		t.Errorf("the server received %x\nwant %x", p.seen, want)
	}
}

// raw makes a Call of bytes in hex, and returns the reply in hex.
func raw(t *testing.T, c *rdmaio.Conn, text string) string {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Call(context.Background(), &rdmaio.Call{Message: rdmaio.Message{Inline: b}})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(reply.Message)
}

const (
	call  = "00000007 00000000 00000002 00018830 "
	none  = "00000000 00000000 00000000 00000000 "
	reply = "00000007" + "00000001" + "00000000" + "00000000" + "00000000"
)

// The server's replies, compared with bytes written by hand: to valid Calls with normal and extreme
// numbers (R300, T124), and to invalid ones.
func TestServersRepliesHaveTheirBytes(t *testing.T) {
	for _, tt := range []struct {
		name, call, want string
		terms            rdmaio.Terms // of the server then
	}{
		{"good", call + "00000001 00000001 " + none + "00001000 00001000 00000004", "00000000" + "00001800" + "00000004" + "00000010", rdmaio.Terms{Version: 1, InlineSend: 4096, InlineRecv: 6144, Reads: 4}},
		{"zeros", call + "00000001 00000001 " + none + "00000000 00000000 00000000", "00000000" + "00001800" + "00000004" + "00000010", rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 6144, Reads: -1, NoReadChunks: true}},
		{"giants", call + "00000001 00000001 " + none + "ffffffff ffffffff ffffffff", "00000000" + "00001800" + "00000004" + "00000010", rdmaio.Terms{Version: 1, InlineSend: 8192, InlineRecv: 6144, Reads: 1<<31 - 1}},
		{"null", call + "00000001 00000000 " + none, "00000000", rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 1024}},
		{"another version", call + "00000002 00000001 " + none, "00000002" + "00000001" + "00000001", rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 1024}},
		{"no such procedure", call + "00000001 00000002 " + none, "00000003", rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 1024}},
		{"short", call + "00000001 00000001 " + none + "00001000 00001000", "00000004", rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 1024}},
		{"long", call + "00000001 00000001 " + none + "00001000 00001000 00000004 00000000", "00000004", rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 1024}},
		{"a head that is cut", call + "00000001 00000001", "00000004", rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 1024}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, nil, true)
			c := p.dial()
			if got := raw(t, c, tt.call); got != reply+tt.want {
				t.Errorf("reply %s, want %s", got, reply+tt.want)
			}
			if got := p.accepted().Terms(); got != tt.terms {
				t.Errorf("%+v, want %+v", got, tt.terms)
			}
			if len(p.seen) != 0 {
				t.Error("the next handler got it")
			}
		})
	}
	p := newPair(t, nil, true)
	c := p.dial()
	if got := raw(t, c, "00000007 00000000 00000003 00018830 00000001 00000001 "+none); got[:24] != "000000070000000100000001" { // MSG_DENIED
		t.Errorf("RPC version 3: %s", got)
	}
	raw(t, c, "00000008 00000000 00000002 000186a3 00000003 00000000 "+none)
	if len(p.seen) != 1 {
		t.Error("a Call of another program went nowhere")
	}
}

// R298: a server whose program 100400 lacks CONF_RDMA is treated like one without the program: no
// error, and nothing changes.
func TestNoConfRDMA(t *testing.T) {
	p := newPair(t, nil, false)
	p.handler = rpc.NewHandler(nil, rpc.NewService(oncrpc.Program{Number: rdmaconfig.Program, Version: rdmaconfig.ProgramVers1}))
	c := p.dial()
	before := c.Terms()
	if ok, err := connconf.Configure(context.Background(), c, nil); ok || err != nil || c.Terms() != before {
		t.Errorf("%v, %v, terms %+v, before %+v", ok, err, c.Terms(), before)
	}
}

// T124: no RDMA Reads on either side means no read chunks.
func TestNoReads(t *testing.T) {
	for _, tt := range [][2]int{{-1, 0}, {0, -1}} {
		p := newPair(t, &connconf.Config{Reads: tt[0]}, true)
		c := p.dial()
		if ok, err := connconf.Configure(context.Background(), c, &connconf.Config{Reads: tt[1]}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		var se *rdmaio.SizeError
		b, _ := oncrpc.NewCall(9, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
		_, err := c.Call(context.Background(), &rdmaio.Call{Message: rdmaio.Message{Inline: append(b, make([]byte, 8000)...)}})
		if !errors.As(err, &se) {
			t.Errorf("%v: %v", tt, err)
		}
	}
}

// R295, R296: a client configures each of its connections by one Call of at most 1024 bytes, before
// any other Call. Later Calls may have the size that the server allowed.
func TestClientConfiguresEachConnection(t *testing.T) {
	p := newPair(t, nil, true)
	c, err := rdmaio.NewClient(p.client, "here", &rdmaio.ClientConfig{Connected: connconf.Connected(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, _ := oncrpc.NewCall(9, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
	if _, err := c.Call(context.Background(), &rdmaio.Call{Message: rdmaio.Message{Inline: b}}); err != nil {
		t.Fatal(err)
	}
	if got := p.accepted().Terms(); got.InlineRecv != 6144 || got.Reads != 16 {
		t.Errorf("%+v", got)
	}
	if len(p.seen) != 1 || p.terms.InlineRecv != 6144 {
		t.Errorf("%d Calls came, the first with %+v", len(p.seen), p.terms)
	}
}

// On a connection of version 2, which negotiates sizes itself, a Client makes no call of the
// protocol, and one that comes is answered as if it was not served.
func TestVersion2IsNotConfigured(t *testing.T) {
	net := mem.New(nil)
	open := func(name string) verbs.Device {
		d, err := net.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	svc := rpc.NewService(oncrpc.Program{Number: 7, Version: 1})
	cfg := &rdmaio.Config{Versions: []int{2, 1}}
	s, err := rdmaio.Listen(context.Background(), open("server"), "here", connconf.Handler(rpc.NewHandler(nil, svc), nil), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := rdmaio.NewClient(open("client"), "here", &rdmaio.ClientConfig{Conn: cfg, Connected: connconf.Connected(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	program := oncrpc.Program{Number: rdmaconfig.Program, Version: rdmaconfig.ProgramVers1}
	var res rdmaconfig.Reply
	err = rpc.NewClient(c, program, nil).Call(context.Background(), rdmaconfig.ProcConfRDMA, new(rdmaconfig.Req), &res, nil)
	if !errors.Is(err, oncrpc.ErrProgUnavail) {
		t.Errorf("a call of the protocol: %v", err)
	}
	rdmaiotest.AwaitStats(t, s.Conns()[0], func(st *rdmaio.Stats) bool { return st.Calls == 1 && st.Version == 2 })
}
