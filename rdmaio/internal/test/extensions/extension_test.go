package extensions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The numbers of the extension that the tests use.
const (
	hintType  = peer2.Experiments + iota // two words; it may have the flag hintFlag
	hintError                            // reports the error hintLimit with its data, two words
	hintProp                             // opaque
	hintBusy                             // an error without data
	hintLimit                            // an error with data
	hintFlag  = 0x100
)

// hintCodes returns the descriptor of the extension.
func hintCodes() xdr.Extension {
	return xdr.Extension{Name: "hint", Codes: []xdr.CodePoint{
		{Space: xdr.HeaderTypes, Value: hintType, Name: "HINT_TYPE", Type: "hint", New: func() xdr.Value { return new(rpcrdma2.VersionRange) }, Flags: 1 | hintFlag},
		{Space: xdr.HeaderTypes, Value: hintError, Name: "HINT_ERROR", Type: "hint_limit", New: func() xdr.Value { return new(rpcrdma2.WriteShortage) }, Flags: 1},
		{Space: xdr.HeaderFlags, Value: hintFlag, Name: "HINT_FLAG"},
		{Space: xdr.Properties, Value: hintProp, Name: "HINT_PROP", Type: "hint_prop", New: func() xdr.Value { return new(rpcrdma2.PropHostAuth) }},
		{Space: xdr.ErrorCodes, Value: hintBusy, Name: "HINT_BUSY"},
		{Space: xdr.ErrorCodes, Value: hintLimit, Name: "HINT_LIMIT", Type: "hint_limit", New: func() xdr.Value { return new(rpcrdma2.WriteShortage) }},
	}}
}

// hint is the extension on one side. Each connection is sent to conns.
type hint struct {
	prop  string // none if empty
	conns chan *hintConn
	codes func(*xdr.Extension) // changes the descriptor
	reply func(h *hintConn, m *rdmaio.ExtensionMessage)
}

func newHint(prop string) *hint { return &hint{prop: prop, conns: make(chan *hintConn, 8)} }

func (x *hint) Descriptor() xdr.Extension {
	d := hintCodes()
	if x.codes != nil {
		x.codes(&d)
	}
	return d
}

func (x *hint) Properties() []rdmaio.Property {
	if x.prop == "" {
		return nil
	}
	v := rpcrdma2.PropHostAuth(x.prop)
	return []rdmaio.Property{{ID: hintProp, Value: &v}}
}

func (x *hint) Attach(c *rdmaio.ExtensionConn) rdmaio.ExtensionHandler {
	h := &hintConn{ExtensionConn: c, of: x, events: make(chan string, 4096)}
	x.conns <- h
	return h
}

// hintConn is the extension on one connection. It makes a text of each call of a method.
type hintConn struct {
	*rdmaio.ExtensionConn
	of     *hint
	events chan string
}

func (h *hintConn) Properties(set []rdmaio.Property) {
	text := "properties"
	for _, p := range set {
		text += fmt.Sprintf(" %d=%s", p.ID-peer2.Experiments, []byte(*p.Value.(*rpcrdma2.PropHostAuth)))
	}
	h.events <- text
}

func (h *hintConn) Receive(m *rdmaio.ExtensionMessage) {
	h.events <- fmt.Sprintf("message %d xid %#x response %t flags %#x %+v %q", m.Type-peer2.Experiments, m.XID, m.Response, m.Flags, m.Body, m.Payload)
	if h.of.reply != nil {
		h.of.reply(h, m)
	}
}

func (h *hintConn) Error(e *rdmaio.ExtensionError) {
	h.events <- fmt.Sprintf("error %#x code %d %+v %v", e.XID, e.Code, e.Data, e)
}

func (h *hintConn) Down(err error) { h.events <- fmt.Sprintf("down %v", err) }

// expect waits for the next event.
func (h *hintConn) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-h.events:
		if got != want {
			t.Fatalf("event %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("no event, want %q", want)
	}
}

// next returns the next connection.
func (x *hint) next(t *testing.T) *hintConn {
	t.Helper()
	select {
	case h := <-x.conns:
		return h
	case <-time.After(20 * time.Second):
		t.Fatal("the extension is not attached")
		return nil
	}
}

// with returns a Config of version 2 with extensions.
func withExtensions(x ...rdmaio.Extension) *rdmaio.Config {
	return v2test.Config(rdmaio.Config{Extensions: x})
}

