package setup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// errVers returns ERR_VERS in the form of version 1, of 28 bytes (RFC 8166 §4.5.1).
func errVers(xid, vers, low, high uint32) []byte {
	var b []byte
	for _, w := range []uint32{xid, vers, 1, 4, 1, low, high} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// errVers2 returns ERR_VERS in the form of version 2, of 32 bytes.
func errVers2(xid, vers, low, high uint32) []byte {
	m := peer2.Err(xid, peer2.ErrVers, low, high)
	m.Vers, m.Credit = vers, peer2.Word(8, 1)
	return m.Bytes()
}

// The client begins with one CONNPROP of 28 to 1024 bytes and sends nothing before the answer
// (R42, R178, R182, R225, A1). What it does then depends on the answer: ERR_VERS in either form,
// with any version in it, leads to another version on the same connection (R184, R185, R186, T96,
// T97, T98). Any other message of version 2 fixes version 2 (R43).
func TestAnswerDecidesTheVersion(t *testing.T) {
	type want struct {
		version int   // of the connection; 0: Dial fails
		err     error // of Dial
	}
	one, two, none := want{version: 1}, want{version: 2}, want{err: rdmaio.ErrNoVersion}
	raw := func(m peer2.Message) []byte {
		m.Credit = peer2.Word(8, 4)
		return m.Bytes()
	}
	for _, c := range []struct {
		name     string
		versions []int
		answer   func(xid uint32) []byte
		want     want
	}{
		{"a CONNPROP", nil, func(xid uint32) []byte { return raw(peer2.Props(xid)) }, two},
		{"a CONNPROP with another XID", nil, func(xid uint32) []byte { return raw(peer2.Props(xid + 1)) }, two},
		{"a grant", nil, func(xid uint32) []byte { return raw(peer2.Grant()) }, two},
		{"a Reply to no Call", nil, func(xid uint32) []byte { return raw(peer2.Reply(xid, rpctest.ReplyBytes(xid, 24))) }, two},
		{"BAD_XDR", nil, func(xid uint32) []byte { return raw(peer2.Err(xid, peer2.ErrBadXDR)) }, two},
		{"INVAL_HTYPE", nil, func(xid uint32) []byte { return raw(peer2.Err(xid, peer2.ErrHeaderType)) }, two},
		{"SYSTEM", nil, func(xid uint32) []byte { return raw(peer2.Err(xid, peer2.ErrSystem)) }, two},
		{"an invalid message of version 2", nil, func(xid uint32) []byte { return raw(peer2.Message{Type: 9}) }, two},
		{"T96: 28 bytes, 1 to 1, version copied", nil, func(xid uint32) []byte { return errVers(xid, 2, 1, 1) }, one},
		{"T96: 28 bytes, version 1", nil, func(xid uint32) []byte { return errVers(xid, 1, 1, 1) }, one},
		{"28 bytes, version 0", nil, func(xid uint32) []byte { return errVers(xid, 0, 1, 1) }, one},
		{"28 bytes, version 77", nil, func(xid uint32) []byte { return errVers(xid, 77, 1, 1) }, one},
		{"T97: 32 bytes, version copied", nil, func(xid uint32) []byte { return errVers2(xid, 2, 1, 1) }, one},
		{"T97: 32 bytes, version 1", nil, func(xid uint32) []byte { return errVers2(xid, 1, 1, 1) }, one},
		{"T98: 1 to 2", nil, func(xid uint32) []byte { return errVers(xid, 2, 1, 2) }, one},
		{"T98: 1 to 2 in 32 bytes", nil, func(xid uint32) []byte { return errVers2(xid, 2, 1, 2) }, one},
		{"0 to 4294967295", nil, func(xid uint32) []byte { return errVers(xid, 2, 0, 0xffffffff) }, one},
		{"T98: 2 to 2", nil, func(xid uint32) []byte { return errVers(xid, 2, 2, 2) }, none},
		{"2 to 2 in 32 bytes", nil, func(xid uint32) []byte { return errVers2(xid, 2, 2, 2) }, none},
		{"T98: 5 to 9", nil, func(xid uint32) []byte { return errVers(xid, 2, 5, 9) }, none},
		{"T98: 2 to 1", nil, func(xid uint32) []byte { return errVers(xid, 2, 2, 1) }, none},
		{"9 to 5 in 32 bytes", nil, func(xid uint32) []byte { return errVers2(xid, 2, 9, 5) }, none},
		{"0 to 0", nil, func(xid uint32) []byte { return errVers(xid, 2, 0, 0) }, none},
		{"1 to 1, which this side does not have", []int{2}, func(xid uint32) []byte { return errVers(xid, 2, 1, 1) }, none},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, done := v2test.DialPeer(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{Versions: c.versions}))
			offer := p.Peer.Message(peertest.Patience)
			m, err := peer2.Parse(offer)
			if err != nil || m.Type != peer2.ConnProp || len(offer) < 28 || len(offer) > 1024 {
				t.Fatalf("the first message is %v of %d bytes, %v", m, len(offer), err)
			}
			if err := p.Book.Received(&m); err != nil {
				t.Error(err)
			}
			p.Quiet()
			b := c.answer(m.XID)
			if c.want.version == 2 {
				reply, _ := peer2.Parse(b)
				if err := p.Book.Sent(&reply); err != nil {
					t.Error(err)
				}
			}
			p.Peer.Send(b)
			if c.want.version == 0 {
				d := <-done
				if !errors.Is(d.Err, c.want.err) {
					t.Errorf("Dial returned %v, want %v", d.Err, c.want.err)
				}
				p.Ends()
				return
			}
			conn := v2test.Connected(t, done)
			if got := conn.Terms().Version; got != c.want.version {
				t.Fatalf("version %d, want %d", got, c.want.version)
			}
			if c.want.version == 2 {
				v2test.Serves(t, p, conn, 5)
				v2test.Serves(t, p, conn, 6)
				return
			}
			for xid := range uint32(2) {
				end := v2test.Start(conn, rpctest.BigCall(xid, 40))
				call := p.Peer.Message(peertest.Patience)
				v1, err := peertest.Parse(string(call))
				if err != nil || v1.Kind != peertest.Call || v1.XID != xid {
					t.Fatalf("after the answer came %v, %v", v1, err)
				}
				p.Peer.Send(append(append(call[:8:8], peertest.Bytes(t, "00000008 00000000 00000000 00000000 00000000")...), rpctest.ReplyBytes(xid, 24)...))
				if r := <-end; r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
}

// Messages that are not an answer are dropped, and the client continues to wait: it fails with
// ErrNoAnswer if no answer comes in time (T99), or with the reason if the connection is lost.
func TestMessagesThatAreNoAnswerAreDropped(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes string
	}{
		{"nothing", ""},
		{"8 bytes", "00000001 00000002"},
		{"a Reply of version 1", "00000001 00000001 00000001 00000000 00000000 00000000 00000000 00000001 00000001 00000000"},
		{"a message of version 3", "00000001 00000003 00080004 00000005 00000000 00000000"},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, done := v2test.DialPeer(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{OfferTimeout: 30 * time.Millisecond}))
			p.Next()
			if c.bytes != "" {
				p.Peer.Send(peertest.Bytes(t, c.bytes))
			}
			if d := <-done; !errors.Is(d.Err, rdmaio.ErrNoAnswer) {
				t.Errorf("Dial returned %v, want %v", d.Err, rdmaio.ErrNoAnswer)
			}
			p.Ends()
		})
		v2test.Each(t, c.name+", then an answer", func(t *testing.T, w *rdmaiotest.World) {
			p, done := v2test.DialPeer(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			offer := p.Next()
			if c.bytes != "" {
				p.Peer.Send(peertest.Bytes(t, c.bytes))
			}
			p.Send(peer2.Props(offer.XID))
			if conn := v2test.Connected(t, done); conn.Terms().Version != 2 {
				t.Errorf("version %d", conn.Terms().Version)
			} else {
				v2test.Serves(t, p, conn, 1)
			}
		})
		v2test.Each(t, c.name+", then the connection is lost", func(t *testing.T, w *rdmaiotest.World) {
			p, done := v2test.DialPeer(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			p.Next()
			if c.bytes != "" {
				p.Peer.Send(peertest.Bytes(t, c.bytes))
			}
			if err := p.QP.Disconnect(); err != nil {
				t.Error(err)
			}
			if d := <-done; d.Err == nil {
				t.Error("Dial returned a connection")
			}
		})
	}
}

