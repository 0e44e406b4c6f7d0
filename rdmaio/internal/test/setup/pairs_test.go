package setup

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// version2Pair starts a server that answers each Call with as many bytes as the Call's third word
// says, and returns a connection to it.
func version2Pair(t *testing.T, tcp bool, server, client *rdmaio.Config) *rdmaio.Conn {
	t.Helper()
	var sd, cd verbs.Device
	addr := "there"
	if tcp {
		d, err := rdmatcp.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		sd, cd, addr = d, d, "127.0.0.1:0"
	} else {
		net := mem.New(nil)
		s, err := net.Open("server", nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Open("client", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.Close(), s.Close() })
		sd, cd = s, c
	}
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		want := rpctest.Bytes(binary.BigEndian.Uint32(r.Message), 0, len(r.Message))
		binary.BigEndian.PutUint32(want[8:], binary.BigEndian.Uint32(r.Message[8:]))
		if !bytes.Equal(r.Message, want) {
			t.Errorf("the Call of %d bytes has other bytes", len(r.Message))
		}
		r.Reply(rdmaio.Message{Inline: rpctest.Bytes(binary.BigEndian.Uint32(r.Message), 1, int(binary.BigEndian.Uint32(r.Message[8:])))}, nil)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	srv, err := rdmaio.Listen(ctx, sd, addr, h, server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	c, err := rdmaio.Dial(ctx, cd, srv.Addr(), client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Calls and replies of all sizes, over all pairs of versions.
func TestAllPairsOfVersionsWork(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		for _, c := range []struct {
			server, client []int
			want           int
		}{
			{[]int{2}, []int{2}, 2},
			{[]int{1, 2}, []int{2}, 2},
			{[]int{1, 2}, []int{2, 1}, 2},
			{[]int{2, 1}, []int{1}, 1},
			{[]int{1}, []int{2, 1}, 1},
			{nil, nil, 1},
			{[]int{2, 1}, []int{1, 2}, 1},
			{[]int{2}, []int{2, 1}, 2},
		} {
			t.Run(fmt.Sprint(tcp, c.server, c.client), func(t *testing.T) {
				conn := version2Pair(t, tcp, &rdmaio.Config{Versions: c.server}, &rdmaio.Config{Versions: c.client})
				if got := conn.Terms().Version; got != c.want {
					t.Fatalf("version %d, want %d", got, c.want)
				}
				for _, call := range []int{12, 40, 900, 1000, 4000, 4096, 5000, 16384, 70000} {
					for _, reply := range []int{8, 900, 4000, 4096, 5000, 16384, 70000} {
						b := rpctest.Bytes(conn.XID(), 0, call)
						binary.BigEndian.PutUint32(b[8:], uint32(reply))
						ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
						got, err := conn.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: b}, MaxReply: reply})
						cancel()
						if err != nil {
							t.Fatalf("Call of %d, reply of %d bytes: %v", call, reply, err)
						}
						if want := rpctest.Bytes(binary.BigEndian.Uint32(b), 1, reply); !bytes.Equal(got.Message, want) {
							t.Fatalf("Call of %d, reply of %d bytes: %d other bytes", call, reply, len(got.Message))
						}
					}
				}
			})
		}
	}
}

// A client that falls back to version 1 has the terms of RFC 8797 with its server, as one that
// begins with version 1 has: the sizes, and remote invalidation only if both sides want it.
func TestFallbackHasTheTermsOfVersion1(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		for _, wants := range []int{0, 1} {
			server := &rdmaio.Config{InlineRecv: 8192, InlineSend: 2048, RemoteInvalidate: wants}
			client := &rdmaio.Config{InlineRecv: 16384, InlineSend: 16384, RemoteInvalidate: 1}
			want := version2Pair(t, tcp, server, client).Terms()
			client.Versions = []int{2, 1}
			if got := version2Pair(t, tcp, server, client).Terms(); got != want || got.InlineSend != 8192 || got.InlineRecv != 2048 {
				t.Errorf("after version 2 was refused: %+v, without it %+v", got, want)
			}
		}
	}
}
