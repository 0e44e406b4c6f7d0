package rpctest

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// EchoesMemory returns an App that answers Calls of n bytes or more with zeros and the memory that
// each Call is in.
func EchoesMemory(n, zeros int) *App {
	return &App{Reply: func(r *rdmaio.Request) bool {
		if len(r.Message) < n {
			return false
		}
		r.Reply(rdmaio.Message{Inline: ReplyBytes(binary.BigEndian.Uint32(r.Message), 24), Items: []xdr.Item{
			{Position: 24, Inline: 24, Data: make([]byte, zeros)},
			{Position: uint64(24 + zeros), Inline: 24, Data: r.Message[40:]},
		}}, nil)
		return true
	}}
}

// ChunkApp returns an App that answers each Call with items of these sizes.
func ChunkApp(sizes ...int) *App {
	return &App{Reply: func(r *rdmaio.Request) bool {
		e := ReplyHeader(binary.BigEndian.Uint32(r.Message))
		e.Reduce = true
		for i, n := range sizes {
			e.Opaque(xdr.Site("item"), rdmaiotest.Pattern(n, uint64(i)))
		}
		r.Reply(e.Message(), nil)
		return true
	}}
}

// App is a handler that keeps the Calls, and answers each with an RPC Reply.
type App struct {
	mu    sync.Mutex
	Got   [][]byte                     // the Calls; see method Calls while some may come
	Size  int                          // of a Reply; default: 24
	Reply func(r *rdmaio.Request) bool // answers in another way, if it returns true
}

// ServeRPC implements rdmaio.Handler.
func (a *App) ServeRPC(r *rdmaio.Request) {
	a.mu.Lock()
	a.Got = append(a.Got, bytes.Clone(r.Message))
	a.mu.Unlock()
	if a.Reply != nil && a.Reply(r) {
		return
	}
	r.Reply(rdmaio.Message{Inline: ReplyBytes(binary.BigEndian.Uint32(r.Message), max(24, a.Size))}, nil)
}

// Calls returns the Calls that came.
func (a *App) Calls() [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Got
}
