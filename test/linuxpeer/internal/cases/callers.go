package cases

import (
	"encoding/binary"
	"maps"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// callers counts the calls that reach a handler, and sees the sessions that bring them.
type callers struct {
	mu            sync.Mutex
	next          oncrpc.Handler
	count         map[procedure]int
	plain, secure int
	session       *oncrpc.TLSState // of the last call
}

// procedure is a procedure of a program.
type procedure struct{ program, version, number uint32 }

// setNext sets the handler of further calls.
func (c *callers) setNext(h oncrpc.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = h
	if c.count == nil {
		c.count = map[procedure]int{}
	}
}

// ServeRPC counts a call and passes it on.
func (c *callers) ServeRPC(r *oncrpc.Request) {
	c.mu.Lock()
	if s := r.Conn().Peer().TLS; s != nil {
		c.session = s
		c.secure++
	} else {
		c.plain++
	}
	if m := r.Message; len(m) >= 24 { // RFC 5531 §9: XID, CALL, RPC version, and these
		word := func(at int) uint32 { return binary.BigEndian.Uint32(m[at:]) }
		c.count[procedure{word(12), word(16), word(20)}]++
	}
	next := c.next
	c.mu.Unlock()
	next.ServeRPC(r)
}

// counts returns the numbers of calls without and with TLS, and the last session.
func (c *callers) counts() (plain, secure int, session *oncrpc.TLSState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plain, c.secure, c.session
}

// procedures returns the number of calls by procedure, for NFS version 3.
func (c *callers) procedures() map[uint32]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[uint32]int{}
	for p, n := range c.count {
		if p.program == nfs3.Program && p.version == nfs3.Version {
			list[p.number] = n
		}
	}
	return list
}

// other returns the number of calls by procedure, for other programs and versions.
func (c *callers) other() map[procedure]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := maps.Clone(c.count)
	maps.DeleteFunc(list, func(p procedure, _ int) bool { return p.program == nfs3.Program && p.version == nfs3.Version })
	return list
}

// called fails the case unless the kernel has called these procedures of NFS version 3.
func (c *callers) called(t *T, procs ...uint32) {
	list := c.procedures()
	for _, p := range procs {
		if list[p] == 0 {
			t.Errorf("the kernel did not call procedure %d of NFS version 3: %v", p, list)
		}
	}
}
