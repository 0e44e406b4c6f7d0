package strangertest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Private data of every length goes both ways, in both roles, with the longest that each revision
// has room for (RFC 5044 §7.1.1, RFC 6581 §9), and none is longer than the device says.
func TestPrivateData(t *testing.T) {
	for _, revision := range []byte{1, 2} {
		room := stranger.MaxPrivate - 4*(int(revision)-1)
		for _, n := range []int{0, 1, 4, 100, 248, room} {
			for _, initiator := range []bool{false, true} {
				cfg := config()
				cfg.Revision = int(revision)
				dev := open(t, cfg)
				most := dev.Attributes().MaxPrivateData
				h := newHost(t, dev)
				f := stranger.Startup{Enhanced: revision == 2, Revision: revision, Private: bytes.Repeat([]byte{7}, n)}
				params := &verbs.ConnParams{PrivateData: bytes.Repeat([]byte{9}, min(n, most))}
				var p *stranger.Endpoint
				var info *verbs.ConnInfo
				if initiator {
					p, info = h.respond(stranger.Config{Startup: f}, params)
				} else {
					p, info = h.accept(stranger.Config{Startup: f}, params)
				}
				if !bytes.Equal(p.Peer.Private, params.PrivateData) {
					t.Errorf("revision %d, %d bytes, initiator %t: the peer got %d bytes", revision, n, initiator, len(p.Peer.Private))
				}
				if !bytes.Equal(info.PrivateData, f.Private) {
					t.Errorf("revision %d, %d bytes, initiator %t: the host got %d bytes", revision, n, initiator, len(info.PrivateData))
				}
				if n > most && revision == 2 {
					t.Errorf("revision %d: %d bytes of private data, the device says at most %d", revision, n, most)
				}
				p.Close()
			}
		}
	}
}

// A responder may reject with private data, and an initiator gets it (RFC 5044 §7.1.2).
func TestRejectHasPrivateData(t *testing.T) {
	for _, f := range []stranger.Startup{{}, {CRC: true, Private: []byte("please")}, enhanced(true), {Revision: 2}, {Enhanced: true, PeerToPeer: true, WriteRTR: true, IRD: 1, ORD: 1}} {
		for _, why := range []string{"", "no"} {
			dev := open(t, config())
			ln, err := dev.Listen(context.Background(), local)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				req, err := ln.Accept(ctx)
				if err == nil {
					if !bytes.Equal(req.PrivateData(), f.Private) {
						err = errors.New("other private data")
					}
					err = errors.Join(err, req.Reject([]byte(why)))
				}
				done <- err
			}()
			conn := newHost(t, dev).dialTo(ln.Addr())
			_, err = stranger.Initiate(conn, stranger.Config{Startup: f})
			var no *stranger.RejectedError
			if !errors.As(err, &no) || string(no.Reply.Private) != why || no.Reply.Enhanced != f.Enhanced {
				t.Errorf("%+v: %v", f, err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			ln.Close()
		}
	}
}

// A peer-to-peer initiator that sends no RTR indication does not keep the responder waiting, and
// one that sends another message first is refused (RFC 6581 §9.2).
func TestMissingRTR(t *testing.T) {
	for name, put := range map[string]func(p *stranger.Endpoint, mr verbs.MemoryRegion){
		"a Send":                func(p *stranger.Endpoint, _ verbs.MemoryRegion) { p.Send(stranger.Send, []byte("x"), 0) },
		"a Write":               func(p *stranger.Endpoint, mr verbs.MemoryRegion) { p.Write(mr.RKey(), mr.RemoteAddr(), []byte("x")) },
		"a Send of no bytes":    func(p *stranger.Endpoint, _ verbs.MemoryRegion) { p.Send(stranger.Send, nil, 0) },
		"a Read of no bytes":    func(p *stranger.Endpoint, _ verbs.MemoryRegion) { p.Read(stranger.Read{}) },
		"the end of the stream": func(p *stranger.Endpoint, _ verbs.MemoryRegion) { p.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.RTR = iwarp.RTRWrite
			h := newHost(t, open(t, cfg))
			mr := h.region("memory", []byte("."), everything)
			h.post(10)
			addr, result := h.serve(nil)
			conn := h.dialTo(<-addr)
			f := stranger.Startup{CRC: true, Enhanced: true, IRD: 4, ORD: 4, PeerToPeer: true, WriteRTR: true}
			_, err := conn.Write(f.Bytes())
			h.must(err)
			reply, err := stranger.ReadStartup(conn, true)
			h.must(err)
			p := stranger.Attach(conn, stranger.Config{Startup: f, Regions: map[uint32]stranger.Region{}}, true, reply)
			defer p.Close()
			put(p, mr)
			r := <-result
			if r.err == nil {
				h.ended()
			}
			if string(mr.Bytes()) != "." {
				t.Error("a byte was placed")
			}
			if wc := h.next(); wc.Status == verbs.StatusSuccess {
				t.Errorf("completion %+v", wc)
			}
		})
	}
}

