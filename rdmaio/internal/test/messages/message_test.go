package messages

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// shape has the sizes of a Call, of the memory that it offers, and of its reply.
type shape struct {
	name     string
	inline   int   // bytes that are not eligible, after the header
	items    []int // eligible ones
	results  []int // sizes of places, -1: none offered
	replyBuf int
	segment  int
	reply    []int // eligible parts of the echo
}

// Messages of many shapes, with any items in chunks and chunks in any segments, arrive and are
// echoed with the same bytes. The server never gives a key away (R10).
func TestMessagesOfEachShapeArrive(t *testing.T) {
	for i, s := range []shape{
		{name: "R91, R98: long Call and long Reply", inline: 5000, replyBuf: 6000},
		{name: "R75: long Call with a chunk inside", inline: 3000, items: []int{2001}, replyBuf: 8000},
		{name: "R64: three read chunks, odd sizes", inline: 100, items: []int{1, 5003, 250}, replyBuf: 6000},
		{name: "R54: read chunk in segments of 333 bytes", items: []int{5001}, segment: 333, replyBuf: 6000},
		{name: "R78: write chunk in segments of 333 bytes", inline: 500, items: []int{3000}, results: []int{4000}, segment: 333, reply: []int{3001}, replyBuf: 700},
		{name: "R77, R88: two write chunks, each partly filled", inline: 40, items: []int{3000}, results: []int{2000, 2000}, reply: []int{1999, 701}, replyBuf: 1000},
		{name: "R97, R100: write chunk and long Reply", inline: 40, items: []int{9000}, results: []int{2000}, reply: []int{2000}, replyBuf: 8000},
		{name: "R86: the first place empty, the second used", inline: 40, items: []int{3000}, results: []int{0, 3000}, reply: []int{200, 2500}, replyBuf: 700},
		{name: "more items than places", inline: 40, items: []int{3000}, results: []int{2500}, reply: []int{2500, 100, 200}, replyBuf: 900},
		{name: "more places than items", inline: 40, items: []int{3000}, results: []int{3000, 10, 20}, reply: []int{2900}, replyBuf: 900},
		{name: "R58: a place much larger than the item", inline: 40, items: []int{3000}, results: []int{1 << 20}, reply: []int{3000}},
		{name: "T58: a large reply chunk, a small Reply", inline: 40, replyBuf: 1 << 16},
		{name: "one byte", items: []int{1}},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, uint64(i)) })
	}
}

func (s *shape) run(t *testing.T, seed uint64) {
	w := rdmaiotest.New(t)
	w.Serve(rpctest.Echo{Items: s.reply}, nil)
	c := w.Dial(&rdmaio.Config{SegmentSize: s.segment})
	for try := range 3 { // again: buffers and regions come from the pool
		e := rpctest.CallHeader(uint32(7+try), 0)
		e.Buf = append(e.Buf, rdmaiotest.Pattern((s.inline+3)&^3, seed)...)
		for k, n := range s.items {
			e.Opaque("item", rdmaiotest.Pattern(n, seed+uint64(k)))
			e.Words(uint32(k))
		}
		call := &rdmaio.Call{Message: e.Message()}
		for _, n := range s.results {
			call.Results = append(call.Results, make([]byte, n))
		}
		if s.replyBuf > 0 {
			call.ReplyBuf = make([]byte, s.replyBuf)
		}
		mark := w.Mark()
		reply, err := c.Call(context.Background(), call)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rpctest.Unecho(reply, len(s.reply))
		if err != nil {
			t.Fatal(err)
		}
		if want := rpctest.Whole(call.Message)[8:]; !bytes.Equal(got, want) {
			t.Fatalf("try %d: %d bytes came back, other than the %d sent", try, len(got), len(want))
		}
		rdmaiotest.OneSendEach(t, w, mark)
		for _, ev := range w.Since(mark) {
			if ev.Device == "client" && (ev.Kind == trace.Register || ev.Kind == trace.Reregister) && ev.Access&verbs.AccessRemoteWrite != 0 && ev.Access&verbs.AccessRemoteRead != 0 {
				t.Errorf("R304: event %d: rights %v are more than any chunk needs", ev.Seq, ev.Access)
			}
			if ev.Device == "server" && (ev.Kind == trace.Register || ev.Kind == trace.Reregister) && ev.Access.Remote() {
				t.Errorf("R10: event %d: the server gives a key away", ev.Seq)
			}
		}
	}
}

