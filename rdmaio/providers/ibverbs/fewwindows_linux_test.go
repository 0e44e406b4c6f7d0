package ibverbs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// fewWindows connects two ends of devices with few memory windows.
func fewWindows(t *testing.T, h rdmaio.Handler, change func(*abi.DeviceAttr)) *rdmaio.Conn {
	t.Helper()
	f := smallDevice(t, change)
	cfg := &rdmaio.Config{RemoteInvalidate: 1, SendQueue: 12, Credits: 8}
	server, err := rdmaio.Listen(t.Context(), f.s, "127.0.0.2:0", h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := rdmaio.Dial(t.Context(), f.c, server.Addr(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// Calls that find no memory window wait until other Calls return, and all are made. One that needs
// more than there are fails, and says so.
func TestCallsWaitForMemoryWindows(t *testing.T) {
	for name, change := range map[string]func(*abi.DeviceAttr){
		"queue pair": func(a *abi.DeviceAttr) { a.MaxQPWR = 24 },
		"device":     func(a *abi.DeviceAttr) { a.MaxMW = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			app := rpctest.ChunkApp(8<<10, 8<<10)
			conn := fewWindows(t, app, change)
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second) // limits a wait for good
			defer stop()
			var wg sync.WaitGroup
			for i := range uint32(24) {
				wg.Go(func() {
					for k := range uint32(4) {
						if _, err := conn.Call(ctx, rpctest.ResultsCall(1+i<<8+k, 8<<10, 8<<10)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if conn.Stats().DelayedCalls == 0 {
				t.Error("no Call has waited")
			}
			many := rpctest.ResultsCall(7, 8<<10, 8<<10, 8<<10, 8<<10, 8<<10, 8<<10)
			if _, err := conn.Call(ctx, many); !errors.Is(err, verbs.ErrQueueFull) || !strings.Contains(err.Error(), "needs more than the connection has") {
				t.Errorf("a Call that needs 6 windows: %v", err)
			}
			if _, err := conn.Call(ctx, rpctest.ResultsCall(8, 8<<10, 8<<10)); err != nil {
				t.Errorf("a Call after it: %v", err)
			}
		})
	}
}

// A Call that waits for memory windows ends with its context.
func TestWaitForMemoryWindowsEndsWithTheContext(t *testing.T) {
	got := make(chan *rdmaio.Request, 8)
	conn := fewWindows(t, rpctest.Silent{Got: got}, func(a *abi.DeviceAttr) { a.MaxMW = 3 })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := conn.Call(ctx, rpctest.ResultsCall(1, 8<<10, 8<<10))
		first <- err
	}()
	r := <-got
	short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if _, err := conn.Call(short, rpctest.ResultsCall(2, 8<<10, 8<<10)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a Call without windows: %v, want that its context is done", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Drop(nil)
}

// holding is a handler that keeps its first Request, which the test answers.
type holding struct {
	app   rdmaio.Handler
	first atomic.Bool
	got   chan *rdmaio.Request
}

func (h *holding) ServeRPC(r *rdmaio.Request) {
	if !h.first.Swap(true) {
		h.got <- r
		return
	}
	h.app.ServeRPC(r)
}

// A cancelled Call whose keys the peer may still use keeps its windows, and a Call that waits for
// them is made when the peer has answered.
func TestCallsWaitForWindowsOfCancelledCalls(t *testing.T) {
	h := &holding{app: rpctest.ChunkApp(8<<10, 8<<10), got: make(chan *rdmaio.Request, 1)}
	conn := fewWindows(t, h, func(a *abi.DeviceAttr) { a.MaxMW = 3 })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := conn.Call(ctx, rpctest.ResultsCall(1, 8<<10, 8<<10))
		first <- err
	}()
	r := <-h.got
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := conn.Call(t.Context(), rpctest.ResultsCall(2, 8<<10, 8<<10))
		second <- err
	}()
	for conn.Stats().DelayedCalls == 0 {
		select {
		case err := <-second:
			t.Errorf("the Call did not wait: %v", err)
			h.app.ServeRPC(r)
			return
		case <-time.After(time.Millisecond):
		}
	}
	h.app.ServeRPC(r)
	if err := <-second; err != nil {
		t.Errorf("a Call that waited for the windows of a cancelled one: %v", err)
	}
}

// Calls that wait for windows get them in their order: a Call that comes later does not pass them.
func TestWaitsForWindowsAreInOrder(t *testing.T) {
	h := &holding{app: rpctest.ChunkApp(8<<10, 8<<10), got: make(chan *rdmaio.Request, 1)}
	var order sync.Mutex
	var served []uint32
	conn := fewWindows(t, rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		order.Lock()
		served = append(served, rpctest.XID(r.Message))
		order.Unlock()
		switch rpctest.XID(r.Message) {
		case 1:
			h.ServeRPC(r)
		case 2:
			rpctest.ChunkApp(8<<10, 8<<10, 8<<10).ServeRPC(r)
		case 3:
			rpctest.ChunkApp(8 << 10).ServeRPC(r)
		}
	}), func(a *abi.DeviceAttr) { a.MaxMW = 3 })
	var wg sync.WaitGroup
	call := func(xid uint32, results ...int) {
		wg.Go(func() {
			if _, err := conn.Call(t.Context(), rpctest.ResultsCall(xid, results...)); err != nil {
				t.Errorf("Call %d: %v", xid, err)
			}
		})
	}
	call(1, 8<<10, 8<<10) // two of the windows
	r := <-h.got
	call(2, 8<<10, 8<<10, 8<<10)
	passed := func() bool {
		order.Lock()
		defer order.Unlock()
		return len(served) > 1
	}
	await := func(n uint64) {
		for conn.Stats().DelayedCalls < n && !passed() {
			time.Sleep(time.Millisecond)
		}
	}
	await(1)
	call(3, 8<<10) // there is a window for it
	await(2)
	h.app.ServeRPC(r)
	wg.Wait()
	order.Lock()
	defer order.Unlock()
	if !slices.Equal(served, []uint32{1, 2, 3}) {
		t.Errorf("served %v, want their order", served)
	}
}
