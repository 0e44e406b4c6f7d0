package tcp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// If a peer speaks something else, the error quotes its first bytes and says that nothing was
// executed. The peer gets the Call once.
func TestPeerSpeaksSomethingElse(t *testing.T) {
	for name, tt := range map[string]struct {
		first string
		want  error
		text  string
	}{
		"HTTP":          {"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400 Bad Request", tcp.ErrNotRPC, `beginning with "HTTP/1.1 400 Bad Request\r\nConten", where`},
		"SSH":           {"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", tcp.ErrNotRPC, `beginning with "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"`},
		"TLS alert":     {"\x15\x03\x01\x00\x02\x02\x46", tcp.ErrNotRPC, `TLS from the first byte on`},
		"binary":        {"\xff\xff\xff\xff\x00\x00\x00\x01\x00\x00\x00\x02", tcp.ErrNotRPC, `beginning with "\xff\xff\xff\xff`},
		"long reply":    {"\xff\xff\xff\xff\x00\x00\x00\x01\x00\x00\x00\x01", tcp.ErrRecord, "more than"},
		"long fragment": {"\xff\xff\xff\xff", tcp.ErrRecord, "more than"},
		// A reply that a peer with a longer limit sends in several fragments: it may have run.
		"first of several fragments": {"\x01\x40\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01", io.ErrUnexpectedEOF, "before its end"},
		"mark of several fragments":  {"\x7f\xff\xff\xff", tcp.ErrRecord, "more than"},
		"short text":                 {"BUSY\r\n\t", tcp.ErrNotRPC, `beginning with "BUSY\r\n\t", where`},
	} {
		t.Run(name, func(t *testing.T) {
			addr := scripted(t, func(c net.Conn) {
				if _, err := io.ReadFull(c, make([]byte, len(goodCall(1)))); err == nil {
					_, _ = c.Write([]byte(tt.first))
				}
			})
			conn := dial(t, addr, &tcp.Config{Logger: quiet})
			_, err := conn.Call(context.Background(), callOf(1, 4))
			wantError(t, err, tt.want, !errors.Is(tt.want, tcp.ErrNotRPC))
			if !strings.Contains(fmt.Sprint(err), tt.text) {
				t.Errorf("found %v, want %q in it", err, tt.text)
			}
			if tt.want != tcp.ErrNotRPC {
				return
			}
			client, err := tcp.NewClient(addr, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, stop := context.WithTimeout(t.Context(), leak.Patience())
			defer stop()
			_, err = client.Call(ctx, callOf(1, 4))
			wantError(t, err, tcp.ErrNotRPC, false)
			if st := client.Stats(); st.Retransmissions != 0 || st.DialFailures == 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// After an RPC record, a mark that is too long is an ErrRecord.
func TestLongRecordAfterReply(t *testing.T) {
	addr := scripted(t, func(c net.Conn) {
		if _, err := io.ReadFull(c, make([]byte, len(goodCall(1)))); err == nil {
			_, _ = c.Write(append(goodReply(1), "HTTP"...))
		}
	})
	conn := dial(t, addr, &tcp.Config{Logger: quiet})
	if _, err := conn.Call(context.Background(), callOf(1, 4)); err != nil {
		t.Fatal(err)
	}
	<-conn.Done()
	if err := conn.Err(); !errors.Is(err, tcp.ErrRecord) {
		t.Error(err)
	}
}

// use makes a server's connections count as in use, so that none makes room for another one.
func use(s *tcp.Server) {
	for _, c := range s.Conns() {
		c.AllowReverse()
	}
}

// A client of a full server finds that out, also with TLS, and has not been served. Before its
// first connection a Client reports it; later it waits for a free place.
func TestFullServer(t *testing.T) {
	for name, cfg := range map[string]*tcp.Config{
		"Plain": {Logger: quiet}, "TLS": secured(tlstest.NewAuthority(t), tcp.TLSRequired),
	} {
		for limit, set := range map[string]func(*tcp.Config){
			"MaxConns": func(c *tcp.Config) { c.MaxConns = 1 }, "MaxPerSource": func(c *tcp.Config) { c.MaxPerSource = 1 },
		} {
			t.Run(name+limit, func(t *testing.T) {
				full := *cfg
				set(&full)
				s := listen(t, newService(), &full)
				first := dial(t, s.Addr(), cfg)
				double(t, first)
				use(s)
				client, err := tcp.NewClient(s.Addr(), &tcp.ClientConfig{Conn: cfg, MinBackoff: time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				_, err = client.Call(context.Background(), callOf(1, 4))
				wantError(t, err, tcp.ErrFull, false)
				_ = first.Close()
				waitFor(t, func() bool { return s.Stats().Conns == 0 })
				double(t, client)
				for _, c := range s.Conns() {
					_ = c.Close()
				}
				waitFor(t, func() bool { return s.Stats().Conns == 0 })
				second := dial(t, s.Addr(), cfg)
				double(t, second)
				use(s)
				rejected := s.Stats().Rejected
				go func() {
					for s.Stats().Rejected < rejected+3 {
						time.Sleep(time.Millisecond)
					}
					_ = second.Close()
				}()
				double(t, client)
				if s.Stats().Rejected < rejected+3 {
					t.Error("the Call did not wait for a place")
				}
			})
		}
	}
}

// An empty record after another message says that the server closes an idle connection: no Call in
// progress was executed. A server accepts no empty record from a client.
func TestEmptyRecordIsAGoodbye(t *testing.T) {
	addr := scripted(t, func(c net.Conn) {
		for xid := range uint32(2) {
			if _, err := io.ReadFull(c, make([]byte, len(goodCall(1)))); err == nil {
				_, _ = c.Write([][]byte{goodReply(1), record()}[xid])
			}
		}
	})
	conn := dial(t, addr, &tcp.Config{Logger: quiet})
	if _, err := conn.Call(context.Background(), callOf(1, 4)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Call(context.Background(), callOf(2, 4))
	wantError(t, err, tcp.ErrIdle, false)
	if err := conn.Err(); !errors.Is(err, tcp.ErrIdle) {
		t.Error(err)
	}
	server := make(chan oncrpc.Conn, 1)
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		server <- r.Conn()
		r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
	}), nil)
	c := raw(t, s.Addr())
	_, _ = c.Write(record())
	if rest, err := io.ReadAll(c); len(rest) > 0 {
		t.Errorf("%x, %v", rest, err)
	}
}

// A Call that is sent before the server refuses the client's certificate is not executed, and its
// error says so.
func TestTLSRefusedClientHasNotRun(t *testing.T) {
	a, other := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	s := listen(t, newService(), secured(a, tcp.TLSRequired))
	for name, certificates := range map[string][]tls.Certificate{"none": nil, "of another authority": {other.Issue(nil)}} {
		cfg := secured(a, tcp.TLSRequired)
		cfg.TLS.Config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(certificates) == 0 {
				return new(tls.Certificate), nil
			}
			return &certificates[0], nil
		}
		client, err := tcp.NewClient(s.Addr(), &tcp.ClientConfig{Conn: cfg})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Call(context.Background(), callOf(1, 4))
		if _ = client.Close(); !errors.Is(err, tcp.ErrTLS) {
			t.Errorf("certificate %s: %v", name, err)
		}
		wantError(t, err, oncrpc.ErrAuth, false)
	}
}
