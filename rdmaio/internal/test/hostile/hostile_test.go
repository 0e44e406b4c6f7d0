package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rawpeer"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// outcome is the reaction to a bad message.
type outcome int

const (
	dropped   outcome = iota // no answer, the connection stays up
	chunkErr                 // ERR_CHUNK, the connection stays up
	versErr                  // ERR_VERS, the connection stays up
	served                   // the message was good
	brokenEnd                // the connection is down
)

// A server under attack: after each message it reacts as required, and unless the connection had to
// end, serves the next good Call (R55, R56, R59, R65 to R67, R74, R93, R94, R110, R114 to R118,
// R325, R327).
func TestServerReactsToEachBadCall(t *testing.T) { rdmaiotest.EachInRealTime(t, hostileCalls) }

func hostileCalls(t *testing.T, w *rdmaiotest.World) {
	calls := 0
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		calls++
		e := rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message))
		e.Opaque("", r.Message[8:])
		r.Reply(e.Message(), nil)
	}), &rdmaio.Config{MaxReadBytes: 6000, MaxSegments: 4, MaxChunks: 3, Credits: 4})

	type row struct {
		name string
		msg  func(key, addr string) string // for a region of 8192 bytes
		want outcome
	}
	rows := []row{
		{"T27: many write chunks of nothing", func(k, a string) string {
			return peertest.Head + "00000000 00000000 " + repeat("00000001 00000000 ", 4) + "00000000 00000000" + peertest.GoodCall
		}, chunkErr},
		{"T40: a chunk of nothing at the end", func(k, a string) string { return peertest.Msg(peertest.ReadSegment(40, k, 0, a)) }, served},
		{"T44: odd segments", func(k, a string) string {
			return peertest.Msg(peertest.ReadSegment(40, k, 1, a) + peertest.ReadSegment(40, k, 2, a) + peertest.ReadSegment(40, k, 3, a) + peertest.ReadSegment(40, k, 5, a))
		}, served},
		{"R55: a segment of nothing among others", func(k, a string) string {
			return peertest.Msg(peertest.ReadSegment(40, k, 4, a) + peertest.ReadSegment(40, k, 0, a) + peertest.ReadSegment(40, k, 4, a))
		}, served},
		{"T46: 4 GiB", func(k, a string) string {
			return peertest.Msg(peertest.ReadSegment(40, k, 0xffffffff, "0000000000000000"))
		}, chunkErr},
		{"T46: three of them", func(k, a string) string {
			return peertest.Msg(peertest.ReadSegment(40, k, 0xffffffff, "0000000000000000") + peertest.ReadSegment(40, k, 0xffffffff, "0000000000000000") + peertest.ReadSegment(40, k, 0xffffffff, "0000000000000000"))
		}, chunkErr},
		{"R56: one byte over the limit", func(k, a string) string { return peertest.Msg(peertest.ReadSegment(40, k, 6001, a)) }, chunkErr},
		{"R56: just the limit", func(k, a string) string { return peertest.Msg(peertest.ReadSegment(40, k, 600, a)) }, served},
		{"T47, R59: wraps 2^64", func(k, a string) string { return peertest.Msg(peertest.ReadSegment(40, k, 16, "fffffffffffffff8")) }, chunkErr},
		{"T51: five segments", func(k, a string) string { return peertest.Msg(repeat(peertest.ReadSegment(40, k, 4, a), 5)) }, chunkErr},
		{"T51: four chunks", func(k, a string) string {
			return peertest.Msg(peertest.ReadSegment(8, k, 4, a) + peertest.ReadSegment(12, k, 4, a) + peertest.ReadSegment(16, k, 4, a) + peertest.ReadSegment(20, k, 4, a))
		}, chunkErr},
		{"T28 by chunk: position zero holds no RPC Call of this XID", func(k, a string) string { return peertest.Nomsg(peertest.ReadSegment(0, k, 40, a)) }, chunkErr},
		{"a good Call", func(k, a string) string { return peertest.Msg("") }, served},
		// These end the connection: the provider must refuse them.
		{"T48: handle 0", func(k, a string) string { return peertest.Msg(peertest.ReadSegment(40, "00000000", 8, a)) }, brokenEnd},
		{"T48: handle that is not registered", func(k, a string) string { return peertest.Msg(peertest.ReadSegment(40, "12345678", 8, a)) }, brokenEnd},
		{"a range past its region", func(k, a string) string {
			return peertest.Msg(peertest.ReadSegment(40, k, 500, fmt.Sprintf("%016x", addr(a)+8000)))
		}, brokenEnd},
	}
	// T18, T19, T21, T23 to T26, T28, T32, T33, T36 to T39, T41, T42, T110, A21.
	for _, f := range rawpeer.Faults() {
		rows = append(rows, row{f.Name, f.Message, map[rawpeer.Answer]outcome{rawpeer.ChunkErr: chunkErr, rawpeer.Mismatch: chunkErr, rawpeer.VersErr: versErr}[f.Answer]})
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			p := w.DialRaw(t)
			o := p.Offer(8192, rdmaiotest.AnyAccess)
			key, at := fmt.Sprintf("%08x", o.RKey()), fmt.Sprintf("%016x", o.RemoteAddr())
			before := calls
			p.Send(peertest.Bytes(t, c.msg(key, at)))
			wait := peertest.Patience
			if c.want == dropped || c.want == brokenEnd {
				wait = 5 * time.Millisecond
			}
			got := p.Message(wait)
			switch c.want {
			case dropped:
				if got != nil {
					t.Errorf("answered with %v", got)
				}
			case chunkErr: // R116, R117: XID and version copied, 20 bytes
				if want := peertest.Bytes(t, "cafe0001 00000001 00000004 00000004 00000002"); !bytes.Equal(got, want) {
					t.Errorf("answer %v, want %v", got, want)
				}
			case versErr: // R114 to R116
				want := peertest.Bytes(t, "cafe0001 00000000 00000004 00000004 00000001 00000001 00000001")
				copy(want[4:8], peertest.Bytes(t, c.msg(key, at))[4:8])
				if !bytes.Equal(got, want) {
					t.Errorf("answer %v, want %v", got, want)
				}
			case served:
				if len(got) < 28+24 || binary.BigEndian.Uint32(got[12:]) != 0 {
					t.Errorf("answer %v", got)
				}
			case brokenEnd:
				select {
				case <-p.Lost:
				case <-time.After(peertest.Patience):
					t.Fatal("the connection goes on")
				}
			}
			// T48: a handler never gets a part of the data
			if ran := calls - before; (ran == 1) != (c.want == served) {
				t.Errorf("the handler ran %d times", ran)
			}
			if c.want == brokenEnd {
				return
			}
			p.Send(peertest.Bytes(t, peertest.Msg("")))
			if got := p.Message(peertest.Patience); len(got) < 28+24 {
				t.Errorf("the next good Call was answered with %v", got)
			}
		})
	}
}