// The same by chance: 300 shapes over one connection.
func TestRandomShapesArrive(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	w := rdmaiotest.New(t)
	cut := &rpctest.Echo{}
	w.Serve(rdmaio.HandlerFunc(func(q *rdmaio.Request) { cut.ServeRPC(q) }), nil)
	c := w.Dial(nil)
	for xid := range uint32(300) {
		e := rpctest.CallHeader(xid, 0)
		for range r.IntN(4) {
			e.Buf = append(e.Buf, rdmaiotest.Pattern(4*r.IntN(200), uint64(xid))...)
			e.Opaque("item", rdmaiotest.Pattern(1+r.IntN(1<<r.IntN(14)), uint64(xid)))
		}
		call := &rdmaio.Call{Message: e.Message(), ReplyBuf: make([]byte, 1<<17)}
		cut.Items = nil
		for range r.IntN(4) {
			n := 1 + r.IntN(1<<r.IntN(14))
			cut.Items = append(cut.Items, n)
			if r.IntN(4) > 0 {
				call.Results = append(call.Results, make([]byte, n+r.IntN(3)))
			} else if len(call.Results) > 0 {
				call.Results = append(call.Results, nil)
			}
		}
		// More results than items is fine, a place smaller than its item is not: pad the list.
		for i := range call.Results {
			if i < len(cut.Items) && len(call.Results[i]) > 0 && len(call.Results[i]) < cut.Items[i] {
				call.Results[i] = make([]byte, cut.Items[i])
			}
		}
		reply, err := c.Call(context.Background(), call)
		if err != nil {
			t.Fatal(xid, err)
		}
		got, err := rpctest.Unecho(reply, len(cut.Items))
		if err != nil {
			t.Fatal(xid, cut.Items, err)
		}
		if want := rpctest.Whole(call.Message)[8:]; !bytes.Equal(got, want) {
			t.Fatalf("XID %d: other bytes came back", xid)
		}
	}
	if st := c.Stats(); st.FaultyMessages != 0 || st.DroppedMessages != 0 || st.ErrorMessages != 0 {
		t.Errorf("%+v", st)
	}
}

// A message that does not fit is an error at both sides, with its name, and the connection stays up
// (R101, R120; T52, T53, T56, T57).
func TestMessageThatDoesNotFitIsNamed(t *testing.T) {
	for _, c := range []struct {
		name    string
		reply   []int
		results []int
		buf     int
		what    string
		need    int
		limit   int
	}{
		{"T52: a place one byte too small", []int{2000}, []int{1999}, 4000, "result 0", 2000, 1999},
		{"T53: the second place", []int{500, 600}, []int{500, 599}, 4000, "result 1", 600, 599},
		{"T56: reply chunk too small", nil, nil, 2000, "reply", 24 + 4 + 3040 - 8, 2000},
		{"T57: no reply chunk", nil, nil, 0, "reply", 24 + 4 + 3040 - 8, 1024 - 28},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := rdmaiotest.New(t)
			result := make(chan error, 1)
			w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				h := rpctest.Echo{Items: c.reply}
				e := rpctest.ReplyHeader(0)
				copy(e.Buf, r.Message[:4])
				e.Reduce = true
				body := r.Message[8:]
				for _, n := range h.Items {
					e.Opaque("item", body[:n])
				}
				if len(h.Items) == 0 {
					e.Opaque("", body)
				}
				r.Reply(e.Message(), func(err error) { result <- err })
			}), nil)
			conn := w.Dial(nil)
			e := rpctest.CallHeader(1, 0)
			e.Opaque("item", rdmaiotest.Pattern(2996, 1))
			call := &rdmaio.Call{Message: e.Message()}
			for _, n := range c.results {
				call.Results = append(call.Results, make([]byte, n))
			}
			if c.buf > 0 {
				call.ReplyBuf = make([]byte, c.buf)
			}
			_, err := conn.Call(context.Background(), call)
			var pe *rdmaio.PeerError
			var ce *rdmaio.CallError
			if !errors.As(err, &pe) || pe.Code != rdmaio.PeerErrChunk || !errors.As(err, &ce) || !ce.MayHaveRun {
				t.Errorf("client: %v", err)
			}
			var se *rdmaio.SizeError
			if err := <-result; !errors.As(err, &se) || se.What != c.what || se.Need != c.need || se.Limit != c.limit {
				t.Errorf("server: %v, want %s %d over %d", err, c.what, c.need, c.limit)
			}
			for _, b := range call.Results {
				if i := bytes.IndexFunc(b, func(r rune) bool { return r != 0 }); i >= 0 {
					t.Error("a result that did not fit was written in part")
				}
			}
			// The connection stays up.
			call.Results, call.ReplyBuf = [][]byte{make([]byte, 4000), make([]byte, 4000)}, make([]byte, 8000)
			if _, err := conn.Call(context.Background(), call); err != nil {
				t.Errorf("the same with room enough: %v", err)
			}
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}

