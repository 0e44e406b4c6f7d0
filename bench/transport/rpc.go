package transport

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The program. Package echo has the procedure that goes through generated code.
const (
	program  = 0x20200051
	procEcho = 1 // 128 bytes in each direction
	procSink = 2 // opaque<>; returns the number of bytes
	procFill = 3 // a number of bytes; returns opaque<>
	procSum  = 4 // opaque<>; returns its CRC
)

// Lengths of an RPC header without credentials (RFC 5531 §9).
const (
	callHead  = 40
	replyHead = 24
)

// argumentBytes is the size of the arguments of a small call, and of its results.
const argumentBytes = 128

// callHeader returns the header of a Call; the XID is its first word.
func callHeader(prog, proc uint32) []byte {
	b := make([]byte, callHead, callHead+argumentBytes)
	for i, w := range []uint32{0, 0, 2, prog, 1, proc} {
		binary.BigEndian.PutUint32(b[4*i:], w)
	}
	return b
}

// handler answers Calls with as little work as possible.
type handler struct {
	data    []byte // of procFill
	answers sync.Pool
	stubs   rdmaio.Handler
}

// answer holds the memory of one reply.
type answer struct {
	buf   [replyHead + argumentBytes]byte
	items [1]xdr.Item
	done  func(error)
}

func newHandler() *handler {
	h := &handler{data: bench.Pattern(16 << 20), stubs: newStubs(false)}
	h.answers.New = func() any {
		a := new(answer)
		binary.BigEndian.PutUint32(a.buf[4:], 1) // a Reply; accepted and successful are zeros
		a.done = func(error) { h.answers.Put(a) }
		return a
	}
	return h
}

// ForgetsRequests implements oncrpc.Forgetter, as the handlers of stubs do.
func (h *handler) ForgetsRequests() bool { return true }

// ServeRPC implements rdmaio.Handler.
func (h *handler) ServeRPC(r *rdmaio.Request) {
	m := r.Message
	if len(m) < callHead+4 || binary.BigEndian.Uint32(m[12:]) != program {
		h.stubs.ServeRPC(r)
		return
	}
	a := h.answers.Get().(*answer)
	copy(a.buf[:4], m)
	head := a.buf[:replyHead+4]
	word := head[replyHead:]
	items := a.items[:0]
	args := m[callHead:]
	switch proc := binary.BigEndian.Uint32(m[20:]); proc {
	case procEcho:
		head = a.buf[:replyHead+copy(a.buf[replyHead:], args)]
	case procSink:
		binary.BigEndian.PutUint32(word, uint32(len(args)-4))
	case procFill:
		n := min(binary.BigEndian.Uint32(args), uint32(len(h.data)))
		binary.BigEndian.PutUint32(word, n)
		items = append(items, xdr.Item{Position: uint64(len(head)), Inline: len(head), Data: h.data[:n]})
	case procSum:
		binary.BigEndian.PutUint32(word, crc32.ChecksumIEEE(args[4:]))
	}
	r.Reply(rdmaio.Message{Inline: head, Items: items}, a.done)
}