func addr(hex string) (v uint64) {
	fmt.Sscanf(hex, "%x", &v)
	return v
}

func repeat(s string, n int) (out string) {
	for range n {
		out += s
	}
	return out
}

// A flood of bad messages, each answered, until there are too many in a second: then the connection
// is closed, and others stay up (R310; A19, T12, T128). Without MaxErrors it stays up, too.
func TestErrorFloodEndsTheConnection(t *testing.T) {
	for _, limit := range []int{0, 5, -1} {
		w := rdmaiotest.New(t)
		s := w.Serve(&rpctest.File{T: t}, &rdmaio.Config{Credits: 2, MaxErrors: limit})
		honest := w.Dial(nil)
		if _, err := honest.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
			t.Fatal(err)
		}
		mine := rdmaiotest.ServerConn(t, s)
		p := w.DialRaw(t)
		var theirs *rdmaio.Conn
		for theirs == nil { // it may be a moment later
			for _, c := range s.Conns() {
				if c != mine {
					theirs = c
				}
			}
			time.Sleep(time.Millisecond)
		}
		answered := 0
		for range 200 {
			p.Send(peertest.Bytes(t, peertest.Msg(peertest.ReadSegment(41, "00000001", 8, "0000000000000000"))))
			if got := p.Message(peertest.Patience); len(got) != 20 {
				break
			}
			answered++
		}
		switch {
		case limit < 0:
			if answered != 200 {
				t.Errorf("%d answers without a limit", answered)
			}
		case answered < max(limit, 5) || answered == 200 || !errors.Is(theirs.Err(), rdmaio.ErrTooManyErrors):
			t.Errorf("limit %d: %d answers, %v", limit, answered, theirs.Err())
		}
		if _, err := honest.Call(context.Background(), rpctest.NullCall(2, 40)); err != nil {
			t.Error(err)
		}
	}
}

