package wireshark_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The procedures of a program that only these tests have. Arguments and results are opaques.
const (
	program = 0x20000042
	put     = 1 // takes opaques
	get     = 2 // takes the number and the sizes of opaques, and more opaques; returns opaques
)

// rpcMessage is an RPC message in the making.
type rpcMessage struct {
	rdmaio.Message
	length int // with the items
}

func (m *rpcMessage) words(words ...uint32) {
	for _, w := range words {
		m.Inline = binary.BigEndian.AppendUint32(m.Inline, w)
	}
	m.length += 4 * len(words)
}

// opaque adds an opaque, as an item if that is set.
func (m *rpcMessage) opaque(b []byte, item bool) {
	m.words(uint32(len(b)))
	padded := xdr.Padded(len(b))
	if item {
		m.Items = append(m.Items, xdr.Item{Position: uint64(m.length), Inline: len(m.Inline), Data: b})
	} else {
		m.Inline = append(m.Inline, append(b[:len(b):len(b)], make([]byte, padded-len(b))...)...)
	}
	m.length += padded
}

// serve answers the Calls of the program: get returns opaques of the sizes that its arguments say.
func serve(r *rdmaio.Request) {
	xid, _, _ := oncrpc.Peek(r.Message)
	reply := rpcMessage{}
	reply.words(xid, 1, 0, 0, 0, 0)
	if binary.BigEndian.Uint32(r.Message[20:]) == get {
		results, _ := r.Room()
		places := len(results)
		args := r.Message[40:]
		for i := range int(binary.BigEndian.Uint32(args)) {
			reply.opaque(make([]byte, binary.BigEndian.Uint32(args[4*i+4:])), i < places)
		}
	}
	r.Reply(reply.Message, nil)
}

// shape is a Call of a certain shape.
type shape struct {
	name     string
	inline   int      // bytes of a first opaque, inline
	items    []int    // sizes of opaques in read chunks
	results  []int    // sizes of places for results
	get      []uint32 // sizes of the opaques returned
	replyBuf int
	fails    rdmaio.PeerErrorCode // the error with which the server answers, or 0
}

// shapes are Calls that use inline messages, read chunks at several positions, write chunks, a
// reply chunk, long Calls, and combinations.
var shapes = []shape{
	{name: "inline"},
	{name: "inline with data", inline: 500, get: []uint32{300}},
	{name: "a read chunk", items: []int{5001}},
	{name: "read chunks at three positions", inline: 100, items: []int{3001, 5003, 2002}},
	{name: "a write chunk", results: []int{4000}, get: []uint32{3001}},
	{name: "two write chunks, one partly filled, one empty", results: []int{3000, 3000}, get: []uint32{2999}},
	{name: "a long Reply", replyBuf: 9000, get: []uint32{8001}},
	{name: "a reply chunk that is not needed", replyBuf: 9000, get: []uint32{10}},
	{name: "a long Call", inline: 6000},
	{name: "a long Call with a read chunk", inline: 6000, items: []int{3002}},
	{name: "a long Call and a long Reply", inline: 6000, replyBuf: 9000, get: []uint32{8001}},
	{name: "a read chunk, a write chunk and a reply chunk", items: []int{5001}, results: []int{3000}, get: []uint32{2998, 5000}, replyBuf: 8000},
	{name: "a reply chunk that is too short", replyBuf: 5000, get: []uint32{8001}, fails: rdmaio.PeerErrChunk},
}

// call makes a Call of the shape.
func (s *shape) call(t *testing.T, c *rdmaio.Conn, xid uint32) {
	t.Helper()
	m := rpcMessage{}
	proc := uint32(put)
	if s.get != nil {
		proc = get
	}
	m.words(xid, 0, 2, program, 1, proc, 0, 0, 0, 0)
	m.words(uint32(len(s.get)))
	m.words(s.get...)
	if s.inline > 0 {
		m.opaque(make([]byte, s.inline), false)
	}
	for _, n := range s.items {
		m.opaque(make([]byte, n), true)
		m.words(7)
	}
	call := &rdmaio.Call{Message: m.Message}
	for _, n := range s.results {
		call.Results = append(call.Results, make([]byte, n))
	}
	if s.replyBuf > 0 {
		call.ReplyBuf = make([]byte, s.replyBuf)
	}
	_, err := c.Call(context.Background(), call)
	if refused := new(rdmaio.PeerError); errors.As(err, &refused) && refused.Code == s.fails {
		return
	}
	if err != nil || s.fails != 0 {
		t.Errorf("%s: %v, want error code %v", s.name, err, s.fails)
	}
}

// streams is a provider that makes connections over any stream.
type streams interface {
	verbs.Device
	DialConn(context.Context, net.Conn, verbs.QueuePair, *verbs.ConnParams) (*verbs.ConnInfo, error)
}

// recording is a device whose connections as a client are recorded in a file.
type recording struct {
	streams
	file *pcapng.File
	now  *atomic.Int64
}

// Dial implements verbs.Device.
func (r *recording) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return r.streams.Dial(ctx, addr, qp, params) // for its error
	}
	now := func() time.Time { return time.Unix(1000, 0).Add(time.Duration(r.now.Add(1)) * time.Millisecond) }
	return r.DialConn(ctx, pcapng.Record(conn, pcapng.Recording{File: r.file, Name: "client", Initiator: true, Now: now}), qp, params)
}

// captured holds a capture. Connections write to it until their provider has closed them, which may
// be after their queue pairs' Close has returned.
type captured struct {
	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (c *captured) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.b = append(c.b, b...)
	return len(b), nil
}

// bytes returns a copy of the capture so far, which consists of whole blocks.
func (c *captured) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.b)
}

// recordAll returns the name of a capture of connections of clients. work dials by devices that it
// wraps.
func recordAll(t *testing.T, work func(wrap func(streams) verbs.Device)) string {
	t.Helper()
	out := new(captured)
	file := pcapng.NewFile(out, 0)
	now := new(atomic.Int64)
	work(func(dev streams) verbs.Device { return &recording{dev, file, now} })
	name := filepath.Join(t.TempDir(), "recorded.pcapng")
	if err := errors.Join(file.Err(), os.WriteFile(name, out.bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

// record returns the name of a capture of the connections of a client. work dials by the device
// that it gets.
func record(t *testing.T, dev streams, work func(verbs.Device)) string {
	t.Helper()
	return recordAll(t, func(wrap func(streams) verbs.Device) { work(wrap(dev)) })
}
