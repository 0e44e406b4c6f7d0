package transport

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/bench/transport/echo"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// stubServer answers program echo, with what runtime/oncrpc and generated code do for that.
type stubServer struct{ places sync.Pool }

// stubPlace is what one Call needs.
type stubPlace struct {
	enc     *xdr.Encoder
	dec     *xdr.Decoder
	buf     []byte
	call    oncrpc.Message
	message echo.Message
	done    func(error)
}

func (s *stubServer) init() {
	s.places.New = func() any {
		p := &stubPlace{
			enc: xdr.NewEncoder(nil), dec: xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true}),
			buf: make([]byte, 0, 256),
		}
		p.done = func(error) { s.places.Put(p) }
		return p
	}
}

// ServeRPC implements rdmaio.Handler.
func (s *stubServer) ServeRPC(r *rdmaio.Request) {
	p := s.places.Get().(*stubPlace)
	p.dec.Reset(r.Message)
	if p.call.DecodeXDR(p.dec) != nil || p.call.Body.Type != oncrpc.Call {
		r.Drop(p.done)
		return
	}
	head := &p.call.Body.Call
	stat := oncrpc.Success
	switch {
	case head.Prog != echo.Program:
		stat = oncrpc.ProgUnavail
	case head.Vers != echo.Version1:
		stat = oncrpc.ProgMismatch
	case head.Proc != echo.ProcEcho:
		stat = oncrpc.ProcUnavail
	case errors.Join(p.message.DecodeXDR(p.dec), p.dec.Done()) != nil:
		stat = oncrpc.GarbageArgs
	}
	p.enc.Reset(p.buf[:0])
	err := oncrpc.NewReply(p.call.XID, stat).EncodeXDR(p.enc)
	if err == nil && stat == oncrpc.Success {
		err = p.message.EncodeXDR(p.enc)
	}
	if err != nil {
		r.Drop(p.done)
		return
	}
	r.Reply(rdmaio.Message{Inline: p.enc.Bytes()}, p.done)
}

// stubClient makes calls of program echo.
type stubClient struct {
	conn   *rdmaio.Conn
	body   []byte
	places []stubCaller
	xids   atomic.Uint32
}

type stubCaller struct {
	stubPlace
	rpc rdmaio.Call
}

func dialStubs(ctx context.Context, dev verbs.Device, addr string, s bench.Shape) (*stubClient, error) {
	conn, err := rdmaio.Dial(ctx, dev, addr, config(s.Depth))
	if err != nil {
		return nil, err
	}
	c := &stubClient{conn: conn, body: pattern(s.Size), places: make([]stubCaller, s.Depth)}
	for i := range c.places {
		p := &c.places[i]
		p.enc, p.dec = xdr.NewEncoder(nil), xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true})
		p.buf = make([]byte, 0, 256)
		p.rpc.ReplyBuf = make([]byte, 256)
	}
	return c, nil
}

func (c *stubClient) call(slot int) error {
	p := &c.places[slot]
	xid := c.xids.Add(1)
	p.enc.Reset(p.buf[:0])
	p.message.Data = c.body
	if err := errors.Join(
		oncrpc.NewCall(xid, echo.Program, echo.Version1, echo.ProcEcho, oncrpc.None()).EncodeXDR(p.enc),
		p.message.EncodeXDR(p.enc),
	); err != nil {
		return err
	}
	p.rpc.Inline = p.enc.Bytes()
	r, err := c.conn.Call(context.Background(), &p.rpc)
	if err != nil {
		return err
	}
	p.dec.Reset(r.Message)
	if err := p.stubPlace.call.DecodeXDR(p.dec); err != nil {
		return err
	}
	if err := errors.Join(oncrpc.CheckReply(&p.stubPlace.call, xid), p.message.DecodeXDR(p.dec), p.dec.Done()); err != nil {
		return err
	}
	if !bytes.Equal(p.message.Data, c.body) {
		return errors.New("other data came back than was sent")
	}
	return nil
}

// Close ends the connection.
func (c *stubClient) Close() error { return c.conn.Close() }
