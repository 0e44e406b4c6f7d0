package rpctest

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Quick returns a handler that answers with as little work as possible. If there is data, it is an
// item of the reply. The handler uses one buffer for all replies, so it takes one Call at a time.
func Quick(data []byte) rdmaio.Handler {
	head := ReplyHeader(0).Buf
	var items []xdr.Item
	if data != nil {
		items = []xdr.Item{{Position: uint64(len(head)), Inline: len(head), Data: data}}
	}
	return rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		copy(head, r.Message[:4])
		r.Reply(rdmaio.Message{Inline: head, Items: items}, nil)
	})
}

// Answer answers a Request and returns its XID.
func Answer(r *rdmaio.Request) uint32 {
	xid := binary.BigEndian.Uint32(r.Message)
	r.Reply(rdmaio.Message{Inline: ReplyHeader(xid).Buf}, nil)
	return xid
}

// Later answers from new goroutines, after a while.
type Later struct {
	Handler rdmaio.Handler
	Running sync.WaitGroup // the goroutines
}

// ServeRPC implements rdmaio.Handler.
func (l *Later) ServeRPC(r *rdmaio.Request) {
	l.Running.Add(1)
	go func() {
		defer l.Running.Done()
		time.Sleep(50 * time.Microsecond)
		l.Handler.ServeRPC(r)
	}()
}

// Silent passes its Requests on, for the test to answer.
type Silent struct{ Got chan *rdmaio.Request }

// ServeRPC implements rdmaio.Handler.
func (s Silent) ServeRPC(r *rdmaio.Request) { s.Got <- r }

// WriteChunks returns the sizes of a Call's write chunks.
func WriteChunks(r *rdmaio.Request) []int {
	results, _ := r.Room()
	return results
}

// ReplyRoom returns the size of the largest reply to a Call.
func ReplyRoom(r *rdmaio.Request) int {
	_, reply := r.Room()
	return reply
}
