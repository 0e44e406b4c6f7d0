package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A list of rpcbind has no largest size; each entry with empty strings has 24 bytes on the wire.
var listV4 = oncrpc.Program{Number: rpcbind.Program, Version: rpcbind.Version4}

const (
	listHead  = rpc.ReplyHead + 4 // bytes of a reply with an empty list
	listEntry = 24
)

// lists serves lists of the length in its field entries.
type lists struct {
	entries atomic.Int64
	hold    chan struct{} // if set, each call waits for a value
	called  chan struct{}
}

func (l *lists) service() *rpc.Service {
	svc := rpc.NewService(listV4)
	rpc.Handle(svc, rpcbind.ProcDump, func(_ *rpc.Request, _ *oncrpc.Void, res *rpcbind.Mappings) error {
		n := int(l.entries.Load())
		if l.hold != nil {
			l.called <- struct{}{}
			<-l.hold
		}
		for i := range n {
			*res = append(*res, rpcbind.Mapping{Prog: uint32(i), Vers: uint32(n)})
		}
		return nil
	})
	return svc
}

// isList returns an error if got is not the list of n entries.
func isList(got rpcbind.Mappings, n int) error {
	if len(got) != n {
		return fmt.Errorf("%d entries came, want %d", len(got), n)
	}
	for i := range got {
		if got[i].Prog != uint32(i) || got[i].Vers != uint32(n) {
			return fmt.Errorf("entry %d of %d is %+v", i, n, &got[i])
		}
	}
	return nil
}

// overBoth runs a test over both providers.
func overBoth(t *testing.T, f func(t *testing.T, w *world)) {
	for _, provider := range []string{"mem", "rdmatcp"} {
		t.Run(provider, func(t *testing.T) { f(t, newWorld(t, provider)) })
	}
}

// settled waits until no Call of the connection is left and at most the kept regions are in use.
func settled(t *testing.T, c *rdmaio.Conn, most uint64) {
	t.Helper()
	var st rdmaio.Stats
	for range 2000 {
		if st = c.Stats(); st.InFlight == 0 && st.Abandoned == 0 && st.BufferBytes <= most {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d Calls in flight, %d abandoned, %d bytes of buffers, want %d at most", st.InFlight, st.Abandoned, st.BufferBytes, most)
}

// RFC 8166 §4.3.3 (R96): results of any length up to the limit arrive without a size set by the
// caller.
func TestGrowingResults(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world) {
		l := new(lists)
		w.serve(rpc.NewHandler(nil, l.service()), nil)
		client, err := rdmaio.NewClient(w.client, w.addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.closes(client.Close)
		for name, transport := range map[string]oncrpc.Carrier{"Conn": w.dial(nil), "Client": client} {
			c := rpc.NewClient(transport, listV4, nil)
			for _, n := range []int{1, 2, 167, 168, 169, 1000, 2729, 2730, 10_000, 3, 168, 169, 0} {
				l.entries.Store(int64(n))
				var got rpcbind.Mappings
				err := c.Call(context.Background(), rpcbind.ProcDump, nil, &got, nil)
				if err == nil {
					err = isList(got, n)
				}
				if err != nil {
					t.Errorf("%s: %d entries: %v", name, n, err)
				}
			}
		}
	})
}

// inline4096 returns a Config for connections whose inline messages have up to 4096 bytes.
func inline4096() *rdmaio.Config { return &rdmaio.Config{InlineSend: 4096, InlineRecv: 4096} }

// A reply of ClientConfig.MaxReply bytes arrives, and a longer one is refused. The error has the
// limit, its side, its size and how to raise it.
func TestMaxReply(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world) {
		l := new(lists)
		w.serve(rpc.NewHandler(nil, l.service()), nil)
		conn := w.dial(inline4096())
		call := func(most int, opt *rpc.Options, n int) error {
			l.entries.Store(int64(n))
			var got rpcbind.Mappings
			if err := rpc.NewClient(conn, listV4, &rpc.ClientConfig{MaxReply: most}).Call(context.Background(), rpcbind.ProcDump, nil, &got, opt); err != nil {
				return err
			}
			return isList(got, n)
		}
		for _, tt := range []struct {
			most  int // MaxReply
			opt   *rpc.Options
			bytes int // the limit that holds
			want  rdmaio.RefusedError
			text  []string
		}{
			{0, nil, 512 << 10, rdmaio.RefusedError{ReplyChunk: true, MaxReply: true}, []string{"longer than the limit here", "524288 bytes", "MaxReply of rpc.ClientConfig", "raise Call.MaxReply"}},
			{10_000, nil, 10_000, rdmaio.RefusedError{ReplyChunk: true, MaxReply: true}, []string{"10000 bytes", "MaxReply"}},
			{4069, nil, 4069, rdmaio.RefusedError{ReplyChunk: true, MaxReply: true}, []string{"4069 bytes"}},
			{4068, nil, 4068, rdmaio.RefusedError{}, []string{"4068 bytes that come inline", "MaxReply"}},
			{-1, nil, 4068, rdmaio.RefusedError{}, []string{"4068 bytes that come inline"}},
			{10_000, &rpc.Options{ReplyBuf: make([]byte, 6000)}, 6000, rdmaio.RefusedError{ReplyChunk: true}, []string{"6000 bytes of ReplyBuf"}},
			{5000, &rpc.Options{ReplyBuf: make([]byte, 9000)}, 9000, rdmaio.RefusedError{ReplyChunk: true}, []string{"9000 bytes of ReplyBuf"}},
		} {
			name := fmt.Sprintf("MaxReply %d, options %v", tt.most, tt.opt != nil)
			n := (tt.bytes - listHead) / listEntry
			if err := call(tt.most, tt.opt, n); err != nil {
				t.Errorf("%s: %d entries: %v", name, n, err)
			}
			var got *rdmaio.RefusedError
			err := call(tt.most, tt.opt, n+1)
			if !errors.As(err, &got) {
				t.Errorf("%s: one entry more: %v", name, err)
				continue
			}
			tt.want.Peer, tt.want.ReplyRoom = got.Peer, tt.bytes
			if !tt.want.ReplyChunk && got.ReplyRoom != 4068 || tt.want.ReplyChunk && *got != tt.want {
				t.Errorf("%s: %+v, want %+v", name, *got, tt.want)
			}
			for _, text := range tt.text {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %q is not in: %v", name, text, err)
				}
			}
		}
	})
}