// The server speaks the version of the first message that it supports (R187, T23). To others it
// answers ERR_VERS of 28 bytes with the range of its versions, the XID and the version copied (A1,
// A2, R183, R195), and the client may continue with another version on the same connection. A first
// grant is answered by one (R174).
func TestFirstMessageDecidesTheVersion(t *testing.T) {
	const (
		call1 = "00000009 00000001 00000008 00000000 00000000 00000000 00000000 00000009 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000"
		other = " 00080004 00000005 00000000 00000000"
	)
	word := func(m peer2.Message) []byte {
		m.Credit = peer2.Word(8, 4)
		return m.Bytes()
	}
	long := func(n int) []byte { // a CONNPROP of n bytes
		return word(peer2.Props(9, peer2.Property{ID: 0x7777, Data: make([]byte, n-32)}))
	}
	type answer int
	const (
		props   answer = iota // the server's properties
		reply                 // a Reply of version 2
		grant                 // a grant
		refuses               // ERR_VERS
		reply1                // a Reply of version 1
		nothing
	)
	for _, c := range []struct {
		name     string
		versions []int
		first    []byte
		want     answer
	}{
		{"CONNPROP", nil, word(peer2.Props(9)), props},
		{"CONNPROP with an unknown property", nil, long(100), props},
		{"CONNPROP of 1024 bytes", nil, long(1024), props},
		{"T100: CONNPROP of 1028 bytes", nil, long(1028), props},
		{"R40: CONNPROP of 4096 bytes", nil, long(4096), props},
		{"Call", nil, word(peer2.Call(9, rpctest.CallBytes(9, 40))), reply},
		{"T100: Call of 1025 bytes", nil, word(peer2.Call(9, rpctest.CallBytes(9, 1025-36))), reply},
		{"R40: Call of 4096 bytes", nil, word(peer2.Call(9, rpctest.CallBytes(9, 4096-36))), reply},
		{"grant", nil, word(peer2.Grant()), grant},
		{"Call of version 1", nil, peertest.Bytes(t, call1), reply1},
		{"version 0", nil, peertest.Bytes(t, "00000009 00000000"+other), refuses},
		{"version 3", nil, peertest.Bytes(t, "00000009 00000003"+other), refuses},
		{"version 0xffffffff", nil, peertest.Bytes(t, "00000009 ffffffff"+other), refuses},
		{"version 2 at a server of version 1", []int{1}, word(peer2.Props(9)), refuses},
		{"version 1 at a server of version 2", []int{2}, peertest.Bytes(t, call1), refuses},
		{"version 1 preferred, CONNPROP", []int{1, 2}, word(peer2.Props(9)), props},
		{"nothing at all", nil, nil, nothing},
		{"15 bytes", nil, peertest.Bytes(t, "00000009 00000002 00080004 000000"), nothing},
		{"an ERROR of version 3", nil, peertest.Bytes(t, "00000009 00000003 00080004 00000004 00000001"), nothing},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			cfg := v2test.Config(rdmaio.Config{Versions: c.versions})
			w.Serve(new(rpctest.App), cfg)
			p := v2test.RawClient(t, w, peer2.Config{})
			p.SendBytes(c.first)
			p.Book.In = 4 // its word granted these
			next := byte(2)
			switch c.want {
			case props:
				if m := p.Next(); m.Type != peer2.ConnProp {
					t.Errorf("answer %v", m)
				}
			case reply:
				if m := p.Next(); !m.IsReply() || m.XID != 9 {
					t.Errorf("answer %v", m)
				}
			case grant:
				if m := p.NextGrant(); m.Credits() == 0 {
					t.Errorf("answer %v", m)
				}
			case reply1:
				if m, err := peertest.Parse(string(p.Raw())); err != nil || m.Kind != peertest.Reply || m.XID != 9 {
					t.Errorf("answer %v, %v", m, err)
				}
				return
			case refuses:
				low, high := uint32(1), uint32(2)
				if len(cfg.Versions) == 1 {
					low, high = uint32(cfg.Versions[0]), uint32(cfg.Versions[0])
					next = byte(low)
				}
				got, want := p.Raw(), errVers(9, binary.BigEndian.Uint32(c.first[4:]), low, high)
				if len(got) >= 12 {
					copy(got[8:12], want[8:12]) // any credit value
				}
				if !bytes.Equal(got, want) {
					t.Errorf("answer %x, want %x", got, want)
				}
				p.Book = peer2.NewBook(true)
			case nothing:
				p.Quiet()
				p.Book = peer2.NewBook(true)
			}
			if next == 2 {
				v2test.Works(t, p, 10)
				v2test.Works(t, p, 11)
				return
			}
			p.SendBytes(peertest.Bytes(t, call1))
			if m, err := peertest.Parse(string(p.Raw())); err != nil || m.Kind != peertest.Reply {
				t.Errorf("version 1 after ERR_VERS: %v, %v", m, err)
			}
		})
	}
}

