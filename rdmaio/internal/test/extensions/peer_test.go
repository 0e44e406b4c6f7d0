package extensions

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// hintProperty returns the property of the extension in its encoded form.
func hintProperty(value string) peer2.Property {
	data := append(binary.BigEndian.AppendUint32(nil, uint32(len(value))), value...)
	return peer2.Property{ID: hintProp, Data: append(data, make([]byte, -len(value)&3)...)}
}

// hintMessage returns a message of the extension.
func hintMessage(xid, flags uint32, body ...byte) peer2.Message {
	return peer2.Message{XID: xid, Type: hintType, Flags: flags, Payload: body}
}

var eight = []byte{0, 0, 0, 1, 0, 0, 0, 2}

// Properties of the extension in the first set of a client: R197, R221, R222, R223, R228, A33.
func TestExtensionReadsTheFirstProperties(t *testing.T) {
	short := peer2.Property{ID: hintProp, Data: []byte{0, 0, 0, 9, 1, 2, 3, 4}}
	more := peer2.Property{ID: hintProp, Data: append(hintProperty("x").Data, 0, 0, 0, 0)}
	for name, c := range map[string]struct {
		set  []peer2.Property
		want string // empty if the set is refused
	}{
		"a value":              {[]peer2.Property{hintProperty("x")}, "properties 2=x"},
		"in any order":         {[]peer2.Property{{ID: 77, Data: []byte("abcd")}, hintProperty("xyz"), peer2.Prop(peer2.ReceiveSize, 8192)}, "properties 2=xyz"},
		"the default":          {[]peer2.Property{{ID: hintProp}}, "properties"},
		"none":                 {nil, "properties"},
		"too short":            {[]peer2.Property{peer2.Prop(peer2.ReceiveSize, 8192), short}, ""},
		"too long":             {[]peer2.Property{more}, ""},
		"twice":                {[]peer2.Property{hintProperty("x"), hintProperty("x")}, ""},
		"twice as the default": {[]peer2.Property{{ID: hintProp}, {ID: hintProp}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := rdmaiotest.New(t)
			x := newHint("ours")
			w.Serve(&rpctest.App{}, withExtensions(x))
			p := v2test.RawClient(t, w, peer2.Config{})
			p.Send(peer2.Props(7, c.set...))
			h := x.next(t)
			if c.want == "" {
				if m := p.Next(); m.Type != peer2.Error || m.Code != peer2.ErrBadXDR || m.XID != 7 {
					t.Errorf("%v, want BAD_XDR", m)
				}
			} else {
				h.expect(t, c.want)
			}
			m := p.Next()
			if m.Type != peer2.ConnProp || len(m.Set) != 6 || string(m.Set[5].Data) != string(hintProperty("ours").Data) {
				t.Errorf("%v, want properties with that of the extension last", m)
			}
			if c.want == "" { // a good set after it
				p.Send(peer2.Props(8, hintProperty("good")))
				h.expect(t, "properties 2=good")
			}
			p.Send(peer2.Props(9, hintProperty("later"))) // R224
			p.Send(hintMessage(10, 0, eight...))
			h.expect(t, `message 0 xid 0xa response false flags 0x0 rpcrdma2_err_vers{rdma_vers_low: 1, rdma_vers_high: 2} ""`)
		})
	}
}

// Messages of a client: R141, R143, R157, R196; T22, T30, T87. Nothing answers an answer.
func TestExtensionAnswersMessages(t *testing.T) {
	w := rdmaiotest.New(t)
	x := newHint("")
	p := v2test.Server(t, w, &rpctest.App{}, peer2.Config{}, withExtensions(x))
	h := x.next(t)
	h.expect(t, "properties")
	for _, c := range []struct {
		name string
		m    peer2.Message
		code uint32 // of the ERROR
		want string // or the event, or neither
	}{
		{"valid", hintMessage(1, hintFlag, eight...), 0, `message 0 xid 0x1 response false flags 0x100 rpcrdma2_err_vers{rdma_vers_low: 1, rdma_vers_high: 2} ""`},
		{"with a payload", hintMessage(2, peer2.Response, append(eight, 7)...), 0, `message 0 xid 0x2 response true flags 0x0 rpcrdma2_err_vers{rdma_vers_low: 1, rdma_vers_high: 2} "\a"`},
		{"a flag that the type does not have", hintMessage(3, 0x200, eight...), peer2.ErrFlag, ""},
		{"an answer with such a flag", hintMessage(4, 0x201, eight...), 0, ""},
		{"MORE", hintMessage(5, peer2.More, eight...), peer2.ErrFlag, ""},
		{"a short body", hintMessage(6, 0, eight[:7]...), peer2.ErrBadXDR, ""},
		{"no body", hintMessage(7, 0), peer2.ErrBadXDR, ""},
		{"an answer with a short body", hintMessage(8, peer2.Response, eight[:7]...), 0, ""},
		{"an unknown header type", peer2.Message{XID: 9, Type: hintType + 99}, peer2.ErrHeaderType, ""},
	} {
		p.Send(c.m)
		if c.want != "" {
			h.expect(t, c.want)
		}
		if c.code != 0 {
			if m := p.Next(); m.Type != peer2.Error || m.Code != c.code || m.XID != c.m.XID {
				t.Errorf("%s: %v, want error %d", c.name, m, c.code)
			}
		}
	}
	p.Quiet()
	if len(h.events) > 0 {
		t.Errorf("event %q", <-h.events)
	}
}

