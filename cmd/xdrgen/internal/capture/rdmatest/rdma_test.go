package rdmatest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// streams is a provider that makes connections over any stream.
type streams interface {
	verbs.Device
	DialConn(context.Context, net.Conn, verbs.QueuePair, *verbs.ConnParams) (*verbs.ConnInfo, error)
}

// recording is a device whose connections as a client are recorded.
type recording struct {
	streams
	file *pcapng.File
}

// Dial implements verbs.Device.
func (r *recording) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return r.DialConn(ctx, pcapng.Record(conn, pcapng.Recording{File: r.file, Name: "client", Initiator: true, Now: time.Now}), qp, params)
}

// captured holds a capture, to which connections write until their provider has closed them.
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

func (c *captured) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.b)
}

// message is an RPC message in the making: its inline bytes and items, and the whole message.
type message struct {
	oncrpc.Message
	whole []byte
}

func (m *message) words(words ...uint32) {
	for _, w := range words {
		m.Inline = binary.BigEndian.AppendUint32(m.Inline, w)
		m.whole = binary.BigEndian.AppendUint32(m.whole, w)
	}
}

// opaque adds n bytes that differ, as an item if that is set.
func (m *message) opaque(n int, item bool) {
	b := make([]byte, xdr.Padded(n))
	for i := range n {
		b[i] = byte(i*7 + n + len(m.whole))
	}
	m.words(uint32(n))
	if item {
		m.Items = append(m.Items, xdr.Item{Position: uint64(len(m.whole)), Inline: len(m.Inline), Data: b[:n]})
	} else {
		m.Inline = append(m.Inline, b...)
	}
	m.whole = append(m.whole, b...)
}

const program = 0x20000042

// serve answers with opaques whose sizes are the first words of the arguments, as items if there is
// room for them.
func serve(r *rdmaio.Request) {
	var reply message
	xid, _, _ := oncrpc.Peek(r.Message)
	reply.words(xid, 1, 0, 0, 0, 0)
	room, _ := r.Room()
	args := r.Message[40:]
	for i := range int(binary.BigEndian.Uint32(args)) {
		reply.opaque(int(binary.BigEndian.Uint32(args[4*i+4:])), i < len(room))
	}
	r.Reply(reply.Message, nil)
}

// shape is a Call with opaques inline and as items, memory for results, and sizes of the opaques in
// the reply.
type shape struct {
	name     string
	inline   int
	items    []int
	results  []int
	get      []uint32
	replyBuf int
}

var shapes = []shape{
	{name: "inline", inline: 100, get: []uint32{50}},
	{name: "read chunks", inline: 40, items: []int{5001, 3003, 7}},
	{name: "a write chunk", results: []int{9000}, get: []uint32{8001}},
	{name: "write chunks", results: []int{4000, 5000}, get: []uint32{3001, 4002, 9}},
	{name: "an empty write chunk", results: []int{4000}},
	{name: "a long Call", inline: 20001},
	{name: "a long Call with a read chunk", inline: 20001, items: []int{3001}},
	{name: "a long reply", replyBuf: 60000, get: []uint32{50001}},
	{name: "all", inline: 20001, items: []int{3001}, results: []int{6000}, get: []uint32{5001, 12000}, replyBuf: 20000},
}

// call makes the Call of a shape, and returns it and the reply.
func (s *shape) call(t *testing.T, c *rdmaio.Conn, xid uint32) (sent []byte, reply *rdmaio.Reply) {
	t.Helper()
	var m message
	m.words(xid, 0, 2, program, 1, 3, 0, 0, 0, 0, uint32(len(s.get)))
	m.words(s.get...)
	if s.inline > 0 {
		m.opaque(s.inline, false)
	}
	for _, n := range s.items {
		m.opaque(n, true)
		m.words(7)
	}
	call := &rdmaio.Call{Message: m.Message}
	for _, n := range s.results {
		call.Results = append(call.Results, make([]byte, n))
	}
	if s.replyBuf > 0 {
		call.ReplyBuf = make([]byte, s.replyBuf)
	}
	reply, err := c.Call(t.Context(), call)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return m.whole, reply
}

// found keeps calls and notes.
type found struct {
	calls []*capture.Call
	notes []string
}

func (f *found) Call(c *capture.Call) { f.calls = append(f.calls, c) }
func (f *found) Note(n capture.Note)  { f.notes = append(f.notes, n.Text) }

// The messages in a capture of either provider and version are those that the ends sent, with the
// data of all chunks.
func TestMessagesAreThoseSent(t *testing.T) {
	for _, name := range []string{"rdmatcp", "iwarp"} {
		for _, version := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, version %d", name, version), func(t *testing.T) {
				var dev streams
				var err error
				if name == "rdmatcp" {
					dev, err = rdmatcp.Open(nil)
				} else {
					dev, err = iwarp.Open(nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				compare(t, dev, rdmaio.Config{Versions: []int{version}, InlineSend: 4096, InlineRecv: 4096}, capture.Carrier(name))
			})
		}
	}
}

// compare makes the Calls of all shapes on a connection, and compares what the capture has.
func compare(t *testing.T, dev streams, cfg rdmaio.Config, carrier capture.Carrier) {
	out := new(captured)
	file := pcapng.NewFile(out, 0)
	server, err := rdmaio.Listen(t.Context(), dev, "127.0.0.1:0", rdmaio.HandlerFunc(serve), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rdmaio.Dial(t.Context(), &recording{dev, file}, server.Addr(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	var sent [][]byte
	var replies []*rdmaio.Reply
	for i := range shapes {
		m, r := shapes[i].call(t, c, uint32(100+i))
		sent, replies = append(sent, m), append(replies, r)
	}
	if err := errors.Join(c.Close(), server.Close(), dev.Close(), file.Err()); err != nil {
		t.Error(err)
	}
	var f found
	r, err := capture.NewReader(bytes.NewReader(out.bytes()), capture.Limits{}, &f)
	if err == nil {
		err = r.Run()
	}
	if err != nil || len(f.calls) != len(shapes) || len(f.notes) > 0 {
		t.Fatalf("%d calls, expected %d, notes %q, error %v", len(f.calls), len(shapes), f.notes, err)
	}
	for i, got := range f.calls {
		s := &shapes[i]
		if got.XID != uint32(100+i) || got.Connection.Carrier != carrier || got.Program != program || got.Procedure != 3 || !got.Status.Success || len(got.Notes) > 0 {
			t.Errorf("%s: XID %d, %s, %d.%d, status %v, notes %q", s.name, got.XID, got.Connection.Carrier, got.Program, got.Procedure, got.Status, got.Notes)
		}
		if !bytes.Equal(got.Message, sent[i]) {
			t.Errorf("%s: a Call of %d bytes, expected %d that are equal", s.name, len(got.Message), len(sent[i]))
		}
		if !bytes.Equal(got.Reply, replies[i].Message) {
			t.Errorf("%s: a reply of %d bytes, expected %d that are equal", s.name, len(got.Reply), len(replies[i].Message))
		}
		for k, item := range replies[i].Items {
			if k >= len(got.Chunks) || !bytes.Equal(got.Chunks[k].Data, item.Data) {
				t.Errorf("%s: write chunk %d differs", s.name, k)
			}
		}
		if got.Whole < got.Sent.First || got.Answered.Last < got.Whole {
			t.Errorf("%s: times %+v %d %+v", s.name, got.Sent, got.Whole, got.Answered)
		}
	}
}
