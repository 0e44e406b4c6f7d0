package rpctest

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Echo answers with the bytes of the Call after its XID and type. Its first bytes are DDP-eligible
// items of the given sizes.
type Echo struct{ Items []int }

// ServeRPC implements rdmaio.Handler.
func (h Echo) ServeRPC(r *rdmaio.Request) {
	e := ReplyHeader(0)
	copy(e.Buf, r.Message[:4])
	e.Reduce = true
	body := r.Message[8:]
	for _, n := range h.Items {
		e.Opaque("item", body[:min(n, len(body))])
		body = body[min(n, len(body)):]
	}
	e.Opaque("", body)
	r.Reply(e.Message(), nil)
}

// Unecho returns the body that a Call had, from its reply and the reply's items.
func Unecho(reply *rdmaio.Reply, items int) (body []byte, err error) {
	d := xdr.NewDecoder(reply.Message, &xdr.DecoderOptions{Alias: true})
	d.Next(24)
	d.ReinsertInOrder([]xdr.Site{"item"}, reply.Items)
	for i := range items + 1 {
		site := xdr.Site("item")
		if i == items {
			site = ""
		}
		part, err := TakeData(d, site)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		body = append(body, part...)
	}
	return body, d.Done()
}