// After the fall-back, the first Call of version 1 has at most 1024 bytes, and no other is sent
// before its Reply (R191).
func TestFirstCallAfterFallbackIsSmallAndAlone(t *testing.T) {
	v2test.Each(t, "three Calls", func(t *testing.T, w *rdmaiotest.World) {
		p, done := v2test.DialPeer(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
		p.Peer.Send(errVers(p.Next().XID, 2, 1, 1))
		conn := v2test.Connected(t, done)
		var calls []<-chan v2test.Result
		for xid := range uint32(3) {
			calls = append(calls, v2test.Start(conn, rpctest.BigCall(xid, 3000)))
		}
		for i := range calls {
			b := p.Peer.Message(peertest.Patience)
			m, err := peertest.Parse(string(b))
			if err != nil || m.Kind != peertest.Call || len(b) > 1024 {
				t.Fatalf("a first message of %d bytes: %v, %v", len(b), m, err)
			}
			if next := p.Peer.Message(5 * time.Millisecond); next != nil {
				t.Fatalf("%v before the Reply to Call %d", next, i)
			}
			p.Peer.Send(append(append(b[:4:4], peertest.Bytes(t, "00000001 00000001 00000000 00000000 00000000 00000000")...), rpctest.ReplyBytes(m.XID, 24)...))
		}
		for _, done := range calls {
			if r := <-done; r.Err != nil {
				t.Error(r.Err)
			}
		}
	})
}

// A message of another version closes a connection whose version is fixed (R188, T101). A server
// answers it first by ERR_VERS with the version that is fixed. An ERROR may have any version (A2):
// it is never answered, and at most its Call fails.
func TestChangeOfVersionEndsTheConnection(t *testing.T) {
	const (
		call1 = "00000009 00000001 00000008 00000000 00000000 00000000 00000000 00000009 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000"
		err1  = "00000009 00000001 00000008 00000004 00000002"
		call3 = "00000009 00000003 00080004 00000000 00000000 00000000 00000000"
	)
	props := peer2.Props(9)
	props.Credit = peer2.Word(8, 4)
	for _, c := range []struct {
		name  string
		fixed uint32
		bytes []byte
		vers  uint32 // in ERR_VERS; 0: no answer
	}{
		{"from 2 to 1", 2, peertest.Bytes(t, call1), 1},
		{"ERROR of 1 after 2", 2, peertest.Bytes(t, err1), 0},
		{"from 2 to 3", 2, peertest.Bytes(t, call3), 3},
		{"from 1 to 2", 1, props.Bytes(), 2},
		{"from 1 to 3", 1, peertest.Bytes(t, call3), 3},
	} {
		v2test.Each(t, "server, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := new(rpctest.App)
			w.Serve(a, v2test.Config(rdmaio.Config{}))
			p := v2test.RawClient(t, w, peer2.Config{})
			if c.fixed == 2 {
				v2test.Hello(t, p)
			} else {
				p.SendBytes(peertest.Bytes(t, call1))
				p.Raw()
			}
			before := len(a.Calls())
			p.SendBytes(c.bytes)
			if c.vers != 0 {
				got, want := p.Raw(), errVers(9, c.vers, c.fixed, c.fixed)
				if len(got) >= 12 {
					copy(got[8:12], want[8:12])
				}
				if !bytes.Equal(got, want) {
					t.Errorf("answer %x, want %x", got, want)
				}
			}
			if c.vers == 0 {
				v2test.Works(t, p, 10)
				return
			}
			p.Ends()
			if len(a.Calls()) != before {
				t.Error("the message was served")
			}
		})
	}
	for _, c := range []struct {
		name, bytes string
		goesOn      bool
	}{
		{"a Reply of version 1", "00000005 00000001 00000008 00000000 00000000 00000000 00000000 00000005 00000001 00000000 00000000 00000000 00000000", false},
		{"a message of version 3", "00000005 00000003 00080001 00000005 00000000 00000000", false},
		{"ERR_CHUNK of version 1", "00000005 00000001 00000008 00000004 00000002", true},
	} {
		v2test.Each(t, "client, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			done := v2test.Start(conn, rpctest.BigCall(5, 40))
			p.Next()
			p.SendBytes(peertest.Bytes(t, c.bytes))
			if r := <-done; r.Err == nil {
				t.Error("the Call succeeded")
			}
			if c.goesOn {
				v2test.Serves(t, p, conn, 6)
				return
			}
			p.Ends()
		})
	}
}

