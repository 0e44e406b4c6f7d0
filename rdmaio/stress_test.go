package rdmaio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Calls are cancelled at any moment: each ends once, replies reach the Calls they belong to, and in
// the end all credits are free (R135, R291; T14, T64).
func TestCancelAtAnyMoment(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Heads = true
	l := &later{h: &file{t: t}}
	t.Cleanup(l.wg.Wait)
	w.Serve(l, &rdmaio.Config{Credits: 5})
	c := w.Dial(nil)
	var xid, ok, given atomic.Uint32
	var wg sync.WaitGroup
	for g := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 60 {
				id := xid.Add(1)
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(1500))*time.Microsecond)
				reply, err := c.Call(ctx, nullCall(id, 40))
				cancel()
				switch {
				case err == nil:
					ok.Add(1)
					if got := binary.BigEndian.Uint32(reply.Message); got != id {
						t.Errorf("Call %d got the reply to %d", id, got)
					}
				case errors.Is(err, context.DeadlineExceeded):
					given.Add(1)
				default:
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if ok.Load() == 0 || given.Load() == 0 {
		t.Errorf("%d Calls succeeded, %d were cancelled: the test proves nothing", ok.Load(), given.Load())
	}
	for deadline := time.Now().Add(5 * time.Second); c.Stats().InFlight > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("credits did not come back: %+v", c.Stats())
		}
	}
	if l, err := rdmaiotest.Audit(w.Since(0), "client"); err != nil || l.MostOutstanding > 5 || len(l.Outstanding) != 0 {
		t.Errorf("%v; at most %d Calls in flight of 5 granted, %d at the end", err, l.MostOutstanding, len(l.Outstanding))
	}
}

// T2, R3, R134: a peer that sends more Calls than it has credits loses the connection, and no other
// client loses anything.
func TestOverdrawingPeer(t *testing.T) {
	w := rdmaiotest.New(t)
	h := silent{make(chan *rdmaio.Request, 8)}
	w.Serve(h, &rdmaio.Config{Credits: 2})
	honest := w.Dial(nil)
	p := w.DialRaw(t)
	for range 3 {
		p.Send(peertest.Bytes(t, msg("")))
	}
	<-p.Lost
	for range 2 { // the handler has two of them, and answers into the void
		r := <-h.got
		failed := make(chan error, 1)
		r.Reply(rdmaio.Message{Inline: replyHeader(1).buf}, func(err error) { failed <- err })
		if err := <-failed; err == nil {
			t.Error("an answer went to a lost connection")
		}
	}
	go func() {
		r := <-h.got
		r.Reply(rdmaio.Message{Inline: replyHeader(5).buf}, nil)
	}()
	if _, err := honest.Call(context.Background(), nullCall(5, 40)); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// noHeap is a device that registers only memory of its own.
type noHeap struct{ verbs.Device }

func (d noHeap) Attributes() verbs.DeviceAttributes {
	a := d.Device.Attributes()
	a.HeapMemory = false
	return a
}

func (d noHeap) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	return &noHeapPD{ProtectionDomain: pd, own: make(map[*byte]bool)}, err
}

// noHeapPD knows its own memory by its first byte.
type noHeapPD struct {
	verbs.ProtectionDomain
	mu  sync.Mutex
	own map[*byte]bool
}

func (p *noHeapPD) Alloc(n int) ([]byte, error) {
	b, err := p.ProtectionDomain.Alloc(n)
	if err == nil {
		p.mu.Lock()
		p.own[&b[0]] = true
		p.mu.Unlock()
	}
	return b, err
}

func (p *noHeapPD) RegisterMemory(b []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.own[&b[0]] {
		return nil, verbs.ErrNotSupported
	}
	return p.ProtectionDomain.RegisterMemory(b, access)
}

// Where Go memory cannot be registered it is copied, in both directions and at both ends, and
// counted. The results are the same, without a byte beyond those that the peer wrote (R84, R314).
func TestNoHeapMemory(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		f := &file{t: t, data: rdmaiotest.Pattern(9001, 1)}
		w.Server, w.Client = noHeap{w.Server}, noHeap{w.Client}
		s := w.Serve(f, nil)
		c := w.Dial(nil)
		buf := bytes.Repeat([]byte{0xa5}, 12000)
		for range 2 { // in used buffers too
			reply, err := c.Call(context.Background(), readCall(3, 0, buf))
			if err != nil {
				t.Fatal(err)
			}
			if data, err := readReply(reply); err != nil || !bytes.Equal(data, f.data) {
				t.Errorf("READ: %d bytes, %v", len(data), err)
			}
			if rest := bytes.Trim(buf[9001:], "\xa5"); len(rest) != 0 {
				t.Errorf("%d bytes behind the data were touched", len(rest))
			}
		}
		if st := c.Stats(); st.Staged != 2*9001 {
			t.Errorf("client: %d bytes staged, want the data twice", st.Staged)
		}
		data := rdmaiotest.Pattern(70000, 2)
		if _, err := c.Call(context.Background(), writeCall(4, 0, data)); err != nil || !bytes.Equal(f.data, data) {
			t.Errorf("WRITE: %v", err)
		}
		if st := c.Stats(); st.Staged != 2*9001+70000 {
			t.Errorf("client: %d bytes staged", st.Staged)
		}
		if st := serverConn(t, s).Stats(); st.Staged != 2*9001 {
			t.Errorf("server: %d bytes staged: it puts what it fetches together in memory of the device anyway", st.Staged)
		}
		// A long reply, into a reply chunk.
		long := nullCall(5, 40)
		long.ReplyBuf = make([]byte, 4096)
		if _, err := c.Call(context.Background(), long); err != nil {
			t.Error(err)
		}
		// A Call that fails brings nothing.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := c.Call(ctx, readCall(6, 0, buf)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
