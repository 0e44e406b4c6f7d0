package ibverbs

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// connection is an rdma_cm_id of Dial, or of a connection request.
//
//	open ── adopt ──> has a queue pair ── Established: attach ──> connected
//	  └────────────────────┴──────────────────────────────────────────┴── close ──> closed
//
// Events that come before attach are for the goroutine in Dial or Accept. Later ones make the queue
// pair fail.
type connection struct {
	dev    *Device
	peer   string // the address of Dial; "" for a connection request
	port   int    // of the device, for the goroutine in Dial: 0 until the address is resolved
	before uint64 // bytes of the initiator before Accept, for the goroutine in Accept
	events chan abi.CMEvent

	ended   chan struct{} // closed when the queue pair ends, or the request is refused
	endOnce sync.Once

	attached atomic.Pointer[queuePair] // the queue pair whose end a disconnection is

	call joinCall

	mu     sync.Mutex // held during calls of the library for id, except its destruction
	id     lib.ID
	closed bool
	joined bool // Connect or Accept was called
}

// maxEvents is more than the number of events that a connection has before it is established.
const maxEvents = 16

func newConnection(d *Device, id lib.ID) *connection {
	return &connection{dev: d, id: id, events: make(chan abi.CMEvent, maxEvents), ended: make(chan struct{}), call: newJoinCall()}
}

// open creates the rdma_cm_id of an outgoing connection.
func (c *connection) open() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return verbs.ErrDisconnected
	}
	id, err := c.dev.lib.CreateID(c.dev.cm, 0)
	if err != nil {
		return err
	}
	c.id = id
	c.dev.objects.addID(id, c)
	return nil
}

// do calls f with the rdma_cm_id, unless the connection is closed.
func (c *connection) do(f func(id lib.ID) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.id == 0 {
		return verbs.ErrDisconnected
	}
	return f(c.id)
}

// join calls f, which connects or accepts, after it has given the rdma_cm_id the queue pair. It
// does neither if the queue pair has begun to end, because the queue pair is destroyed before the
// rdma_cm_id.
func (c *connection) join(q *queuePair, f func(id lib.ID) error) error {
	return c.do(func(id lib.ID) error {
		c.call.begun.Store(true) // first: an end that does not see it is seen here
		defer close(c.call.returned)
		select {
		case <-c.ended:
			c.call.answer()
			return verbs.ErrDisconnected
		default:
		}
		abi.SetCMQP(uintptr(id), uintptr(q.hw))
		c.joined = true
		err := f(id)
		if err != nil || c.dev.transport == abi.TransportIB {
			c.call.answer()
		}
		return err
	})
}

// handle implements cmObject.
func (c *connection) handle(e abi.CMEvent) {
	if e.Type == abi.CMAddrChange || e.Type > abi.CMTimewaitExit {
		return // a network interface has failed over to another, or a newer kernel has more events
	}
	if e.Type == abi.CMDisconnected {
		for c.dev.takeAsyncEvent() { // they say why
		}
	}
	if e.Type >= abi.CMConnectResp && e.Type <= abi.CMDisconnected {
		c.call.answer()
	}
	q := c.attached.Load()
	if q == nil {
		select {
		case c.events <- e:
		default: // more than there can be
		}
		q = c.attached.Load() // attach may have looked at events just before
	}
	if q != nil && (e.Type == abi.CMDisconnected || e.Type == abi.CMConnectError) {
		q.mu.Lock()
		q.begin(verbs.ErrPeerDisconnected, causePeer)
		q.mu.Unlock()
	}
}

// attach makes later events fail the queue pair. It reports whether the connection is lost already.
func (c *connection) attach(q *queuePair) (lost bool) {
	c.attached.Store(q)
	for {
		select {
		case e := <-c.events:
			lost = lost || e.Type == abi.CMDisconnected
		default:
			return lost
		}
	}
}

// await waits for an event of the type want. Another one is an error.
func (c *connection) await(ctx context.Context, want abi.CMEventType) (abi.CMEvent, error) {
	select {
	case e := <-c.events:
		if e.Type == want {
			return e, nil
		}
		return e, c.eventError(e)
	case <-c.ended:
		return abi.CMEvent{}, verbs.ErrDisconnected // begin was called with a reason before
	case <-ctx.Done():
		return abi.CMEvent{}, context.Cause(ctx)
	}
}

// abort makes the goroutine in Dial or Accept give up.
func (c *connection) abort() { c.endOnce.Do(func() { close(c.ended) }) }

// path is the two addresses of a connection, and the port of its device.
type path struct {
	local, remote netip.AddrPort
	port          int // of the device
}

// path returns the path of the connection.
func (c *connection) path() (p path, err error) {
	err = c.do(func(id lib.ID) error {
		f := abi.GetCMID(uintptr(id))
		p = path{fromSockaddr(f.Src), fromSockaddr(f.Dst), int(f.Port)}
		return nil
	})
	return p, err
}

// disconnect reports to the peer that the connection is closed. It does not wait for an answer.
func (c *connection) disconnect() {
	_ = c.do(func(id lib.ID) error {
		if c.joined {
			return c.dev.lib.Disconnect(id) // it fails if the peer was first
		}
		return nil
	})
}

// forget takes the queue pair from the rdma_cm_id before it is destroyed.
func (c *connection) forget() {
	_ = c.do(func(id lib.ID) error {
		abi.SetCMQP(uintptr(id), 0)
		return nil
	})
}

// close destroys the rdma_cm_id.
func (c *connection) close() error {
	c.abort()
	c.mu.Lock()
	id := c.id
	done := c.closed || id == 0
	c.closed = true
	c.mu.Unlock()
	if done {
		return nil
	}
	c.dev.objects.dropID(id)
	return c.dev.lib.DestroyID(id)
}

// takeCMEvent takes an event of the connection manager, and hands it to its object. Nothing in it
// waits, because no connection would be made during the wait.
func (d *Device) takeCMEvent() bool {
	p, err := d.lib.GetCMEvent(d.cm)
	if err != nil {
		return again(err)
	}
	e := abi.GetCMEvent(uintptr(p))
	if e.Type == abi.CMConnectRequest {
		d.connectRequest(e)
	} else if o := d.objects.object(lib.ID(e.ID)); o != nil {
		o.handle(e)
	}
	// Last: the destruction of the rdma_cm_id waits for it, so its address has not been used again.
	_ = d.lib.AckCMEvent(p)
	if e.Type == abi.CMDeviceRemoval {
		d.remove()
	}
	return true
}
