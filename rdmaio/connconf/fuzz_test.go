package connconf_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/connconf"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// connect makes a connection for one execution of a target.
func (p *pair) connect(t *testing.T) *rdmaio.Conn {
	t.Helper()
	c, err := rdmaio.Dial(context.Background(), p.client, "here", &rdmaio.Config{InlineSend: 4096, InlineRecv: 2048})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// within reports whether the terms of a connection are such as its memory allows.
func within(terms, most rdmaio.Terms) bool {
	return terms.InlineSend >= 1024 && terms.InlineSend <= most.InlineSend && terms.InlineRecv >= 1024 && terms.InlineRecv <= most.InlineRecv
}

// FuzzServer is a hostile client: it sends any Call to the program, twice. Each is answered, the
// sizes of the server stay within its memory, and a Call that is refused changes none of them.
//
//fuzz:floor 100 each execution makes a connection, with its goroutines
func FuzzServer(f *testing.F) {
	good, _ := (&rdmaconfig.Req{MaxCallSendSize: 4096, MaxReplySendSize: 4096, MaxRDMARead: 4}).MarshalBinary()
	for _, args := range [][]byte{good, make([]byte, 12), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, good[:8], append(good, 0, 0, 0, 0), nil} {
		for _, proc := range []uint32{0, 1, 2} {
			f.Add(uint32(oncrpc.Version), uint32(rdmaconfig.ProgramVers1), proc, args)
		}
		f.Add(uint32(3), uint32(rdmaconfig.ProgramVers1), uint32(1), args)
		f.Add(uint32(oncrpc.Version), uint32(2), uint32(1), args)
	}
	accepted := make(chan *rdmaio.Conn, 1)
	p := newPairBehind(f, func(next rdmaio.Handler) rdmaio.Handler {
		h := connconf.Handler(next, nil)
		return rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			accepted <- r.Conn().(*rdmaio.Conn)
			h.ServeRPC(r)
		})
	})
	f.Fuzz(func(t *testing.T, version, vers, proc uint32, args []byte) {
		c := p.connect(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var before rdmaio.Terms
		for i := range 2 {
			b, _ := oncrpc.NewCall(c.XID(), rdmaconfig.Program, vers, proc, oncrpc.None()).AppendBinary(nil)
			binary.BigEndian.PutUint32(b[8:], version)
			b = append(b, args[:min(len(args), 500)]...)
			b = append(b, make([]byte, -len(b)&3)...)
			xid := binary.BigEndian.Uint32(b)
			reply, err := c.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: b}})
			if err != nil {
				t.Fatal(err)
			}
			var head oncrpc.Header
			if err := head.UnmarshalBinary(reply.Message[:min(len(reply.Message), 24)]); err == nil && head.XID != xid {
				t.Fatalf("the reply is %x", reply.Message)
			}
			server := <-accepted
			terms := server.Terms()
			if !within(terms, server.MaxTerms()) {
				t.Fatalf("the server has %+v, at most %+v", terms, server.MaxTerms())
			}
			done := len(reply.Message) == 36 && version == oncrpc.Version && vers == rdmaconfig.ProgramVers1 && proc == 1
			if i == 0 && !done && (terms.InlineSend != 1024 || terms.Reads != 0 || terms.NoReadChunks) {
				t.Fatalf("the reply is %x, and the server has %+v", reply.Message, terms)
			}
			if done && binary.BigEndian.Uint32(reply.Message[24:]) != uint32(terms.InlineRecv) {
				t.Fatalf("the server accepts %d bytes and says %x", terms.InlineRecv, reply.Message[24:])
			}
			if i == 1 && terms != before {
				t.Fatalf("the same Call again: %+v, before %+v", terms, before)
			}
			before = terms
		}
	})
}

// FuzzClient is a hostile server: it answers the call of a client with any reply. The client gets
// an error, and keeps its sizes, or it has sizes within its memory. Its connection still works.
//
//fuzz:floor 100 each execution makes a connection, with its goroutines
func FuzzClient(f *testing.F) {
	good, _ := (&rdmaconfig.Reply{MaxCallSendSize: 2000, Align: 4, MaxRDMARead: 3}).MarshalBinary()
	for _, results := range [][]byte{good, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff}, good[:8], append(good, 0, 0, 0, 0), nil} {
		f.Add(uint32(0), uint32(0), results)
		f.Add(uint32(0), uint32(oncrpc.ProgUnavail), results)
		f.Add(uint32(1), uint32(1), []byte{0, 0, 0, 5})
	}
	p := newPair(f, nil, false)
	answer := make(chan []byte, 1)
	p.handler = rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		xid := binary.BigEndian.Uint32(r.Message)
		r.Reply(rdmaio.Message{Inline: append(binary.BigEndian.AppendUint32(nil, xid), <-answer...)}, nil)
	})
	f.Fuzz(func(t *testing.T, stat, status uint32, results []byte) {
		c := p.connect(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		before := c.Terms()
		b := []byte{0, 0, 0, 1} // REPLY
		b = binary.BigEndian.AppendUint32(b, stat)
		if stat == uint32(oncrpc.Accepted) {
			b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		}
		b = append(binary.BigEndian.AppendUint32(b, status), results[:min(len(results), 500)]...)
		answer <- append(b, make([]byte, -len(b)&3)...)
		ok, err := connconf.Configure(ctx, c, nil)
		after := c.Terms()
		if !within(after, c.MaxTerms()) || !ok && after != before || ok && err == nil && len(results) < 9 {
			t.Fatalf("%v, %v: the client has %+v, before %+v, at most %+v", ok, err, after, before, c.MaxTerms())
		}
		answer <- []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1} // PROG_UNAVAIL
		if err := rpc.NewClient(c, oncrpc.Program{Number: 7, Version: 1}, nil).Call(ctx, 1, nil, nil, nil); !errors.Is(err, oncrpc.ErrProgUnavail) {
			t.Fatalf("a later call: %v", err)
		}
	})
}