// ERRORs about messages of an extension: R194, R211, R212. A code of the extension comes with its
// data, and ERRORs that belong to none of its messages are dropped.
func TestErrorsReachTheirExtension(t *testing.T) {
	w := rdmaiotest.New(t)
	x := newHint("")
	p, conn := v2test.Client(t, w, peer2.Config{}, withExtensions(x))
	h := x.next(t)
	h.expect(t, "properties")
	for _, c := range []struct {
		m    peer2.Message // but for the XID
		want string
	}{
		{peer2.Err(0, peer2.ErrSystem), "code 10 <nil>"},
		{peer2.Err(0, hintBusy), "code 4294967043 <nil>"},
		{peer2.Message{Code: hintLimit, Payload: eight}, "code 4294967044 rpcrdma2_err_write{rdma_chunk_index: 1, rdma_length_needed: 2}"},
		{peer2.Message{Code: hintLimit, Payload: eight[:7]}, "code 4294967044 <nil>"},
		{peer2.Err(0, hintLimit), "code 4294967044 <nil>"},
		{peer2.Err(0, hintLimit+9), "code 4294967053 <nil>"},
	} {
		xid := h.XID()
		if err := h.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: xid, Body: &rpcrdma2.VersionRange{}}); err != nil {
			t.Fatal(err)
		}
		if m := p.Next(); m.XID != xid || m.Type != hintType {
			t.Fatalf("%v", m)
		}
		c.m.XID, c.m.Type, c.m.Flags = xid, peer2.Error, peer2.Response
		p.Send(peer2.Err(xid+1000, peer2.ErrSystem))
		p.Send(c.m)
		if got := <-h.events; !strings.HasPrefix(got, fmt.Sprintf("error %#x %s ", xid, c.want)) {
			t.Errorf("event %q, want %q", got, c.want)
		}
	}
	// R211: with a code of the extension, too.
	call := v2test.Start(conn, rpctest.BigCall(conn.XID(), 100))
	m := p.Next()
	p.Send(peer2.Err(m.XID, hintBusy))
	var pe *rdmaio.PeerError
	if r := <-call; !errors.As(r.Err, &pe) || pe.Code != hintBusy {
		t.Errorf("the Call ended with %v", r.Err)
	}
	if len(h.events) > 0 {
		t.Errorf("event %q", <-h.events)
	}
}

// A server gets ERRORs about its messages, too.
func TestErrorsReachTheExtensionAtAServer(t *testing.T) {
	w := rdmaiotest.New(t)
	x := newHint("")
	p := v2test.Server(t, w, &rpctest.App{}, peer2.Config{}, withExtensions(x))
	h := x.next(t)
	h.expect(t, "properties")
	if err := h.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: 77, Body: &rpcrdma2.VersionRange{}}); err != nil {
		t.Fatal(err)
	}
	p.Next()
	p.Send(peer2.Err(77, peer2.ErrHeaderType))
	h.expect(t, "error 0x4d code 3 <nil> rdmaio: peer answered message 0x0000004d of an extension: error code 3")
}

// A peer that gives credits for one message at a time, and sends many that are answered, does not
// make us keep the answers without end (R310).
func TestUnsentAnswersAreBounded(t *testing.T) {
	w := rdmaiotest.New(t)
	x := newHint("")
	p := v2test.Server(t, w, &rpctest.App{}, peer2.Config{}, withExtensions(x))
	h := x.next(t)
	h.expect(t, "properties")
	p.SendWith(hintMessage(1, 0, eight...), 1, 0)
	m := &rdmaio.ExtensionMessage{Type: hintType, XID: 1, Response: true, Body: &rpcrdma2.VersionRange{}}
	sent, err := 0, error(nil)
	for ; err == nil && sent < 10_000; sent++ {
		err = h.Send(m)
	}
	if !errors.Is(err, rdmaio.ErrUnsent) || sent > 300 {
		t.Errorf("%d messages, then %v", sent, err)
	}
	closed := make(chan error, 1)
	go func() { closed <- p.QP.Close() }()
	for !strings.HasPrefix(<-h.events, "down ") {
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A panic of a handler closes its connection alone, and Fail does so with the error given.
func TestPanicOfAnExtensionClosesItsConnection(t *testing.T) {
	w := rdmaiotest.New(t)
	x := newHint("")
	x.reply = func(h *hintConn, m *rdmaio.ExtensionMessage) {
		if m.XID == 1 {
			panic("no tea")
		}
		h.Fail(errors.New("no coffee"))
	}
	cfg := withExtensions(x)
	cfg.Logger = slog.New(slog.DiscardHandler)
	s := w.Serve(&rpctest.App{}, cfg)
	for xid, want := range []string{1: `down oncrpc: a handler panicked: extension "hint": no tea`, 2: `down rdmaio: extension "hint": no coffee`} {
		if want == "" {
			continue
		}
		p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{}))
		h := x.next(t)
		h.expect(t, "properties")
		p.Send(hintMessage(uint32(xid), 0, eight...))
		<-h.events
		h.expect(t, want)
		p.Ends()
	}
	_ = s.Close()
}

