package keys

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// fixedKeys is a device that cannot exchange the memory under a key.
type fixedKeys struct{ verbs.Device }

type fixedPD struct{ verbs.ProtectionDomain }

type fixedMR struct{ verbs.MemoryRegion }

func (d fixedKeys) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	return fixedPD{pd}, err
}

func (p fixedPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	mr, err := p.ProtectionDomain.RegisterMemory(buf, access)
	if err != nil || !access.Remote() {
		return mr, err
	}
	return fixedMR{mr}, nil
}

// R289, R290, T64: a late RDMA Write of a server never reaches the memory of the Call. It does no
// harm where the key outlives the Call, and breaks the connection where the key was invalidated.
func TestLateWriteNeverReachesTheCall(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { lateWrite(t, do) })
	}
}

func lateWrite(t *testing.T, do rpctest.Form) {
	for _, fixed := range []bool{false, true} {
		rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
			h := rpctest.Silent{Got: make(chan *rdmaio.Request, 1)}
			w.Serve(h, nil)
			if fixed {
				w.Client = fixedKeys{w.Client}
			}
			c := w.Dial(nil)
			ctx, cancel := context.WithCancel(context.Background())
			buf := make([]byte, 4096)
			done := make(chan error, 1)
			go func() {
				_, err := do(c, ctx, rpctest.ReadCall(2, 0, buf))
				done <- err
			}()
			late := <-h.Got
			cancel()
			<-done
			result := make(chan error, 1)
			f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(4096, 1)}
			late.Reply(f.Serve(late), func(err error) { result <- err })
			err := <-result
			if !fixed {
				if err != nil {
					t.Error(err)
				}
				rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.Regions == 0 })
				go func() { rpctest.Quick(nil).ServeRPC(<-h.Got) }()
				rpctest.Again(t, c, rpctest.SmallCall(), 3)
			} else {
				if err == nil && w.Net != nil { // over TCP it may have been sent before the end
					t.Error("a reply to a dead key went well")
				}
				<-c.Done()
				if !errors.Is(c.Err(), verbs.ErrConnectionBroken) {
					t.Errorf("connection ended with %v", c.Err())
				}
				_, err := c.Call(context.Background(), rpctest.NullCall(3, 40))
				var ce *rdmaio.CallError
				if !errors.As(err, &ce) || ce.MayHaveRun || !errors.Is(err, verbs.ErrConnectionBroken) {
					t.Errorf("Call on a broken connection: %v", err)
				}
			}
			if !bytes.Equal(buf, make([]byte, len(buf))) {
				t.Error("memory of a cancelled Call was written to")
			}
		})
	}
}

// R289: a server that reads the data of a cancelled Call late gets the Call's data, not later
// content of its memory.
func TestLateReadGetsTheCallsData(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		h := rpctest.Silent{Got: make(chan *rdmaio.Request, 1)}
		s := w.Serve(h, &rdmaio.Config{MaxConnMemory: 5000})
		c := w.Dial(&rdmaio.Config{Credits: 4, NoCancel: true})
		go func() { rpctest.Quick(nil).ServeRPC(<-h.Got) }()
		rpctest.Again(t, c, rpctest.SmallCall(), 1)
		hold := make(chan error, 1)
		go func() { // takes the server's memory, so that the next Call waits for it
			_, err := c.Call(context.Background(), rpctest.WriteCall(2, 0, make([]byte, 4500)))
			hold <- err
		}()
		first := <-h.Got
		ctx, cancel := context.WithCancel(context.Background())
		data, done := rdmaiotest.Pattern(4500, 9), make(chan error, 1)
		call := rpctest.WriteCall(3, 0, data)
		want := rpctest.Whole(call.Message)
		go func() {
			_, err := c.Call(ctx, call)
			done <- err
		}()
		rdmaiotest.AwaitStats(t, rdmaiotest.ServerConn(t, s), func(st *rdmaio.Stats) bool { return st.Received == 3 })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		clear(data) // it is the caller's again
		rpctest.Quick(nil).ServeRPC(first)
		if err := <-hold; err != nil {
			t.Error(err)
		}
		late := <-h.Got
		if !bytes.Equal(late.Message, want) {
			t.Error("the server has other data")
		}
		rpctest.Quick(nil).ServeRPC(late)
		// The region left belongs to the other Call, and is kept for reuse.
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.Regions == 1 })
		if err := c.Err(); err != nil {
			t.Error(err)
		}
	})
}

// R289, R291: impatient callers do not cost the others their connection. The memory that their
// Calls leave is bounded and is released.
func TestImpatientCallersCostNoConnection(t *testing.T) {
	calls := 100
	if testing.Short() {
		calls = 20
	}
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { go (&rpctest.File{T: t, Data: rdmaiotest.Pattern(60_000, 1)}).ServeRPC(r) }), nil)
		c := w.Dial(nil)
		rpctest.Again(t, c, rpctest.SmallCall(), 1)
		var wg sync.WaitGroup
		var mu sync.Mutex
		late := 0
		for g := range 8 {
			wg.Go(func() {
				buf := make([]byte, 60_000)
				for i := range calls {
					xid := uint32(2 + g*1000 + i)
					call := rpctest.ReadCall(xid, 0, buf)
					if i%2 == 0 {
						call = rpctest.WriteCall(xid, 0, rdmaiotest.Pattern(40_000, uint64(i)))
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration((g+i)%5)*50*time.Microsecond)
					_, err := c.Call(ctx, call)
					cancel()
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
						return
					}
					if err != nil {
						mu.Lock()
						late++
						mu.Unlock()
					}
					clear(buf)
				}
			})
		}
		wg.Wait()
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.Abandoned == 0 })
		rdmaiotest.AwaitStats(t, rdmaiotest.ServerConn(t, s), func(st *rdmaio.Stats) bool { return st.InFlight == 0 })
		rpctest.Again(t, c, rpctest.SmallCall(), 1_000_000)
		if late == 0 {
			t.Log("no Call timed out")
		}
	})
}

// The memory that cancelled Calls leave is bounded: beyond that the keys are invalidated, and an
// access by the peer closes the connection.
func TestAbandonedMemoryIsBounded(t *testing.T) {
	w := rdmaiotest.New(t)
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 16)}
	w.Serve(h, &rdmaio.Config{Credits: 16})
	c := w.Dial(nil)
	go func() { rpctest.Quick(nil).ServeRPC(<-h.Got) }()
	rpctest.Again(t, c, rpctest.SmallCall(), 1)
	const each = 3 << 20
	var held []*rdmaio.Request
	for i := range uint32(8) {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			held = append(held, <-h.Got)
			cancel()
		}()
		if _, err := c.Call(ctx, rpctest.ReadCall(2+i, 0, make([]byte, each))); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
		return st.Abandoned == 8 && st.BufferBytes <= 17<<20 && st.BufferBytes >= 15<<20
	})
	for _, r := range held {
		r.Drop(nil)
	}
}