// R322: properties, messages with flags and payload in both directions, an ERROR with a code of the
// extension, an error with data in its own header type (R323), and the end of the connection.
func TestExtensionTalksToItsPeer(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		cx, sx := newHint("from the client"), newHint("from the server")
		sx.reply = func(h *hintConn, m *rdmaio.ExtensionMessage) {
			var err error
			switch b := m.Body.(*rpcrdma2.VersionRange); b.Low {
			case 1:
				err = h.Refuse(m, hintBusy)
			case 2:
				err = h.Send(&rdmaio.ExtensionMessage{Type: hintError, XID: m.XID, Response: true, Body: &rpcrdma2.WriteShortage{ChunkIndex: 5, LengthNeeded: 6}})
			case 3:
				err = h.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: h.XID(), Body: b})
			}
			if err != nil {
				t.Error(err)
			}
		}
		s := w.Serve(&rpctest.App{}, withExtensions(sx))
		conn := w.Dial(withExtensions(cx))
		c, srv := cx.next(t), sx.next(t)
		if conn.Extension("hint") != rdmaio.ExtensionHandler(c) || conn.Extension("other") != nil || c.Conn() != conn || c.Accepted() || !srv.Accepted() {
			t.Error("the handlers of the connections are others")
		}
		c.expect(t, "properties 2=from the server")
		srv.expect(t, "properties 2=from the client")
		send := func(xid, low uint32) {
			t.Helper()
			m := &rdmaio.ExtensionMessage{Type: hintType, XID: xid, Flags: hintFlag, Body: &rpcrdma2.VersionRange{Low: low, High: 9}, Payload: []byte("abc")}
			if err := c.Send(m); err != nil {
				t.Fatal(err)
			}
			srv.expect(t, fmt.Sprintf(`message 0 xid %#x response false flags 0x100 rpcrdma2_err_vers{rdma_vers_low: %d, rdma_vers_high: 9} "abc"`, xid, low))
		}
		xids := [3]uint32{c.XID(), c.XID(), c.XID()}
		send(xids[0], 1)
		c.expect(t, fmt.Sprintf("error %#x code %d <nil> rdmaio: peer answered message %#08x of an extension: HINT_BUSY (error code %[2]d)", xids[0], uint32(hintBusy), xids[0]))
		send(xids[1], 2)
		c.expect(t, fmt.Sprintf(`message 1 xid %#x response true flags 0x0 rpcrdma2_err_write{rdma_chunk_index: 5, rdma_length_needed: 6} ""`, xids[1]))
		send(xids[2], 3)
		if got := <-c.events; !strings.HasSuffix(got, `response false flags 0x0 rpcrdma2_err_vers{rdma_vers_low: 3, rdma_vers_high: 9} ""`) {
			t.Errorf("event %q", got)
		}
		if _, err := conn.Call(context.Background(), rpctest.BigCall(conn.XID(), 100)); err != nil {
			t.Errorf("a Call beside the extension: %v", err)
		}
		_ = conn.Close()
		c.expect(t, "down oncrpc: closed by this side")
		_ = s.Close()
		if got := <-srv.events; !strings.HasPrefix(got, "down ") {
			t.Errorf("event %q", got)
		}
		if err := c.Send(&rdmaio.ExtensionMessage{Type: hintType, Body: &rpcrdma2.VersionRange{}}); !errors.Is(err, rdmaio.ErrClosed) {
			t.Errorf("Send on a closed connection: %v", err)
		}
	})
}

// An extension is not attached on a connection of version 1, and works if the other side has no
// extension (R222).
func TestExtensionWithoutPeerIsNotAttached(t *testing.T) {
	for _, versions := range [][]int{{1}, {2}} {
		rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
			w.Serve(&rpctest.App{}, &rdmaio.Config{Versions: versions, InlineSend: 4096, InlineRecv: 4096})
			x := newHint("a")
			conn := w.Dial(withExtensions(x))
			if versions[0] == 1 {
				if conn.Extension("hint") != nil || len(x.conns) != 0 {
					t.Error("the extension is attached in version 1")
				}
				return
			}
			h := x.next(t)
			h.expect(t, "properties")
			xid := h.XID()
			if err := h.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: xid, Body: &rpcrdma2.VersionRange{}}); err != nil {
				t.Fatal(err)
			}
			h.expect(t, fmt.Sprintf("error %#x code 3 <nil> rdmaio: peer answered message %#08x of an extension: error code 3", xid, xid))
		})
	}
}

