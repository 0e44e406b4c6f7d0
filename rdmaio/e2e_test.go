package rdmaio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var _ = bytes.Equal
var _ = binary.BigEndian
var _ verbs.Device
var _ trace.Event

func TestSmoke(t *testing.T) {
	n := mem.New(nil)
	cd, _ := n.Open("client", nil)
	sd, _ := n.Open("server", nil)
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		out := make([]byte, 28)
		copy(out, r.Message[:4])
		out[7] = 1
		r.Reply(rdmaio.Message{Inline: out}, nil)
	})
	s, err := rdmaio.Listen(context.Background(), sd, "s", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rdmaio.Dial(context.Background(), cd, "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	msg := make([]byte, 128)
	for i := range 10 {
		msg[3] = byte(i)
		rep, err := c.Call(context.Background(), &rdmaio.Call{Message: rdmaio.Message{Inline: msg}})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(len(rep.Message), c.Stats())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cd.Close(); err != nil {
		t.Error(err)
	}
	if err := sd.Close(); err != nil {
		t.Error(err)
	}
}

func BenchmarkSmall(b *testing.B) {
	n := mem.New(nil)
	cd, _ := n.Open("client", nil)
	sd, _ := n.Open("server", nil)
	out := make([]byte, 28)
	out[7] = 1
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		copy(out, r.Message[:4])
		r.Reply(rdmaio.Message{Inline: out}, nil)
	})
	s, err := rdmaio.Listen(context.Background(), sd, "s", h, nil)
	if err != nil {
		b.Fatal(err)
	}
	c, err := rdmaio.Dial(context.Background(), cd, "s", nil)
	if err != nil {
		b.Fatal(err)
	}
	msg := make([]byte, 128)
	call := &rdmaio.Call{Message: rdmaio.Message{Inline: msg}, ReplyBuf: make([]byte, 128)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		binary.BigEndian.PutUint32(msg, uint32(i))
		if _, err := c.Call(context.Background(), call); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	s.Close()
}