// An extension gives up a connection because its messages are not taken: the error has its name
// once. The peer hears that it broke a rule if the messages answer its own.
func TestExtensionGivesUpUnsentMessages(t *testing.T) {
	for _, answers := range []bool{true, false} {
		w := rdmaiotest.New(t)
		x := newHint("")
		p := v2test.Server(t, w, &rpctest.App{}, peer2.Config{}, withExtensions(x))
		h := x.next(t)
		h.expect(t, "properties")
		p.SendWith(hintMessage(1, 0, eight...), 1, 0)
		m := &rdmaio.ExtensionMessage{Type: hintType, XID: 1, Response: answers, Body: &rpcrdma2.VersionRange{}}
		err := error(nil)
		for err == nil {
			err = h.Send(m)
		}
		h.Fail(err)
		<-h.Conn().Done()
		why := h.Conn().Err()
		if !errors.Is(why, rdmaio.ErrUnsent) || strings.Count(why.Error(), "extension") != 1 || strings.Count(why.Error(), "rdmaio:") != 1 {
			t.Errorf("%v, want the name once", why)
		}
		<-p.Lost
		if rule := errors.Is(p.QP.Err(), verbs.StatusError{Status: verbs.StatusRemoteInvalidRequest}); rule != answers {
			t.Errorf("answers %v: the peer hears %v", answers, p.QP.Err())
		}
	}
}

// Do excludes methods of handlers, and may send: the runner takes the same lock (run with -race).
func TestDoExcludesHandlers(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(&rpctest.App{}, withExtensions(newHint("")))
	x, n := newHint(""), 0
	conn := w.Dial(withExtensions(x))
	h := x.next(t)
	h.expect(t, "properties")
	x.reply = func(*hintConn, *rdmaio.ExtensionMessage) { n++ }
	done := make(chan struct{})
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 50 {
				h.Do(func() {
					n++
					if err := h.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: h.XID(), Response: true, Body: &rpcrdma2.VersionRange{}}); err != nil && !errors.Is(err, rdmaio.ErrUnsent) {
						t.Error(err)
					}
				})
				if _, err := conn.Call(context.Background(), rpctest.BigCall(conn.XID(), 100)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
	h.Do(func() {
		if n != 200 {
			t.Errorf("%d calls, want 200", n)
		}
	})
}

// A message that waits for a credit while SetLimits makes it too long comes back to its handler.
// The connection stays up.
func TestMessageThatBecomesTooLongComesBack(t *testing.T) {
	const messages = 40
	w := rdmaiotest.New(t)
	x := newHint("")
	p := v2test.Server(t, w, &rpctest.App{}, peer2.Config{}, withExtensions(x))
	h := x.next(t)
	h.expect(t, "properties")
	p.SendWith(hintMessage(1, 0, eight...), 8, 0)
	h.expect(t, `message 0 xid 0x1 response false flags 0x0 rpcrdma2_err_vers{rdma_vers_low: 1, rdma_vers_high: 2} ""`)
	for range messages {
		if err := h.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: h.XID(), Body: &rpcrdma2.VersionRange{}, Payload: make([]byte, 3000)}); err != nil {
			t.Fatal(err)
		}
	}
	h.SetLimits(rdmaio.ExtensionLimits{InlineSend: 2000})
	if err := h.Send(&rdmaio.ExtensionMessage{Type: hintType, XID: 77, Body: &rpcrdma2.VersionRange{}}); err != nil {
		t.Fatal(err)
	}
	p.Send(hintMessage(2, 0, eight...)) // grants credits
	received := 0
	for m := p.Next(); m.XID != 77; m = p.Next() {
		if m.Type != hintType || len(m.Payload) != 3008 {
			t.Fatalf("%v", m)
		}
		received++
	}
	if received == messages {
		t.Errorf("%d messages came, want fewer", received)
	}
	seen := false
	for back := 0; back < messages-received || !seen; {
		got := <-h.events
		switch {
		case strings.HasPrefix(got, "message 0 xid 0x2 "):
			seen = true
		case strings.Contains(got, "was not sent: ") && strings.Contains(got, "needs 3028 bytes, limit is 2000"):
			back++
		default:
			t.Fatalf("event %q", got)
		}
	}
}