// unlimited is a type without XDRMaxSize.
type unlimited struct{ store.WriteRes }

func (*unlimited) XDRMaxSize() {} // hides that of WriteRes

// Only calls whose results may not fit inline offer a chunk for them, as large as the results can
// be.
func TestReplyChunkOffered(t *testing.T) {
	w := newWorld(t, "mem")
	rooms := make(chan int, 1)
	svc := rpc.NewService(storeV1)
	rpc.Handle(svc, store.ProcWrite, func(r *rpc.Request, _ *store.WriteArgs, _ *store.WriteRes) error {
		_, n := r.Room()
		rooms <- n
		return nil
	})
	rpc.Handle(svc, store.ProcRead, func(r *rpc.Request, _ *store.ReadArgs, _ *store.ReadRes) error {
		_, n := r.Room()
		rooms <- n
		return nil
	})
	w.serve(rpc.NewHandler(nil, svc), nil)
	var chunks atomic.Int64
	cfg := inline4096()
	cfg.Events = func(e rdmaio.Event) {
		if e, ok := e.(*rdmaio.CallEnd); ok {
			chunks.Store(int64(e.WriteChunks))
		}
	}
	conn := w.dial(cfg)
	const inline = 4096 - 28
	for name, tt := range map[string]struct {
		proc   uint32
		res    xdr.Value
		most   int
		opt    *rpc.Options
		chunks int64
		room   int
	}{
		"fixed":                 {store.ProcWrite, new(store.WriteRes), 0, nil, 0, inline},
		"bounded":               {store.ProcRead, new(store.ReadRes), 1 << 30, nil, 1, rpc.ReplyHead + 400 + store.ReadResMaxSize},
		"bounded, by default":   {store.ProcRead, new(store.ReadRes), 0, nil, 1, rpc.ReplyHead + 400 + store.ReadResMaxSize},
		"bounded, lower limit":  {store.ProcRead, new(store.ReadRes), 512 << 10, nil, 1, 512 << 10},
		"bounded, none":         {store.ProcRead, new(store.ReadRes), -1, nil, 0, inline},
		"no largest size":       {store.ProcWrite, new(unlimited), 0, nil, 1, 512 << 10},
		"with Results":          {store.ProcRead, new(store.ReadRes), 0, &rpc.Options{Results: [][]byte{make([]byte, 9000)}}, 1, inline - 24},
		"with ReplyBuf":         {store.ProcRead, new(store.ReadRes), 0, &rpc.Options{ReplyBuf: make([]byte, 5000)}, 1, 5000},
		"with a short ReplyBuf": {store.ProcRead, new(store.ReadRes), 0, &rpc.Options{ReplyBuf: make([]byte, 500)}, 0, inline},
	} {
		before := conn.Stats().Registrations
		args := xdr.Value(new(store.WriteArgs))
		if tt.proc == store.ProcRead {
			args = new(store.ReadArgs)
		}
		if err := rpc.NewClient(conn, storeV1, &rpc.ClientConfig{MaxReply: tt.most}).Call(context.Background(), tt.proc, args, tt.res, tt.opt); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if room := <-rooms; room != tt.room || chunks.Load() != tt.chunks {
			t.Errorf("%s: room for %d bytes, %d chunks, want %d and %d", name, room, chunks.Load(), tt.room, tt.chunks)
		}
		if n := conn.Stats().Registrations - before; n != uint64(tt.chunks) {
			t.Errorf("%s: %d registrations for %d chunks", name, n, tt.chunks)
		}
	}
}

