package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// recorder forwards one connection to a server and records the octets of both directions.
type recorder struct {
	addr string
	both [2]bytes.Buffer // of the client, of the server
	done sync.WaitGroup
}

func record(t *testing.T, server string) *recorder {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{addr: ln.Addr().String()}
	r.done.Go(func() {
		defer ln.Close()
		client, err := ln.Accept()
		if err != nil {
			return
		}
		there, err := net.Dial("tcp", server)
		if err != nil {
			t.Error(err)
			client.Close()
			return
		}
		forward := func(i int, to, from net.Conn) {
			io.Copy(io.MultiWriter(&r.both[i], to), from)
			to.Close()
		}
		r.done.Go(func() { forward(0, there, client) })
		r.done.Go(func() { forward(1, client, there) })
	})
	return r
}

// describe returns the segments of a direction as text, without the IDs, handles and message
// numbers that each connection chooses. It checks them as rdmatcp does, except for Read Responses.
func describe(b []byte) (lines []string, err error) {
	for s := (segment.Stream{}); len(b) > 0; {
		var h segment.Header
		control, payload, n, err := segment.Open(b, &h)
		if err == nil && h.Type != segment.ReadResponse {
			err = s.Accept(&h, nil)
		}
		if err != nil {
			return lines, err
		}
		b = b[n:]
		if h.Res == 0xf { // the goodbye, which depends on the end that closes first
			continue
		}
		line := fmt.Sprintf("%v bits %d begin %t end %t order %#x offset %d of %d, payload %d", h.Type, h.Res, h.Begin, h.End, h.Order, h.Offset, h.RDMALength, len(payload))
		switch {
		case len(lines) == 0 && len(control) > 16: // the hello
			line = fmt.Sprintf("hello with private data % x", control[16:])
		case len(control) > 0:
			return lines, fmt.Errorf("found control data % x, expected none", control)
		case h.Type == segment.Send:
			text, err := message(payload)
			if err != nil {
				return lines, err
			}
			line += text
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// last returns the segments of the last call, in which a client sends a Send first and a server
// last.
func last(lines []string, client bool) []string {
	n := len(lines)
	if !client {
		n-- // the reply
	}
	for at := n - 1; at >= 0; at-- {
		if strings.HasPrefix(lines[at], "Send ") {
			if !client {
				at++
			}
			return lines[at:]
		}
	}
	return nil
}

// message returns the payload of a Send as text.
func message(payload []byte) (string, error) {
	d := xdr.NewDecoder(payload, &xdr.DecoderOptions{Alias: true})
	var m rpcrdma1.Message
	if err := m.DecodeXDR(d); err != nil {
		return "", err
	}
	rest := slices.Clone(d.Rest())
	if len(rest) < 4 || !bytes.Equal(rest[:4], payload[:4]) {
		return "", fmt.Errorf("found XIDs % x and % x, expected the same", payload[:4], rest[:min(len(rest), 4)])
	}
	m.XID, m.Credit = 0, 0
	clear(rest[:4])
	for i := range m.Body.Msg.Reads {
		m.Body.Msg.Reads[i].Target.Handle = 0
	}
	for i := range m.Body.Msg.Writes {
		for j := range m.Body.Msg.Writes[i].Target {
			m.Body.Msg.Writes[i].Target[j].Handle = 0
		}
	}
	return fmt.Sprintf(": %+v: % x", m, rest), nil
}

// The client and the server of the floor work with those of rdmaio. All four pairs have the same
// segments with the same octets in them.
func TestFloorMessages(t *testing.T) {
	ctx := context.Background()
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	real, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", newHandler(), config(1))
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go bench.ServeFloor(ln)
	servers := map[string]string{"rdmaio": real.Addr(), "floor": ln.Addr().String()}
	clients := map[string]func(addr, op string, s bench.Shape) (io.Closer, func(int) error, error){
		"rdmaio": func(addr, op string, s bench.Shape) (io.Closer, func(int) error, error) {
			c, err := dialRDMA(ctx, dev, addr, op, s, config(s.Depth), false)
			if err != nil {
				return nil, nil, err
			}
			return c, c.call, nil
		},
		"floor": func(addr, op string, s bench.Shape) (io.Closer, func(int) error, error) {
			c, err := bench.DialFloor(addr, op, s)
			if err != nil {
				return nil, nil, err
			}
			return c, c.Call, nil
		},
	}
	// exchange makes calls, and returns the first message and the last call of both ends.
	exchange := func(client, server, op string, size int) (lines [2][]string) {
		r := record(t, servers[server])
		c, call, err := clients[client](r.addr, op, bench.Shape{Size: size, Depth: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 { // ADR 0040: the data of the first calls is read in pieces
			if err := call(0); err != nil {
				t.Error(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		r.done.Wait()
		for i := range r.both {
			all, err := describe(r.both[i].Bytes())
			if err != nil || len(all) == 0 {
				t.Fatalf("found %d segments and the error %v, expected several and none", len(all), err)
			}
			lines[i] = append([]string{all[0]}, last(all, i == 0)...)
		}
		return lines
	}
	for _, c := range []struct {
		op               string
		size             int
		fromUs, fromThem int // segments of a call
	}{
		{bench.Call, argumentBytes, 1, 1},
		{bench.Write, 4 << 10, 1, 1},
		{bench.Write, 64 << 10, 3, 2}, // the data, and the Read Request
		{bench.Write, 1 << 20, 18, 2},
		{bench.Read, 4 << 10, 1, 1}, // the reply has the data
		{bench.Read, 64 << 10, 1, 3},
		{bench.Read, 1 << 20, 1, 18},
	} {
		want := exchange("rdmaio", "rdmaio", c.op, c.size)
		if len(want[0]) != 1+c.fromUs || len(want[1]) != 1+c.fromThem {
			t.Errorf("%s of %d: found %d and %d segments, expected %d and %d", c.op, c.size, len(want[0])-1, len(want[1])-1, c.fromUs, c.fromThem)
		}
		for _, pair := range [][2]string{{"rdmaio", "floor"}, {"floor", "rdmaio"}, {"floor", "floor"}} {
			got := exchange(pair[0], pair[1], c.op, c.size)
			for i, from := range []string{"client", "server"} {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("%s of %d, client %s, server %s: from the %s: found\n%.3000q\nwant\n%.3000q", c.op, c.size, pair[0], pair[1], from, got[i], want[i])
				}
			}
		}
	}
}
