package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync/atomic"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// deep is the number of credits of a server's second listener, for loads that need more than the
// default. With the other loads, they would cost cache, and with idle connections memory.
const deep = 256

// deepest is the credits of its third listener, and the largest of Options.Depths.
const deepest = 1024

// config returns the Config of a connection for a number of concurrent calls. Handlers here never
// wait.
func config(depth int) *rdmaio.Config {
	cfg := &rdmaio.Config{NonBlocking: true}
	switch {
	case depth > deep:
		cfg.Credits = deepest
	case depth > 32:
		cfg.Credits = deep
	}
	return cfg
}

// closer is a connection, rdmaio's or one of runtime/oncrpc/tcp, or a Client of rdmaio.
type closer interface {
	oncrpc.Carrier
	Close() error
}

// client is one connection, with a slot for each concurrent call.
type client struct {
	conn   closer
	inline bool // all results come in the reply
	whole  bool // the message has all bulk data in it
	op     string
	size   int
	body   []byte
	calls  []rdmaio.Call
	xids   atomic.Uint32
}

// dialRDMA connects, and checks that data arrives unchanged.
func dialRDMA(ctx context.Context, dev verbs.Device, addr, op string, s bench.Shape, cfg *rdmaio.Config, whole bool) (*client, error) {
	conn, err := rdmaio.Dial(ctx, dev, addr, cfg)
	if err != nil {
		return nil, err
	}
	return newClient(ctx, conn, op, s, false, whole)
}

// connections is the number of connections of the system Several.
const connections = 4

// dialSeveral returns a client with several connections, each with the default credits.
func dialSeveral(ctx context.Context, dev verbs.Device, addr string, s bench.Shape) (*client, error) {
	c, err := rdmaio.NewClient(dev, addr, &rdmaio.ClientConfig{Conn: config(1), Connections: connections, IdleTimeout: -1})
	if err != nil {
		return nil, err
	}
	return newClient(ctx, c, bench.Call, s, false, false)
}

// newClient returns a client of a connection, which it closes if data does not arrive unchanged.
func newClient(ctx context.Context, conn closer, op string, s bench.Shape, inline, whole bool) (*client, error) {
	c := &client{conn: conn, inline: inline || whole, whole: whole, op: op, size: s.Size, body: bench.Pattern(s.Size)}
	c.calls = make([]rdmaio.Call, s.Depth)
	for i := range c.calls {
		c.prepare(&c.calls[i])
	}
	if err := c.check(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// prepare returns a Call that is complete except for its XID.
func (c *client) prepare(call *rdmaio.Call) {
	call.ReplyBuf = make([]byte, replyHead+argumentBytes)
	switch c.op {
	case bench.Call:
		call.Inline = append(callHeader(program, procEcho), c.body...)
	case bench.Write:
		call.Inline = binary.BigEndian.AppendUint32(callHeader(program, procSink), uint32(c.size))
		if c.whole {
			call.Inline = append(call.Inline, c.body...)
			return
		}
		call.Items = []xdr.Item{{Position: callHead + 4, Inline: callHead + 4, Data: c.body}}
	case bench.Read:
		call.Inline = binary.BigEndian.AppendUint32(callHeader(program, procFill), uint32(c.size))
		if c.inline {
			call.ReplyBuf = make([]byte, replyHead+4+c.size)
			return
		}
		call.Results = [][]byte{make([]byte, c.size)}
		call.MaxReply, call.WholeReply = -1, replyHead+4+xdr.Padded(c.size)
		if c.size <= block { // it may come inline
			call.ReplyBuf = make([]byte, call.WholeReply)
		}
	}
}

// block is the size of the largest data that comes inline with the default sizes.
const block = 4 << 10

// call makes the call of a slot.
func (c *client) call(slot int) error {
	call := &c.calls[slot]
	binary.BigEndian.PutUint32(call.Inline, c.xids.Add(1))
	r, err := c.conn.Call(context.Background(), call)
	if err != nil {
		return err
	}
	want := replyHead + 4
	if c.op == bench.Call {
		want = replyHead + c.size
	} else if len(r.Message) >= want {
		if n := binary.BigEndian.Uint32(r.Message[replyHead:]); int(n) != c.size {
			return fmt.Errorf("%s: found %d bytes moved, expected %d", c.op, n, c.size)
		}
		if c.op == bench.Read && (c.inline || r.Items[0].Data == nil) {
			want += c.size
		}
	}
	if len(r.Message) != want {
		return fmt.Errorf("%s: found a reply of %d bytes, expected %d", c.op, len(r.Message), want)
	}
	return nil
}

// check makes a call in the first slot and checks its result.
func (c *client) check(ctx context.Context) error {
	call := &c.calls[0]
	if c.op == bench.Write {
		var sum rdmaio.Call
		c.prepare(&sum)
		binary.BigEndian.PutUint32(sum.Inline[20:], procSum)
		binary.BigEndian.PutUint32(sum.Inline, c.xids.Add(1))
		r, err := c.conn.Call(ctx, &sum)
		if err != nil {
			return err
		}
		if got, want := binary.BigEndian.Uint32(r.Message[replyHead:]), crc32.ChecksumIEEE(c.body); got != want {
			return fmt.Errorf("the server received data with CRC %#x, expected %#x", got, want)
		}
		return nil
	}
	if err := c.call(0); err != nil {
		return err
	}
	got := call.ReplyBuf[replyHead:][:min(c.size, argumentBytes)]
	if c.op == bench.Read {
		if got = call.Reply.Message[replyHead+4:]; !c.inline && len(got) == 0 {
			got = call.Results[0]
		}
	}
	if !bytes.Equal(got, c.body) {
		return errors.New("the data read differs from the server's")
	}
	return nil
}

// Close closes the connection, and checks that no data was copied for lack of registered memory.
func (c *client) Close() error {
	var err error
	if conn, ok := c.conn.(*rdmaio.Conn); ok && conn.Stats().Staged > 0 {
		err = fmt.Errorf("found %d staged bytes, expected none", conn.Stats().Staged)
	}
	return errors.Join(err, c.conn.Close())
}

// starter returns a function that begins the call of a slot.
func (c *client) starter() func(slot int, done func(error)) error {
	type slot struct {
		done  func(error)
		ended func(*oncrpc.Reply, error)
	}
	slots := make([]slot, len(c.calls))
	for i := range slots {
		s := &slots[i]
		s.ended = func(r *oncrpc.Reply, err error) {
			if want := replyHead + c.size; err == nil && len(r.Message) != want {
				err = fmt.Errorf("found a reply of %d bytes, expected %d", len(r.Message), want)
			}
			s.done(err)
		}
	}
	return func(n int, done func(error)) error {
		call, s := &c.calls[n], &slots[n]
		binary.BigEndian.PutUint32(call.Inline, c.xids.Add(1))
		s.done = done
		return oncrpc.Submit(context.Background(), c.conn, call, s.ended)
	}
}