// The thresholds: 1024 bytes for the first message, 4096 when version 2 is known, then what both
// ends advertised, and never below 4096 (R40, R41, R42, R190, R214, R215, R226, R229, T104).
func TestThresholdsFollowTheVersion(t *testing.T) {
	for _, c := range []struct {
		name      string
		inline    int // of our client
		set       []peer2.Property
		grantOnly bool // no CONNPROP comes
		send      int  // the longest message
	}{
		{"no properties yet", 8192, nil, true, 4096},
		{"an empty set", 8192, nil, false, 4096},
		{"of 8192", 8192, []peer2.Property{peer2.Prop(peer2.ReceiveSize, 8192)}, false, 8192},
		{"of 6000", 8192, []peer2.Property{peer2.Prop(peer2.ReceiveSize, 6000)}, false, 6000},
		{"our own limit is less", 5120, []peer2.Property{peer2.Prop(peer2.ReceiveSize, 8192)}, false, 5120},
		{"T104: 0", 8192, []peer2.Property{peer2.Prop(peer2.ReceiveSize, 0)}, false, 4096},
		{"T104: 1", 8192, []peer2.Property{peer2.Prop(peer2.ReceiveSize, 1)}, false, 4096},
		{"T104: 4095", 8192, []peer2.Property{peer2.Prop(peer2.ReceiveSize, 4095)}, false, 4096},
		{"T104: 4294967295", 8192, []peer2.Property{peer2.Prop(peer2.ReceiveSize, 0xffffffff)}, false, 8192},
		{"R221: data of no length are the default", 8192, []peer2.Property{{ID: peer2.ReceiveSize}}, false, 4096},
		{"the send size of the peer does not matter", 8192, []peer2.Property{peer2.Prop(peer2.SendSize, 100000)}, false, 4096},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, done := v2test.DialPeer(t, w, peer2.Config{Size: 10000}, v2test.Config(rdmaio.Config{InlineSend: c.inline, InlineRecv: c.inline}))
			offer := p.Next()
			if v, _ := offer.Value(peer2.ReceiveSize); v != uint32(c.inline) {
				t.Errorf("it advertises Receives of %d bytes, %v, want %d", v, offer, c.inline)
			}
			if c.grantOnly {
				p.Send(peer2.Grant())
			} else {
				p.Send(peer2.Props(offer.XID, c.set...))
			}
			conn := v2test.Connected(t, done)
			for xid, n := range []int{c.send - 36, c.send - 35} {
				n &^= 3
				if xid == 1 {
					n += 4
				}
				end := v2test.Start(conn, rpctest.BigCall(uint32(xid), n))
				m, parts := p.Whole()
				if (parts == 1 && len(m.Payload) == n) != (xid == 0) || len(m.Bytes()) > c.send && parts == 1 {
					t.Errorf("a Call of %d bytes has %d parts: %v", n, parts, m)
				}
				r := peer2.Reply(m.XID, rpctest.ReplyBytes(m.XID, 24))
				p.Send(r)
				if r := <-end; r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
}