// Collisions of numbers, and descriptors that cannot work, are refused by Dial and Listen with an
// error that names both owners (R322, R323, R157).
func TestCollidingExtensionsAreRefused(t *testing.T) {
	w := rdmaiotest.New(t)
	two := func(f func(*xdr.Extension)) []rdmaio.Extension {
		a, b := newHint(""), newHint("")
		b.codes = func(d *xdr.Extension) {
			d.Name = "other"
			for i := range d.Codes {
				d.Codes[i].Value += 1 << 16
				if d.Codes[i].Space == xdr.HeaderFlags {
					d.Codes[i].Value = hintFlag << 1
				}
			}
			f(d)
		}
		return []rdmaio.Extension{a, b}
	}
	one := func(f func(*xdr.Extension)) []rdmaio.Extension { return two(f)[1:] }
	for name, c := range map[string]struct {
		list []rdmaio.Extension
		want string
	}{
		"none":                {two(func(*xdr.Extension) {}), ""},
		"header type":         {two(func(d *xdr.Extension) { d.Codes[0].Value = hintType }), `header-type 4294967040 is HINT_TYPE of extension "hint" and HINT_TYPE of extension "other"`},
		"flag":                {two(func(d *xdr.Extension) { d.Codes[2].Value = hintFlag }), `flag 256 is HINT_FLAG of extension "hint" and HINT_FLAG of extension "other"`},
		"property":            {two(func(d *xdr.Extension) { d.Codes[3].Value = hintProp }), `property 4294967042 is HINT_PROP of extension "hint" and HINT_PROP of extension "other"`},
		"error code":          {two(func(d *xdr.Extension) { d.Codes[4].Value = hintBusy }), `error 4294967043 is HINT_BUSY of extension "hint" and HINT_BUSY of extension "other"`},
		"base header type":    {one(func(d *xdr.Extension) { d.Codes[0].Value = 5 }), `header-type 5 is RDMA2_CONNPROP of version 2 and HINT_TYPE of extension "other"`},
		"base flag":           {one(func(d *xdr.Extension) { d.Codes[2].Value = 2 }), `flag 2 is RPCRDMA2_F_MORE of version 2 and HINT_FLAG of extension "other"`},
		"base property":       {one(func(d *xdr.Extension) { d.Codes[3].Value = 6 }), `property 6 is RDMA2_PROPID_HOSTAUTH of version 2 and HINT_PROP of extension "other"`},
		"base error code":     {one(func(d *xdr.Extension) { d.Codes[4].Value = 10 }), `error 10 is RDMA2_ERR_SYSTEM of version 2 and HINT_BUSY of extension "other"`},
		"error of no header":  {one(func(d *xdr.Extension) { d.Codes[1].Type = "x" }), `error code HINT_LIMIT of extension "other" has data of type hint_limit, but no header type carries hint_limit`},
		"flag of two bits":    {one(func(d *xdr.Extension) { d.Codes[2].Value = 0x300 }), `flag HINT_FLAG of extension "other" is 0x300, must be one bit`},
		"continued":           {one(func(d *xdr.Extension) { d.Codes[0].Flags = 3 }), `header type HINT_TYPE of extension "other" has the flag RPCRDMA2_F_MORE`},
		"the same name":       {two(func(d *xdr.Extension) { d.Name = "hint" }), `Config.Extensions[0] and [1] have the name "hint"`},
		"no name":             {one(func(d *xdr.Extension) { d.Name = "" }), `Config.Extensions[0] has a descriptor without a name`},
		"nil":                 {[]rdmaio.Extension{nil}, `Config.Extensions[0] is nil`},
		"too much":            {[]rdmaio.Extension{newHint(strings.Repeat("a", 933))}, `message with the properties of all extensions needs 1032 bytes, limit is 1024`},
		"as much as possible": {[]rdmaio.Extension{newHint(strings.Repeat("a", 928))}, ""},
		"a property of none": {
			[]rdmaio.Extension{&hint{prop: "a", conns: make(chan *hintConn, 1), codes: func(d *xdr.Extension) { d.Codes[3].Value++ }}},
			`Extension.Properties of "hint" returns property 4294967042, which is not in its descriptor`,
		},
	} {
		cfg := withExtensions(c.list...)
		s, listen := rdmaio.Listen(context.Background(), w.Server, name, &rpctest.App{}, cfg)
		if listen == nil {
			defer s.Close()
		}
		conn, dial := rdmaio.Dial(context.Background(), w.Client, name, cfg)
		if dial == nil {
			defer conn.Close()
		}
		for _, err := range []error{listen, dial} {
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
	}
	if _, err := rdmaio.Dial(context.Background(), w.Client, "there", &rdmaio.Config{Extensions: []rdmaio.Extension{newHint("")}}); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("extensions in version 1: %v", err)
	}
}

