package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// When a server refuses a Call, or closes a connection for a fault, its log has the peer and the
// reason. ERR_CHUNK has no field for a reason, so the log is the only source.
func TestRefusalsAreLogged(t *testing.T) {
	const prefix = "cafe0001 00000001 00000020 "
	for _, c := range []struct {
		name, hex string
		times     int
		want      []string
	}{
		{"a header that is no XDR", prefix + "00000000 00000002 00000000 00000000", 1, []string{"a message broke a rule", "RFC 8166"}},
		{"a procedure", prefix + "00000007 00000000 00000000 00000000", 1, []string{"procedure 7"}},
		{"one of the draft", prefix + "00000002 00000040 00000008 00000000 00000000 00000000", 1, []string{"procedure 2 was withdrawn", "Config.Legacy"}},
		{"too much to fetch", prefix + "00000001 00000001 00000000 0000aaaa 01000001 00000000 00000000 00000000 00000000 00000000", 1, []string{"16777217 bytes", "limit is 16777216", "Config.MaxReadBytes"}},
		{"a version", "cafe0001 00000009 00000020 00000000 00000000 00000000 00000000", 1, []string{"version 9, only 1"}},
		{"an XID", prefix + "00000000 00000000 00000000 00000000 cafe0002 00000000 00000002", 1, []string{"0xcafe0002, of the header 0xcafe0001"}},
		{"errors without end", prefix + "00000007 00000000 00000000 00000000", 11, []string{"a connection was given up", "MaxErrors allows: limit 10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := rdmaiotest.New(t)
			var out rdmaiotest.Log
			w.Serve(&rpctest.File{T: t}, &rdmaio.Config{MaxErrors: 10, Logger: slog.New(slog.NewTextHandler(&out, nil))})
			p := w.DialRaw(t)
			for range c.times {
				p.Send(peertest.Bytes(t, c.hex))
				if c.times == 1 && len(p.Message(peertest.Patience)) == 0 {
					t.Error("no answer")
				}
			}
			for _, want := range append(c.want, "peer=", "queue_pair=") {
				for end := time.Now().Add(2 * time.Second); !strings.Contains(out.String(), want); time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("no %q in the log: %s", want, out.String())
					}
				}
			}
		})
	}
}

// The same for an answer that has no place to go: done gets the error, but the handler may ignore
// it.
func TestRepliesWithoutRoomAreLogged(t *testing.T) {
	w := rdmaiotest.New(t)
	var out rdmaiotest.Log
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: append(rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf, make([]byte, 5000)...)}, nil)
	}), &rdmaio.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	var pe *rdmaio.PeerError
	if _, err := w.Dial(nil).Call(context.Background(), rpctest.NullCall(1, 40)); !errors.As(err, &pe) {
		t.Fatal(err)
	}
	for _, want := range []string{"a handler's reply cannot be sent, the client gets RDMA_ERROR", "program ", "procedure ", "5024 bytes", "peer=", "queue_pair="} {
		if got := out.String(); !strings.Contains(got, want) {
			t.Errorf("the log has no %q: %s", want, got)
		}
	}
}
