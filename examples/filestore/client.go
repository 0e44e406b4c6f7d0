package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// client calls the store over a connection.
type client struct {
	conn *rdmaio.Conn
	xid  atomic.Uint32
}

func newClient(conn *rdmaio.Conn) *client { return &client{conn: conn} }

// call sends args to a procedure and decodes the results, whose eligible item, if
// there is one, is placed in buf.
func (c *client) call(ctx context.Context, proc uint32, args, results xdr.Value, buf []byte) error {
	xid := c.xid.Add(1)
	e := xdr.NewEncoder(nil)
	err := oncrpc.NewCall(xid, store.Program, store.Version1, proc, oncrpc.None()).EncodeXDR(e)
	if err != nil {
		return err
	}
	e.Reduce(xdr.Reduction{Sites: sites(proc, false)}, uint64(e.Len()))
	if err := args.EncodeXDR(e); err != nil {
		return err
	}
	call := &rdmaio.Call{Message: rdmaio.Message{Inline: e.Bytes(), Items: e.Items()}}
	if buf != nil {
		call.Results = [][]byte{buf}
	}
	reply, err := c.conn.Call(ctx, call)
	if err != nil {
		return err
	}
	d := xdr.NewDecoder(reply.Message, nil)
	var head oncrpc.Message
	if err := head.DecodeXDR(d); err != nil {
		return err
	}
	if err := oncrpc.CheckReply(&head, xid); err != nil {
		return err
	}
	d.ReinsertInOrder(sites(proc, true), reply.Items)
	return errors.Join(results.DecodeXDR(d), d.Done())
}

// write stores data in a file at an offset, and returns how much the server took.
func (c *client) write(ctx context.Context, name string, offset uint64, data []byte) (int, error) {
	args := store.WriteArgs{Name: store.Name(name), Offset: offset, Data: data}
	var res store.WriteRes
	if err := c.call(ctx, store.ProcWrite, &args, &res, nil); err != nil {
		return 0, err
	}
	if res.Status != store.OK {
		return 0, fmt.Errorf("write %s: %v", name, res.Status)
	}
	return int(res.Count), nil
}

// read fills buf from a file at an offset, and returns the part that it filled.
func (c *client) read(ctx context.Context, name string, offset uint64, buf []byte) ([]byte, error) {
	args := store.ReadArgs{Name: store.Name(name), Offset: offset, Count: uint32(len(buf))}
	var res store.ReadRes
	if err := c.call(ctx, store.ProcRead, &args, &res, buf); err != nil {
		return nil, err
	}
	if res.Status != store.OK {
		return nil, fmt.Errorf("read %s: %v", name, res.Status)
	}
	return res.Ok.Data, nil
}

// sites are the items that the binding makes eligible in one direction of a
// procedure.
func sites(proc uint32, reply bool) []xdr.Site {
	var out []xdr.Site
	for _, b := range store.DDPBindings() {
		if b.Procedure == proc && b.Reply == reply {
			out = append(out, b.Site)
		}
	}
	return out
}