// Misuse is refused before anything is sent.
func TestMisuseIsRefused(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rpctest.Echo{}, nil)
	c := w.Dial(nil)
	data := make([]byte, 8)
	inline := func(n int) []byte { return make([]byte, n) }
	for _, m := range []struct {
		name string
		m    rdmaio.Message
		want error
	}{
		{"nothing", rdmaio.Message{}, rdmaio.ErrMessage},
		{"no type", rdmaio.Message{Inline: inline(4)}, rdmaio.ErrMessage},
		{"not a multiple of four", rdmaio.Message{Inline: inline(41)}, rdmaio.ErrMessage},
		{"item in the XID", rdmaio.Message{Inline: inline(40), Items: []xdr.Item{{Position: 4, Inline: 4, Data: data}}}, rdmaio.ErrMessage},
		{"item behind the end", rdmaio.Message{Inline: inline(40), Items: []xdr.Item{{Position: 44, Inline: 44, Data: data}}}, rdmaio.ErrMessage},
		{"R62: item off alignment", rdmaio.Message{Inline: inline(40), Items: []xdr.Item{{Position: 42, Inline: 42, Data: data}}}, rdmaio.ErrMessage},
		{"R60: base forgotten", rdmaio.Message{Inline: inline(40), Items: []xdr.Item{{Position: 8, Inline: 40, Data: data}}}, rdmaio.ErrMessage},
		{"R57: second item without the first", rdmaio.Message{Inline: inline(40), Items: []xdr.Item{{Position: 12, Inline: 12, Data: data}, {Position: 16, Inline: 16, Data: data}}}, rdmaio.ErrMessage},
		{"a Reply as a Call", rdmaio.Message{Inline: []byte{0, 0, 0, 1, 0, 0, 0, 1}}, rdmaio.ErrMessage},
		{"items in the wrong order", rdmaio.Message{Inline: inline(40), Items: []xdr.Item{{Position: 16, Inline: 16, Data: data}, {Position: 12, Inline: 12, Data: data}}}, rdmaio.ErrMessage},
	} {
		mark := len(w.History.Events())
		_, err := c.Call(context.Background(), &rdmaio.Call{Message: m.m})
		var ce *rdmaio.CallError
		if !errors.Is(err, m.want) || !errors.As(err, &ce) || ce.MayHaveRun {
			t.Errorf("%s: %v", m.name, err)
		}
		if list := w.Since(mark); len(list) != 0 {
			t.Errorf("%s: %s", m.name, rdmaiotest.Render(list))
		}
	}
	// A header that cannot hold all chunks.
	e := rpctest.CallHeader(1, 0)
	for range 50 {
		e.Opaque("item", rdmaiotest.Pattern(100, 1))
	}
	var se *rdmaio.SizeError
	if _, err := c.Call(context.Background(), &rdmaio.Call{Message: e.Message()}); !errors.As(err, &se) || se.Limit != 1024 {
		t.Errorf("50 chunks in a header: %v", err)
	}
	if st := c.Stats(); st.Sent != 0 || st.Regions > 64 {
		t.Errorf("%+v", st)
	}
}

// R16: an answer that is not a Reply to the Call is not sent. The caller gets SYSTEM_ERR, which
// says that the server is at fault. The handler gets ErrMessage, the log has the procedure, and the
// connection stays up.
func TestAnswerThatIsNoReplyIsNotSent(t *testing.T) {
	for name, bad := range map[string][]byte{
		"a Call":               {0, 0, 0, 7, 0, 0, 0, 0},
		"another Call's":       {0, 0, 0, 8, 0, 0, 0, 1},
		"of an unknown type":   {0, 0, 0, 7, 0, 0, 0, 9},
		"nothing":              nil,
		"too short for a type": {0, 0, 0, 7},
	} {
		t.Run(name, func(t *testing.T) {
			w := rdmaiotest.New(t)
			var log rdmaiotest.Log
			first, result := true, make(chan error, 1)
			w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				if first {
					first = false
					r.Reply(rdmaio.Message{Inline: bad}, func(err error) { result <- err })
					return
				}
				r.Reply(rdmaio.Message{Inline: []byte{0, 0, 0, 7, 0, 0, 0, 1}}, nil)
			}), &rdmaio.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			c := w.Dial(nil)
			call := &rdmaio.Call{Message: rdmaio.Message{Inline: []byte{0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 21, 0, 0, 0, 22, 0, 0, 0, 23}}}
			var head oncrpc.Header
			if reply, err := c.Call(context.Background(), call); err != nil {
				t.Errorf("the caller: %v", err)
			} else if err := head.UnmarshalBinary(reply.Message); err != nil || head.Body.Reply.Accepted.Data.Stat != oncrpc.SystemErr {
				t.Errorf("the caller: %x, expected SYSTEM_ERR", reply.Message)
			}
			for _, want := range []string{"the client gets SYSTEM_ERR", "program 21 (0x15) version 22 procedure 23", "peer=", "queue_pair="} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log has no %q: %s", want, log.String())
				}
			}
			if err := <-result; !errors.Is(err, rdmaio.ErrMessage) {
				t.Errorf("the handler: %v", err)
			}
			if _, err := c.Call(context.Background(), call); err != nil {
				t.Errorf("the next Call: %v", err)
			}
		})
	}
}

// A nil Call is refused, without a panic.
func TestNilCallIsRefused(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rpctest.Echo{}, nil)
	_, err := w.Dial(nil).Call(context.Background(), nil)
	var ce *rdmaio.CallError
	if !errors.Is(err, rdmaio.ErrMessage) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Error(err)
	}
}
