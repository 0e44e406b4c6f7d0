package verbs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A sketch, not a provider: the interface over what a kernel gives a program
// (docs/adr/0008-verbs-fit.md). Queues are mapped memory with a producer and a
// consumer index, memory comes from mmap, the completion channel is a file
// descriptor. It compiles against the interface, and the test moves one request
// through it; what needs a device says ErrNotSupported.

// ring is a mapped queue: two indices, then entries of a fixed size.
type ring struct {
	mapped  []byte
	entry   int
	head    *atomic.Uint32 // consumer; in the mapping
	tail    *atomic.Uint32 // producer
	entries uint32
}

func (r *ring) slot(i uint32) []byte {
	at := int(i%r.entries) * r.entry
	return r.mapped[at : at+r.entry]
}

func newRing(entries uint32, entry int) *ring {
	return &ring{mapped: make([]byte, int(entries)*entry), entry: entry, head: new(atomic.Uint32), tail: new(atomic.Uint32), entries: entries}
}

// kernelDevice would hold the opened uverbs file; unsupported takes the place of the system calls.
type kernelDevice struct{ channel, kernel *os.File }

func unsupported(what string) error { return fmt.Errorf("sketch: %s: %w", what, verbs.ErrNotSupported) }

func (d *kernelDevice) Attributes() verbs.DeviceAttributes {
	// No HeapMemory: the garbage collector's pages are not pinned for a device.
	return verbs.DeviceAttributes{Name: "sketch0", MaxSendWR: 64, MaxRecvWR: 64, MaxSendSGE: 6, MaxRecvSGE: 6, MaxReadSGE: 1, MaxCQE: 256}
}
func (d *kernelDevice) AllocPD() (verbs.ProtectionDomain, error) { return &kernelPD{}, nil }
func (d *kernelDevice) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	cq := &kernelCQ{ring: newRing(uint32(entries), 32), dev: d, notify: notify}
	cq.reader.Go(cq.read)
	return cq, nil
}

func (d *kernelDevice) Listen(context.Context, string) (verbs.Listener, error) {
	return nil, unsupported("listen")
}

func (d *kernelDevice) Dial(context.Context, string, verbs.QueuePair, *verbs.ConnParams) (*verbs.ConnInfo, error) {
	// rdma_cm: write commands, poll the event file under the context.
	return nil, unsupported("dial")
}
func (d *kernelDevice) Resources() verbs.Resources { return verbs.Resources{} }
func (d *kernelDevice) Close() error               { return nil }

type kernelPD struct{}

func (pd *kernelPD) Alloc(int) ([]byte, error) { return nil, unsupported("mmap") }
func (pd *kernelPD) Free([]byte) error         { return unsupported("munmap") }
func (pd *kernelPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	return &kernelMR{buf: buf, access: access, lkey: 7, addr: 0x7f0000001000}, nil // ioctl REG_MR
}

func (pd *kernelPD) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	return &kernelQP{sq: newRing(uint32(cfg.MaxSendWR), 128), cq: cfg.SendCQ.(*kernelCQ)}, nil
}
func (pd *kernelPD) Close() error { return nil }

type kernelMR struct {
	buf        []byte
	access     verbs.Access
	lkey, rkey uint32
	addr       uint64
}

func (mr *kernelMR) Bytes() []byte                         { return mr.buf }
func (mr *kernelMR) Access() verbs.Access                  { return mr.access }
func (mr *kernelMR) RKey() uint32                          { return mr.rkey }
func (mr *kernelMR) RemoteAddr() uint64                    { return mr.addr }
func (mr *kernelMR) State() verbs.MRState                  { return verbs.MRValid }
func (mr *kernelMR) Invalidate() error                     { return unsupported("dereg") }
func (mr *kernelMR) Reregister([]byte, verbs.Access) error { return unsupported("rereg") }
func (mr *kernelMR) Deregister() error                     { return nil }

// kernelCQ: completions are read from the mapping, events from the channel.
type kernelCQ struct {
	ring   *ring
	dev    *kernelDevice
	notify func()
	armed  atomic.Bool // siw: flags in the mapping
	reader sync.WaitGroup
}

func (cq *kernelCQ) Poll(wcs []verbs.WC) (n int, err error) {
	for r := cq.ring; n < len(wcs) && r.head.Load() != r.tail.Load(); n++ {
		b := r.slot(r.head.Load())
		wcs[n] = verbs.WC{
			WRID: binary.NativeEndian.Uint64(b), Status: verbs.Status(b[8]), Opcode: verbs.WCOpcode(b[9]),
			ByteLen: binary.NativeEndian.Uint32(b[12:]), QPNum: binary.NativeEndian.Uint32(b[16:]), InvalidatedRKey: binary.NativeEndian.Uint32(b[20:]),
		}
		r.head.Add(1)
	}
	return n, nil
}
func (cq *kernelCQ) Arm(bool) error { cq.armed.Store(true); return nil }
func (cq *kernelCQ) Cap() int       { return int(cq.ring.entries) }
func (cq *kernelCQ) Close() error {
	cq.dev.channel.Close() // stops the reader, which the runtime's poller wakes
	cq.reader.Wait()
	return nil
}

