package verbs

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	rdma "github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Each operation moves all octets of all slots.
func TestBulkMoves(t *testing.T) {
	ctx := context.Background()
	net := mem.New(nil)
	there, err := net.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := there.Listen(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := Shape{1000, 3}
	servers := make(chan *providerServer, 1)
	go func() {
		req, err := ln.Accept(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		p, err := serveProvider(ctx, there, req)
		if err != nil {
			t.Error(err)
		}
		servers <- p
	}()
	here, err := net.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dialProvider(ctx, here, ln.Addr(), s)
	if err != nil {
		t.Fatal(err)
	}
	server := <-servers
	fill := func(b []byte, with byte) {
		for i := range b {
			b[i] = byte(i) ^ with
		}
	}
	for _, op := range []rdma.Opcode{rdma.RDMAWrite, rdma.RDMARead} {
		fill(c.data.Bytes(), 1)
		fill(server.data.Bytes(), 2)
		if _, err := c.bulk(op)(s.Depth); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.data.Bytes(), server.data.Bytes()) {
			t.Errorf("%v: the ends differ", op)
		}
		if first := c.data.Bytes()[0]; (first == 1) != (op == rdma.RDMAWrite) {
			t.Errorf("%v went the wrong way", op)
		}
	}
	if _, err := Latencies(c.call)(10); err != nil {
		t.Error(err)
	}
	if _, err := c.calls(10); err != nil {
		t.Error(err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	if err := here.Close(); err != nil {
		t.Error(err)
	}
}