// Messages that the descriptor does not allow are not sent.
func TestMessageOutsideTheDescriptorIsNotSent(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(&rpctest.App{}, withExtensions(newHint("")))
	x := newHint("")
	w.Dial(withExtensions(x))
	h := x.next(t)
	body := &rpcrdma2.VersionRange{}
	for name, c := range map[string]struct {
		m    rdmaio.ExtensionMessage
		want string
	}{
		"type":  {rdmaio.ExtensionMessage{Type: 7, Body: body}, "header type 7 is not in its descriptor"},
		"flags": {rdmaio.ExtensionMessage{Type: hintType, Flags: 0x200, Body: body}, "flags 0x200 of HINT_TYPE, must be among 0x100 of its descriptor"},
		"more":  {rdmaio.ExtensionMessage{Type: hintType, Flags: 2, Body: body}, "flags 0x2 of HINT_TYPE"},
		"body":  {rdmaio.ExtensionMessage{Type: hintType, Body: &rpcrdma2.WriteShortage{}}, "value is *rpcrdma2.WriteShortage, must be *rpcrdma2.VersionRange as in the descriptor"},
		"none":  {rdmaio.ExtensionMessage{Type: hintType}, "value is <nil>, must be *rpcrdma2.VersionRange"},
		"long":  {rdmaio.ExtensionMessage{Type: hintType, Body: body, Payload: make([]byte, 4096-27)}, "message HINT_TYPE of extension \"hint\" needs 4097 bytes, limit is 4096"},
	} {
		if err := h.Send(&c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for want, m := range map[string]rdmaio.ExtensionMessage{
		"is an answer, which must not be refused": {Response: true},
		"error HINT_LIMIT has data":               {},
	} {
		if err := h.Refuse(&m, hintLimit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Refuse: %v, want %s", err, want)
		}
	}
	if err := h.Refuse(&rdmaio.ExtensionMessage{}, 5); err == nil {
		t.Error("Refuse with READ_CHUNKS, which has data")
	}
}

// R312: with host authentication, an extension is attached when both ends are done, and its
// property is among those that the messages of the method cover.
func TestExtensionWaitsForHostAuth(t *testing.T) {
	for name, world := range map[string]func(testing.TB) *rdmaiotest.World{"mem": rdmaiotest.New, "rdmatcp": rdmaiotest.NewTCP} {
		for _, mode := range []rdmaio.HostAuthMode{rdmaio.HostAuthWanted, rdmaio.HostAuthRequired} {
			w, h := world(t), rdmaiotest.NewHosts(t)
			cx, sx := newHint("client"), newHint("server")
			server, client := rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ServerKey())), rdmaiotest.AuthConfig(mode, rdmaiotest.Method(t, h.ClientKey()))
			server.Extensions, client.Extensions = []rdmaio.Extension{sx}, []rdmaio.Extension{cx}
			w.Serve(&rpctest.App{}, v2test.Config(*server))
			conn := w.Dial(v2test.Config(*client))
			if conn.Peer().Host == nil || conn.Extension("hint") == nil {
				t.Errorf("%s, %v: authenticated as %v, extension %v", name, mode, conn.Peer().Host, conn.Extension("hint"))
			}
			c, s := cx.next(t), sx.next(t)
			c.expect(t, "properties 2=server")
			s.expect(t, "properties 2=client")
			if err := c.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: 5, Body: &rpcrdma2.VersionRange{}}); err != nil {
				t.Error(err)
			}
			s.expect(t, `message 0 xid 0x5 response false flags 0x0 rpcrdma2_err_vers{rdma_vers_low: 0, rdma_vers_high: 0} ""`)
		}
	}
}