// A truncated or invalid reply in the reply chunk fails only its own call.
func TestBrokenLongReply(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world) {
		full := make(rpcbind.Mappings, 500)
		wire, err := oncrpc.NewReply(0, oncrpc.Success).AppendBinary(nil)
		if err == nil {
			wire, err = full.AppendBinary(wire)
		}
		if err != nil {
			t.Fatal(err)
		}
		var length atomic.Int64
		w.serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			answer := append([]byte(nil), wire...)
			copy(answer, r.Message[:4])
			r.Reply(rdmaio.Message{Inline: answer[:length.Load()]}, nil)
		}), nil)
		conn := w.dial(inline4096())
		c := rpc.NewClient(conn, listV4, nil)
		var got rpcbind.Mappings
		for n := len(wire) - 4; n > 4072; n -= 1236 {
			length.Store(int64(n))
			if err := c.Call(context.Background(), rpcbind.ProcDump, nil, &got, nil); !errors.Is(err, xdr.ErrShort) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		length.Store(int64(len(wire)))
		if err := c.Call(context.Background(), rpcbind.ProcDump, nil, &got, nil); err != nil || len(got) != len(full) {
			t.Errorf("%d entries, %v", len(got), err)
		}
	})
}

// R289, R291: memory offered for the reply of a cancelled call is not reused until the reply has
// arrived. The late reply does no harm, and the memory is then free. There is none before the
// server sends one.
func TestCancelledLongReply(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world) {
		l := &lists{hold: make(chan struct{}), called: make(chan struct{})}
		l.entries.Store(5000)
		w.serve(rpc.NewHandler(nil, l.service()), nil)
		conn := w.dial(nil)
		c := rpc.NewClient(conn, listV4, nil)
		dump := func(ctx context.Context) error {
			var got rpcbind.Mappings
			if err := c.Call(ctx, rpcbind.ProcDump, nil, &got, nil); err != nil {
				return err
			}
			return isList(got, 5000)
		}
		go func() { <-l.called; l.hold <- struct{}{} }()
		if err := dump(context.Background()); err != nil {
			t.Fatal(err)
		}
		settled(t, conn, 1<<62)
		most := conn.Stats().BufferBytes
		const calls = 8
		for range calls {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { <-l.called; cancel() }()
			if err := dump(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool {
			return st.Abandoned == calls && st.BufferBytes <= most+256<<10
		})
		for range calls {
			l.hold <- struct{}{}
		}
		settled(t, conn, most+calls*512<<10) // kept for further calls
		go func() { <-l.called; l.hold <- struct{}{} }()
		if err := dump(context.Background()); err != nil || conn.Err() != nil {
			t.Errorf("after late replies: %v, %v", err, conn.Err())
		}
	})
}

// A connection that ends while replies are awaited frees the memory offered for them; Close finds
// none in use.
func TestLostWithLongReply(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world) {
		l := &lists{hold: make(chan struct{}), called: make(chan struct{})}
		l.entries.Store(5000)
		w.serve(rpc.NewHandler(nil, l.service()), nil)
		for cancelled := range 2 {
			conn := w.dial(nil)
			c := rpc.NewClient(conn, listV4, nil)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() {
				var got rpcbind.Mappings
				done <- c.Call(ctx, rpcbind.ProcDump, nil, &got, nil)
			}()
			<-l.called
			want := rdmaio.ErrClosed
			if cancelled > 0 {
				want = context.Canceled
				cancel()
				if err := <-done; !errors.Is(err, want) {
					t.Error(err)
				}
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			if cancelled == 0 {
				if err := <-done; !errors.Is(err, want) {
					t.Error(err)
				}
			}
			if st := conn.Stats(); st.Buffers != 0 || st.Regions != 0 {
				t.Errorf("%d buffers and %d regions are left", st.Buffers, st.Regions)
			}
			cancel()
			l.hold <- struct{}{}
		}
	})
}

// Many calls at a time, patient ones and others, with replies of all lengths: none gets another's
// reply, and the memory is bounded by MaxReply for each credit.
func TestConcurrentLongReplies(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world) {
		svc := rpc.NewService(listV4)
		rpc.Handle(svc, rpcbind.ProcSet, func(_ *rpc.Request, args *rpcbind.Mapping, res *rpcbind.Mappings) error {
			for i := range args.Prog {
				*res = append(*res, rpcbind.Mapping{Prog: i, Vers: args.Prog})
			}
			return nil
		})
		w.serve(rpc.NewHandler(nil, svc), nil)
		const most, credits = 64 << 10, 8
		conn := w.dial(&rdmaio.Config{Credits: credits})
		c := rpc.NewClient(conn, listV4, &rpc.ClientConfig{MaxReply: most})
		idle := conn.Stats().BufferBytes
		var wg sync.WaitGroup
		for range 2 * credits {
			wg.Go(func() {
				for i := range 40 {
					n, ctx, cancel := rand.IntN(2300), context.Background(), func() {}
					if i%3 == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(300))*time.Microsecond)
					}
					var got rpcbind.Mappings
					err := c.Call(ctx, rpcbind.ProcSet, &rpcbind.Mapping{Prog: uint32(n)}, &got, nil)
					cancel()
					if err == nil {
						err = isList(got, n)
					}
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		settled(t, conn, idle+2*credits*(most+4096)) // those of cancelled calls, and of others
		if err := conn.Err(); err != nil {
			t.Error(err)
		}
	})
}