// read waits for events by the runtime's poller, not in a thread.
func (cq *kernelCQ) read() {
	for event := make([]byte, 8); ; {
		if _, err := cq.dev.channel.Read(event); err != nil {
			return
		}
		if cq.armed.Swap(false) {
			cq.notify()
		}
	}
}

type kernelQP struct {
	sq *ring
	cq *kernelCQ
}

// PostSend writes entries to the mapping, then rings once for the batch.
func (q *kernelQP) PostSend(wrs []verbs.SendWR) (int, error) {
	for i, wr := range wrs {
		tail := q.sq.tail.Load()
		if tail-q.sq.head.Load() == q.sq.entries {
			return i, fmt.Errorf("sketch: %w", verbs.ErrQueueFull)
		}
		b := q.sq.slot(tail)
		binary.NativeEndian.PutUint64(b, wr.WRID)
		b[8], b[9], b[10] = byte(wr.Opcode), byte(wr.Flags), byte(len(wr.SGL))
		binary.NativeEndian.PutUint32(b[12:], wr.RKey)
		binary.NativeEndian.PutUint64(b[16:], wr.RemoteAddr)
		for k, e := range wr.SGL {
			mr, ok := e.MR.(*kernelMR)
			if !ok {
				return i, fmt.Errorf("sketch: %w", verbs.ErrForeignObject)
			}
			s := b[32+16*k:]
			binary.NativeEndian.PutUint64(s, mr.addr+uint64(e.Offset))
			binary.NativeEndian.PutUint32(s[8:], mr.lkey)
			binary.NativeEndian.PutUint32(s[12:], uint32(e.Length))
		}
		q.sq.tail.Add(1)
	}
	return len(wrs), nil
}
func (q *kernelQP) PostRecv([]verbs.RecvWR) (int, error) { return 0, unsupported("receive") }
func (q *kernelQP) Num() uint32                          { return 17 }
func (q *kernelQP) State() verbs.QPState                 { return verbs.StateInit }
func (q *kernelQP) Err() error                           { return nil }
func (q *kernelQP) Disconnect() error                    { return unsupported("disconnect") }
func (q *kernelQP) Close() error                         { return nil }

var (
	_ verbs.Device           = (*kernelDevice)(nil)
	_ verbs.ProtectionDomain = (*kernelPD)(nil)
	_ verbs.MemoryRegion     = (*kernelMR)(nil)
	_ verbs.CompletionQueue  = (*kernelCQ)(nil)
	_ verbs.QueuePair        = (*kernelQP)(nil)
)

// execute plays the kernel: it takes one request, completes it in the mapping,
// and writes an event.
func (d *kernelDevice) execute(q *kernelQP) error {
	wr := q.sq.slot(q.sq.head.Add(1) - 1)
	b := q.cq.ring.slot(q.cq.ring.tail.Load())
	copy(b, wr[:8])
	b[8], b[9] = byte(verbs.StatusSuccess), byte(verbs.WCSend)
	binary.NativeEndian.PutUint32(b[16:], 17)
	q.cq.ring.tail.Add(1)
	_, err := d.kernel.Write(make([]byte, 8))
	return err
}

// Mapped queues, registered memory by address and key, and a file that carries
// completion events fit the interface as it is.
func TestKernelFits(t *testing.T) {
	channel, kernel, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	d := &kernelDevice{channel, kernel}
	notify, woken := verbs.NotifyChannel()
	var dev verbs.Device = d
	pd, _ := dev.AllocPD()
	cq, _ := dev.CreateCQ(8, notify)
	qp, _ := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 1})
	mr, _ := pd.RegisterMemory(make([]byte, 16), verbs.AccessLocalWrite)
	wr := verbs.SendWR{WRID: 5, Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: mr, Offset: 8, Length: 8}}}
	if n, err := qp.PostSend([]verbs.SendWR{wr, wr}); n != 1 || err == nil {
		t.Fatalf("%d of two requests into a queue of one, %v", n, err)
	}
	if err := cq.Arm(false); err != nil {
		t.Fatal(err)
	}
	if err := d.execute(qp.(*kernelQP)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-woken:
	case <-time.After(5 * time.Second):
		t.Fatal("the event did not arrive")
	}
	wcs := make([]verbs.WC, 2)
	if n, err := cq.Poll(wcs); n != 1 || err != nil || wcs[0] != (verbs.WC{WRID: 5, Opcode: verbs.WCSend, QPNum: 17}) {
		t.Errorf("%d completions, %v: %+v", n, err, wcs[0])
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
}
