package memory

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// noHeap is a device that registers only memory that it has allocated.
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
func TestMemoryIsCopiedWithoutHeapMemory(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(9001, 1)}
		w.Server, w.Client = noHeap{w.Server}, noHeap{w.Client}
		s := w.Serve(f, nil)
		c := w.Dial(nil)
		buf := bytes.Repeat([]byte{0xa5}, 12000)
		for range 2 { // in used buffers too
			reply, err := c.Call(context.Background(), rpctest.ReadCall(3, 0, buf))
			if err != nil {
				t.Fatal(err)
			}
			if data, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(data, f.Data) {
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
		if _, err := c.Call(context.Background(), rpctest.WriteCall(4, 0, data)); err != nil || !bytes.Equal(f.Data, data) {
			t.Errorf("WRITE: %v", err)
		}
		if st := c.Stats(); st.Staged != 2*9001+70000 {
			t.Errorf("client: %d bytes staged", st.Staged)
		}
		if st := rdmaiotest.ServerConn(t, s).Stats(); st.Staged != 2*9001 {
			t.Errorf("server: %d bytes staged: it puts what it fetches together in memory of the device anyway", st.Staged)
		}
		// A long reply, into a reply chunk.
		long := rpctest.NullCall(5, 40)
		long.ReplyBuf = make([]byte, 4096)
		if _, err := c.Call(context.Background(), long); err != nil {
			t.Error(err)
		}
		// A Call that fails brings nothing.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := c.Call(ctx, rpctest.ReadCall(6, 0, buf)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