// hostileReply runs a client's READ-like Call with a timeout against a raw server that answers with
// the result of reply.
func hostileReply(t *testing.T, w *rdmaiotest.World, wait time.Duration, reply func(call []byte, p *peertest.Peer) []byte) (c *rdmaio.Conn, err error) {
	t.Helper()
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	w.Addr = ln.Addr()
	p := peertest.New(t, w.Server)
	var wg sync.WaitGroup
	wg.Add(1)
	t.Cleanup(wg.Wait)
	go func() {
		defer wg.Done()
		if !p.Accept(ln, nil) {
			return
		}
		if call := p.Message(peertest.Patience); call != nil {
			if b := reply(call, p); b != nil {
				p.Send(b)
			}
		}
	}()
	c = w.Dial(nil)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	call := rpctest.ReadCall(0xcafe0001, 0, make([]byte, 4096))
	call.ReplyBuf = make([]byte, 4096)
	_, err = c.Call(ctx, call)
	return c, err
}

// A bad Reply to a client makes the RPC fail with the name of the rule. The connection stays up,
// unless the peer sent more than a Receive takes, used memory in a way that was not offered, or
// invalidated a key that it must not (R9, R16, R87, R119 to R123). A chunk without data may come
// back unused or empty (RFC 8267 §6.4.1; R330).
func TestEachBadReplyEndsItsCall(t *testing.T) {
	// The Call's write list is 1 chunk of 1 segment at byte 20 to 44, its reply chunk follows at
	// 48: the peer echoes both.
	lists := func(call []byte) []byte { return append([]byte(nil), call[16:72]...) }
	answer := func(call []byte, credit uint32, proc uint32, lists, rest []byte) []byte {
		b := append([]byte(nil), call[:8]...)
		b = binary.BigEndian.AppendUint32(b, credit)
		b = binary.BigEndian.AppendUint32(b, proc)
		return append(append(b, lists...), rest...)
	}
	good := func(call []byte) []byte {
		l := lists(call)
		binary.BigEndian.PutUint32(l[16:], 0) // write chunk unused
		binary.BigEndian.PutUint32(l[44:], 0) // reply chunk unused
		return l
	}
	rpc := func(call []byte) []byte { return rpctest.ReplyHeader(binary.BigEndian.Uint32(call)).Buf }
	put := func(l []byte, at int, v uint32) []byte { binary.BigEndian.PutUint32(l[at:], v); return l }
	for _, c := range []struct {
		name  string
		reply func(call []byte, p *peertest.Peer) []byte
		fault string // part of the message; "" for a timeout, because the message is dropped
		ends  bool   // the connection
	}{
		{"good", func(call []byte, p *peertest.Peer) []byte { return answer(call, 8, 0, good(call), rpc(call)) }, "ok", false},
		{"RFC 8267: the write chunk empty", func(call []byte, p *peertest.Peer) []byte {
			l := good(call)
			return answer(call, 8, 0, append(put(l[:12:12], 8, 0), l[28:]...), rpc(call))
		}, "ok", false},
		{"T62: unknown XID", func(call []byte, p *peertest.Peer) []byte {
			return put(answer(call, 8, 0, good(call), rpc(call)), 0, 7)
		}, "", false},
		{"T18: 12 bytes", func(call []byte, p *peertest.Peer) []byte { return call[:12] }, "", false},
		{"a reverse Call", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 0, make([]byte, 12), put(rpc(call), 4, 0))
		}, "", false},
		{"T65: more than offered", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 0, put(good(call), 16, 4097), rpc(call))
		}, "returned length 4097, offered were 4096", true},
		{"T66: other handle", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 0, put(good(call), 12, 1), rpc(call))
		}, "returned segment names 0x1", false},
		{"T66: no write list", func(call []byte, p *peertest.Peer) []byte { return answer(call, 8, 0, make([]byte, 12), rpc(call)) }, "0 elements returned, 1 offered", false},
		{"T28: other XID in the RPC message", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 0, good(call), put(rpc(call), 0, 9))
		}, "XID of the RPC message is 0x9", false},
		{"RPC message of type 2", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 0, good(call), put(rpc(call), 4, 2))
		}, "RPC message type 2", false},
		{"RPC message of 4 bytes", func(call []byte, p *peertest.Peer) []byte { return answer(call, 8, 0, good(call), rpc(call)[:4]) }, "RPC message of 4 bytes", false},
		{"T69: NOMSG with an unused reply chunk", func(call []byte, p *peertest.Peer) []byte { return answer(call, 8, 1, good(call), nil) }, "payload chunk of 0 bytes", false},
		{"T69: NOMSG whose reply chunk was never written", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 1, put(good(call), 44, 40), nil)
		}, "XID of the RPC message is 0x0", false},
		{"T70: read list in a Reply", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 0, append(peertest.Bytes(t, peertest.ReadSegment(20, "00000001", 8, "0000000000000000")), good(call)...), rpc(call))
		}, "read list of 1 segments", false},
		{"T24 in a Reply", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 0, put(good(call), 0, 2), rpc(call))
		}, "not valid XDR", false},
		{"T72: ERR_CHUNK", func(call []byte, p *peertest.Peer) []byte { return answer(call, 8, 4, []byte{0, 0, 0, 2}, nil) }, "ERR_CHUNK", false},
		{"R119: ERR_VERS", func(call []byte, p *peertest.Peer) []byte {
			return answer(call, 8, 4, []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3}, nil)
		}, "supports versions 2 to 3", false},
		{"R122: ERROR for an unknown XID", func(call []byte, p *peertest.Peer) []byte {
			return put(answer(call, 8, 4, []byte{0, 0, 0, 2}, nil), 0, 7)
		}, "", false},
		{"T72: unknown error code", func(call []byte, p *peertest.Peer) []byte { return answer(call, 8, 4, []byte{0, 0, 0, 77}, nil) }, "code 77", false},
		{"T72: ERROR cut after the code", func(call []byte, p *peertest.Peer) []byte { return answer(call, 8, 4, []byte{0, 0, 0, 1}, nil) }, "cannot be decoded", false},
		{"T66: a segment too many", func(call []byte, p *peertest.Peer) []byte {
			l := peertest.Bytes(t, "00000000 00000001 00000002")
			return answer(call, 8, 0, append(l, append(bytes.Repeat(good(call)[12:28], 2), make([]byte, 8)...)...), rpc(call))
		}, "2 elements returned, 1 offered", false},
		{"T71, R3: a Reply larger than the Receives of this side", func(call []byte, p *peertest.Peer) []byte {
			return append(answer(call, 8, 0, good(call), rpc(call)), make([]byte, 1024)...)
		}, "length error|room for 1024", true}, // from the completion, or from the queue pair
		{"T77: a key that was not offered is invalidated", func(call []byte, p *peertest.Peer) []byte {
			p.SendInvalidate(nil, binary.BigEndian.Uint32(call[28:])^0x5a5a)
			return nil
		}, "connection broken", true},
		{"T80: key invalidated without having been asked", func(call []byte, p *peertest.Peer) []byte {
			p.SendInvalidate(nil, binary.BigEndian.Uint32(call[28:]))
			return nil
		}, "connection broken", true},
		{"R9: Write behind the end of the chunk", func(call []byte, p *peertest.Peer) []byte {
			p.Write(binary.BigEndian.Uint32(call[28:]), binary.BigEndian.Uint64(call[36:])+1, make([]byte, 4096))
			return nil
		}, "connection broken", true},
		{"T83: Read from a write chunk", func(call []byte, p *peertest.Peer) []byte {
			p.Read(binary.BigEndian.Uint32(call[28:]), binary.BigEndian.Uint64(call[36:]), 8)
			return nil
		}, "connection broken", true},
	} {
		run := func(t *testing.T, w *rdmaiotest.World) {
			wait := 10 * time.Second
			if c.fault == "" {
				wait = 200 * time.Millisecond // nothing will come
			}
			conn, err := hostileReply(t, w, wait, c.reply)
			switch {
			case c.fault == "ok":
				if err != nil {
					t.Error(err)
				}
			case c.fault == "":
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the message was not dropped: %v", err)
				}
			case err == nil || !slices.ContainsFunc(strings.Split(c.fault, "|"), func(s string) bool { return strings.Contains(err.Error(), s) }):
				t.Errorf("error %v, want one about %q", err, c.fault)
			}
			var ce *rdmaio.CallError
			unknown := strings.Contains(c.name, "ERR_VERS") // then the peer has not run it (R114)
			if err != nil && (!errors.As(err, &ce) || ce.MayHaveRun == unknown) {
				t.Errorf("%v: want MayHaveRun %v", err, !unknown)
			}
			select {
			case <-conn.Done():
				if !c.ends {
					t.Errorf("the connection ended: %v", conn.Err())
				}
			default:
				if c.ends {
					t.Error("the connection goes on")
				}
			}
		}
		t.Run("mem/"+c.name, func(t *testing.T) { rdmaiotest.Steady(t, run) })
		if c.fault != "" || !testing.Short() { // a dropped message takes time
			t.Run("rdmatcp/"+c.name, func(t *testing.T) { run(t, rdmaiotest.NewTCP(t)) })
		}
	}
}
