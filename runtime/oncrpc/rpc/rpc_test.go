package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var storeV1 = oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}

// world has a device for each side of a connection.
type world struct {
	t              testing.TB
	client, server verbs.Device
	addr           string
}

func newWorld(t testing.TB, provider string) *world {
	t.Helper()
	w := &world{t: t, addr: "store"}
	net := mem.New(nil)
	open := func(name string) verbs.Device {
		var d verbs.Device
		var err error
		if provider == "mem" {
			d, err = net.Open(name, nil)
		} else {
			w.addr = "127.0.0.1:0"
			d, err = rdmatcp.Open(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.closes(d.Close)
		return d
	}
	w.client, w.server = open("client"), open("server")
	return w
}

// closes closes c at the end of the test.
func (w *world) closes(f func() error) {
	w.t.Cleanup(func() {
		if err := f(); err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) serve(h rdmaio.Handler, cfg *rdmaio.Config) {
	w.t.Helper()
	s, err := rdmaio.Listen(context.Background(), w.server, w.addr, h, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.addr = s.Addr()
	w.closes(s.Close)
}

func (w *world) dial(cfg *rdmaio.Config) *rdmaio.Conn {
	w.t.Helper()
	c, err := rdmaio.Dial(context.Background(), w.client, w.addr, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.closes(c.Close)
	return c
}

// files is a store whose Reads return the data of the last Write.
type files struct {
	mu   sync.Mutex
	data []byte
}

func (f *files) write(_ *rpc.Request, args *store.WriteArgs, res *store.WriteRes) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = bytes.Clone(args.Data) // args is a part of the message
	res.Count = uint32(len(f.data))
	return nil
}

func (f *files) read(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	res.OK = store.ReadOK{EOF: true, Data: f.data}
	return nil
}

func newService() *rpc.Service {
	svc, f := rpc.NewService(storeV1), new(files)
	rpc.Handle(svc, store.ProcWrite, f.write)
	rpc.Handle(svc, store.ProcRead, f.read)
	return svc
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// exchange writes and reads data of several sizes.
func exchange(t *testing.T, c *rpc.Client, chunks bool) {
	t.Helper()
	ctx := context.Background()
	if err := c.Call(ctx, store.ProcNull, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 900, 70_001, 1 << 20} {
		if n > 1000 && !chunks {
			break
		}
		data := pattern(n)
		var done store.WriteRes
		if err := c.Call(ctx, store.ProcWrite, &store.WriteArgs{Name: []byte("a"), Data: data}, &done, nil); err != nil {
			t.Fatal(err)
		}
		if int(done.Count) != n {
			t.Errorf("the server got %d bytes, want %d", done.Count, n)
		}
		place := make([]byte, n)
		for name, opt := range map[string]*rpc.Options{
			"inline": nil, "place": {Results: [][]byte{place}}, "reply": {ReplyBuf: make([]byte, n+rpc.ReplyHead+16)},
		} {
			if opt == nil && n > 1000 {
				continue
			}
			var got store.ReadRes
			if err := c.Call(ctx, store.ProcRead, &store.ReadArgs{Name: []byte("a"), Count: uint32(n)}, &got, opt); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !bytes.Equal(got.OK.Data, data) || !got.OK.EOF {
				t.Errorf("%s: %d bytes came, other than the %d written", name, len(got.OK.Data), n)
			}
			if chunks && name == "place" && n > 0 && &got.OK.Data[0] != &place[0] {
				t.Error("the data is not in the caller's memory")
			}
			if chunks && name == "reply" && n > 0 && &got.OK.Data[0] != &opt.ReplyBuf[rpc.ReplyHead+12] {
				t.Error("the results are not a part of ReplyBuf")
			}
		}
	}
}

// Messages of all shapes arrive over a connection, a client and a backchannel.
func TestMessagesOfAllShapesArrive(t *testing.T) {
	for _, tt := range []struct {
		provider string
		versions []int
	}{{"mem", nil}, {"rdmatcp", nil}, {"mem", []int{2}}, {"rdmatcp", []int{2, 1}}} {
		t.Run(fmt.Sprint(tt.provider, tt.versions), func(t *testing.T) {
			w := newWorld(t, tt.provider)
			back := rdmaio.NewBackchannel(nil)
			defer back.Close()
			svc := newService()
			svc.Allow = func(r *rpc.Request) error { back.Bind(r.Conn().(*rdmaio.Conn)); return nil }
			w.serve(rpc.NewHandler(nil, svc), &rdmaio.Config{ReverseCredits: 4, Versions: tt.versions})

			conn := w.dial(&rdmaio.Config{ReverseHandler: rpc.NewHandler(nil, newService()), Versions: tt.versions})
			exchange(t, rpc.NewClient(conn, storeV1, nil), true)
			exchange(t, rpc.NewClient(back, storeV1, nil), false)

			client, err := rdmaio.NewClient(w.client, w.addr, &rdmaio.ClientConfig{Conn: &rdmaio.Config{Versions: tt.versions}})
			if err != nil {
				t.Fatal(err)
			}
			w.closes(client.Close)
			exchange(t, rpc.NewClient(client, storeV1, nil), true)
		})
	}
}

// A program whose number is chosen at run time is called and served by that number, with its
// bindings, and no longer by the number of the interface.
func TestTransientProgram(t *testing.T) {
	const chosen = 0x40000123
	w := newWorld(t, "mem")
	svc := newService()
	svc.SetProgram(chosen)
	w.serve(rpc.NewHandler(nil, svc), nil)
	conn := w.dial(nil)
	exchange(t, rpc.NewClient(conn, storeV1, &rpc.ClientConfig{Program: chosen}), true)

	err := rpc.NewClient(conn, storeV1, nil).Call(context.Background(), store.ProcNull, nil, nil, nil)
	var refused *oncrpc.ReplyError
	if !errors.As(err, &refused) || refused.Accept != oncrpc.ProgUnavail {
		t.Errorf("a call to the number of the interface: %v, want PROG_UNAVAIL", err)
	}
}

// Concurrent calls that share pooled memory get their own results.
func TestConcurrentCallsGetTheirResults(t *testing.T) {
	w := newWorld(t, "mem")
	svc := rpc.NewService(storeV1)
	rpc.HandleAsync(svc, store.ProcRead, func(_ *rpc.Request, args *store.ReadArgs, res *store.ReadRes, answer func(error)) {
		go func() {
			res.OK.Data = bytes.Repeat([]byte{byte(args.Offset)}, int(args.Count))
			answer(nil)
			answer(errors.New("once is enough"))
		}()
	})
	w.serve(rpc.NewHandler(nil, svc), nil)
	c := rpc.NewClient(w.dial(nil), storeV1, nil)
	var wg sync.WaitGroup
	for k := range 16 {
		wg.Go(func() {
			var res store.ReadRes
			place := make([]byte, 8000)
			for i := range 50 {
				n, opt := (i*211)%8000, (*rpc.Options)(nil)
				if n > 3000 {
					opt = &rpc.Options{Results: [][]byte{place}}
				}
				err := c.Call(context.Background(), store.ProcRead, &store.ReadArgs{Offset: uint64(k*16 + i), Count: uint32(n)}, &res, opt)
				if err != nil || !bytes.Equal(res.OK.Data, bytes.Repeat([]byte{byte(k*16 + i)}, n)) {
					t.Errorf("%d bytes of %d: %d came: %v", n, byte(k*16+i), len(res.OK.Data), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// The function passed to AfterReply runs once, when the memory of the results is no longer in use.
// If the reply was not sent, it gets the reason.
func TestAfterReply(t *testing.T) {
	w := newWorld(t, "mem")
	after := make(chan error, 2)
	failed := make(chan error, 2)
	svc := rpc.NewService(storeV1)
	rpc.Handle(svc, store.ProcRead, func(r *rpc.Request, args *store.ReadArgs, res *store.ReadRes) error {
		results, reply := r.Room()
		res.OK.Data = make([]byte, args.Count)
		if len(results) != 1 || results[0] != 2000 || reply < 3000 {
			t.Errorf("there is room for %v and %d bytes", results, reply)
		}
		r.AfterReply(func(err error) { after <- err })
		return nil
	})
	w.serve(rpc.NewHandler(&rpc.HandlerConfig{Failed: func(_ *rpc.Request, err error) { failed <- err }}, svc), nil)
	c := rpc.NewClient(w.dial(nil), storeV1, nil)
	opt := &rpc.Options{Results: [][]byte{make([]byte, 2000)}}
	for _, n := range []uint32{2000, 2001} {
		var res store.ReadRes
		err := c.Call(context.Background(), store.ProcRead, &store.ReadArgs{Count: n}, &res, opt)
		why := <-after
		var size *rdmaio.SizeError
		var peer *rdmaio.PeerError
		if n == 2000 && (err != nil || why != nil) {
			t.Errorf("%d bytes: %v, %v", n, err, why)
		}
		if n == 2001 && (!errors.As(err, &peer) || !errors.As(why, &size) || why != <-failed) {
			t.Errorf("%d bytes for a place of 2000: the caller saw %v, the server %v", n, err, why)
		}
	}
}
