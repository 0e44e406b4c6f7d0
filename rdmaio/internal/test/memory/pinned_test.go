package memory

import (
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// paused is a server that lets the test look before it answers.
type paused struct {
	rdmaio.Handler
	got, goOn chan struct{}
}

func (p paused) ServeRPC(r *rdmaio.Request) {
	p.got <- struct{}{}
	<-p.goOn
	p.Handler.ServeRPC(r)
}

// What a Call registers, over devices with the memory of hardware: none for small data, and one
// region with a key, at the side that calls, for long data each way. The server sends from and
// receives into memory that is registered already.
func TestCallRegistersOneRegion(t *testing.T) {
	const small, page, large = 200, 4 << 10, 1 << 20
	data := rdmaiotest.Pattern(large, 3)
	for version := 1; version <= 2; version++ {
		for _, revokes := range []bool{false, true} {
			t.Run(fmt.Sprintf("version %d, Revoker %v", version, revokes), func(t *testing.T) {
				limited := make(map[string]*rdmaiotest.Limited)
				w := rdmaiotest.NewWith(t, rdmaiotest.Options{Versions: []int{version}, Wrap: func(name string, d verbs.Device) verbs.Device {
					limited[name] = rdmaiotest.NewLimited(d)
					cfg := fault.Config{Manners: fault.Plain}
					if revokes {
						cfg.Revoke = func(end func()) { end() }
					}
					return fault.New(cfg).Device(limited[name])
				}})
				if version == 2 {
					w.Continue = -1
				}
				h := paused{&rpctest.File{T: t, Data: data}, make(chan struct{}), make(chan struct{})}
				s := w.Serve(h, rdmaiotest.NoRemote())
				c := w.Dial(rdmaiotest.NoRemote())
				for i, tt := range []struct {
					name  string
					call  *rdmaio.Call
					n     int // bytes in memory with a key
					keys  int
					stage int // bytes that the server copies to send them
				}{
					{"null", rpctest.NullCall(0, 100), 0, 0, 0},
					{"small WRITE", rpctest.WriteCall(0, 0, data[:small]), 0, 0, 0},
					{"WRITE of 4 KiB", rpctest.WriteCall(0, 0, data[:page]), page, 1, 0},
					{"READ of 4 KiB", rpctest.ReadCall(0, 0, make([]byte, page)), page, 1, page},
					{"WRITE of 1 MiB", rpctest.WriteCall(0, 0, data), large, 1, 0},
					{"READ of 1 MiB", rpctest.ReadCall(0, 0, make([]byte, large)), large, 1, large},
				} {
					before := c.Stats()
					ended := make(chan error, 1)
					go func() {
						tt.call.Inline[3] = byte(i + 1)
						_, err := c.Call(context.Background(), tt.call)
						ended <- err
					}()
					<-h.got
					conn := s.Conns()[0]
					serverBefore, during := conn.Stats(), c.Stats()
					h.goOn <- struct{}{}
					if err := <-ended; err != nil {
						t.Fatalf("%s: %v", tt.name, err)
					}
					after := c.Stats()
					if n := after.RemoteRegistrations - before.RemoteRegistrations; n != uint64(tt.keys) || after.Registrations-before.Registrations != n {
						t.Errorf("%s: the client made %d registrations, %d with a key, want %d", tt.name, after.Registrations-before.Registrations, n, tt.keys)
					}
					if n := after.Revocations - before.Revocations; n != uint64(tt.keys) {
						t.Errorf("%s: the client revoked %d keys, want %d", tt.name, n, tt.keys)
					}
					if n := during.PinnedBytes - before.PinnedBytes; tt.n == 0 && n != 0 || n > uint64(mrpool.Size(tt.n)) {
						t.Errorf("%s: the client pinned %d bytes more, want at most %d", tt.name, n, mrpool.Size(tt.n))
					}
					if after.PinnedBytes != during.PinnedBytes { // unused memory is kept
						t.Errorf("%s: %d bytes are pinned after the Call, %d during it", tt.name, after.PinnedBytes, during.PinnedBytes)
					}
					serverAfter := conn.Stats()
					if serverAfter.Registrations != 0 || serverAfter.Revocations != 0 {
						t.Errorf("%s: the server made %d registrations and revoked %d keys, want none", tt.name, serverAfter.Registrations, serverAfter.Revocations)
					}
					if n := serverAfter.PinnedBytes - serverBefore.PinnedBytes; n > uint64(mrpool.Size(max(tt.stage, 512))) {
						t.Errorf("%s: the server pinned %d bytes more for its answer, want at most %d", tt.name, n, mrpool.Size(tt.stage))
					}
				}
				keys := make(map[string]int)
				for _, e := range w.History.Events() {
					if (e.Kind == trace.Register || e.Kind == trace.Reregister) && e.Access.Remote() {
						keys[e.Device]++
					}
				}
				if keys["client"] != 4 || keys["server"] != 0 {
					t.Errorf("the devices made %v registrations with a key, want 4 and none", keys)
				}
				for name, conn := range map[string]*rdmaio.Conn{"client": c, "server": s.Conns()[0]} {
					if now, _ := limited[name].Pinned(); uint64(now) != conn.Stats().PinnedBytes {
						t.Errorf("%s: the device has %d bytes in use, Stats says %d", name, now, conn.Stats().PinnedBytes)
					}
				}
			})
		}
	}
}

// Memory of callers that is registered in place counts as pinned while it is.
func TestCallersMemoryCountsAsPinned(t *testing.T) {
	const n = 100_000
	w := rdmaiotest.New(t)
	h := paused{&rpctest.File{T: t, Data: rdmaiotest.Pattern(n, 3)}, make(chan struct{}), make(chan struct{})}
	w.Serve(h, nil)
	c := w.Dial(nil)
	before := c.Stats().PinnedBytes
	ended := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), rpctest.ReadCall(1, 0, make([]byte, n)))
		ended <- err
	}()
	<-h.got
	if more := c.Stats().PinnedBytes - before; more != n {
		t.Errorf("%d bytes more are pinned during a READ of %d", more, n)
	}
	h.goOn <- struct{}{}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if now := c.Stats().PinnedBytes; now != before {
		t.Errorf("%d bytes are pinned after it, %d before", now, before)
	}
}