// A Read as RTR indication works though neither side asks for Reads: the responder raises its IRD
// to 1 (RFC 6581 §9.1).
func TestReadRTRWithoutReads(t *testing.T) {
	cfg := config()
	cfg.RTR = iwarp.RTRRead
	h := newHost(t, open(t, cfg))
	h.post(10)
	f := stranger.Startup{CRC: true, Enhanced: true, PeerToPeer: true, ReadRTR: true}
	p, _ := h.accept(stranger.Config{Startup: f, Buffers: []int{10}}, &verbs.ConnParams{InitiatorDepth: -1, ResponderResources: -1})
	if p.Peer.IRD != 1 {
		t.Errorf("IRD %d, want 1", p.Peer.IRD)
	}
	p.Send(stranger.Send, []byte("hello"), 0)
	if b, _, err := h.message(); string(b) != "hello" || err != nil {
		t.Errorf("message %q, %v", b, err)
	}
	noComplaints(t, p)

	cfg.PeerToPeer = true
	h = newHost(t, open(t, cfg))
	h.post(10)
	p, _ = h.respond(stranger.Config{Startup: f}, &verbs.ConnParams{InitiatorDepth: -1, ResponderResources: -1})
	p.Send(stranger.Send, []byte("hello"), 0)
	if b, _, err := h.message(); string(b) != "hello" || err != nil {
		t.Errorf("message %q, %v", b, err)
	}
	noComplaints(t, p)
}

// Octets behind a Request, before the Reply, are either FPDUs that count or the end of the
// connection: not both, and no crash (RFC 5044 §7.1.2).
func TestEarlyFPDU(t *testing.T) {
	for _, f := range []stranger.Startup{{CRC: true}, enhanced(true)} {
		h := newHost(t, open(t, config()))
		h.post(10)
		addr, result := h.serve(nil)
		conn := h.dialTo(<-addr)
		s := stranger.Segment{Last: true, DDPVersion: 1, RDMAPVersion: 1, Opcode: stranger.Send, MSN: 1, Payload: []byte("early")}
		_, err := conn.Write(append(f.Bytes(), stranger.Frame(s.Bytes(), true)...))
		h.must(err)
		r := <-result
		if r.err != nil {
			t.Logf("refused: %v", r.err)
			continue
		}
		if b, _, err := h.message(); err == nil && string(b) != "early" {
			t.Errorf("message %q", b)
		} else {
			t.Logf("message %q, %v", b, err)
		}
	}
}

// A Request and a Reply can be cut anywhere (RFC 5044 §5.2).
func TestStartupCuts(t *testing.T) {
	f := enhanced(true)
	f.Private = []byte("private")
	request := f.Bytes()
	for cut := 1; cut < len(request); cut++ {
		h := newHost(t, open(t, config()))
		h.post(10)
		addr, result := h.serve(nil)
		conn := h.dialTo(<-addr)
		conn.Write(request[:cut])
		time.Sleep(100 * time.Microsecond) // lets the first part arrive alone, mostly
		conn.Write(request[cut:])
		reply, err := stranger.ReadStartup(conn, true)
		h.must(err)
		works(t, h, conn, request, reply, result)
	}
	f.Reply = true
	reply := f.Bytes()
	for cut := 1; cut < len(reply); cut++ {
		h := newHost(t, open(t, config()))
		conn, result := h.dial(nil)
		request, err := stranger.ReadStartup(conn, false)
		h.must(err)
		conn.Write(reply[:cut])
		time.Sleep(100 * time.Microsecond)
		conn.Write(reply[cut:])
		r := <-result
		h.must(r.err)
		if string(r.info.PrivateData) != "private" {
			t.Errorf("private data %q", r.info.PrivateData)
		}
		p := stranger.Attach(conn, stranger.Config{Startup: f, Buffers: []int{10}}, false, request)
		h.must(h.send(verbs.SendWR{Opcode: verbs.Send}))
		if e := p.Next(); e.Kind != stranger.Message {
			t.Errorf("%v", e)
		}
		p.Close()
	}
}
