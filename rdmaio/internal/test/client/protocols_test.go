package client

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// openProvider opens a device of a provider over TCP.
func openProvider(t *testing.T, provider string, log *slog.Logger) verbs.Device {
	t.Helper()
	if provider == "iwarp" {
		return rdmaiotest.Opened(t, func() (*iwarp.Device, error) { return iwarp.Open(&iwarp.Config{Logger: log}) })
	}
	return rdmaiotest.Opened(t, func() (*rdmatcp.Device, error) { return rdmatcp.Open(&rdmatcp.Config{Logger: log}) })
}

// A server logs that its client speaks the protocol of the other provider. The client gets no byte
// of the server; its error names that provider.
func TestEndsWithDifferentProvidersNameTheOther(t *testing.T) {
	for client, tt := range map[string]struct{ server, log string }{
		"rdmatcp": {"iwarp", "as of rdmatcp (docs/rdmatcp.md), and this side speaks iwarp: use the same provider at both ends"},
		"iwarp":   {"rdmatcp", "as of iwarp (RFC 5044 §7.1), and this side speaks rdmatcp: use the same provider at both ends"},
	} {
		t.Run(client, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			log := new(rdmaiotest.Log)
			dev := openProvider(t, tt.server, log.Logger())
			server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", rdmaio.HandlerFunc(func(*rdmaio.Request) {}), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			_, err = rdmaio.Dial(ctx, openProvider(t, client, nil), server.Addr(), nil)
			want := "this side speaks " + client + ": a server of " + tt.server + ", or of ONC RPC over TCP, closes its connections without an answer"
			if !errors.Is(err, verbs.ErrPeerDisconnected) || errors.Is(err, verbs.ErrOtherProtocol) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			for !strings.Contains(log.String(), tt.log) { // until the deadline of ctx
				if ctx.Err() != nil {
					t.Fatalf("log has no %q:\n%s", tt.log, log.String())
				}
				time.Sleep(time.Millisecond)
			}
			if n := strings.Count(log.String(), "its first bytes are "); n != 1 {
				t.Errorf("the log quotes the first bytes %d times:\n%s", n, log.String())
			}
		})
	}
}

// A server that accepts a stream gets the same error, without a log.
func TestAcceptedStreamOfOtherProviderIsNamed(t *testing.T) {
	for _, tt := range []struct{ server, first, want string }{
		{"rdmatcp", "MPA ID Req Frame\x40\x01\x00\x00", "as of iwarp"},
		{"iwarp", "\x01\x0d\x00\x30\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x04", "as of rdmatcp"},
		{"iwarp", "\x80\x00\x00\x28\xca\xfe\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01\x86\xa3", "as of ONC RPC over TCP"},
		{"iwarp", "MPA ID Foo Frame\x40\x01\x00\x00", `its first bytes are "MPA ID Foo Frame", and this side speaks iwarp: check the port`},
		{"iwarp", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", `its first bytes are "GET / HTTP/1.1\r\n", and this side speaks iwarp: check the port`},
	} {
		dev := openProvider(t, tt.server, nil).(interface {
			AcceptConn(context.Context, net.Conn) (verbs.ConnRequest, error)
		})
		ours, theirs := net.Pipe()
		go io.WriteString(theirs, tt.first)
		_, err := dev.AcceptConn(context.Background(), ours)
		theirs.Close()
		if !errors.Is(err, verbs.ErrOtherProtocol) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %q: %v, want %q", tt.server, tt.first, err, tt.want)
		}
	}
}

// A Call of a Client whose server speaks another protocol fails at once, even with WaitForServer.
func TestClientFailsAtOnceAtAnotherProtocol(t *testing.T) {
	for _, provider := range []string{"rdmatcp", "iwarp"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				conn.Read(make([]byte, 100))
				io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
				conn.Close()
			}
		}()
		c, err := rdmaio.NewClient(openProvider(t, provider, nil), ln.Addr().String(), &rdmaio.ClientConfig{WaitForServer: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err = c.Call(ctx, rpctest.NullCall(c.XID(), 40))
		if !errors.Is(err, verbs.ErrOtherProtocol) || ctx.Err() != nil {
			t.Errorf("%s: %v, want the reason at once", provider, err)
		}
	}
}
