package carriers_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/carriers"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// serve starts servers of squares.
func serve(t *testing.T, listeners ...carriers.Listener) *carriers.Servers {
	t.Helper()
	s, err := carriers.Start(t.Context(), squares(nil), listeners...)
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client returns a Client, which the test closes.
func client(t *testing.T, addrs []carriers.Address, cfg *carriers.ClientConfig) *carriers.Client {
	t.Helper()
	c, err := carriers.NewClient(addrs, cfg)
	must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// startedAt starts a server over TCP, and returns its address.
func startedAt(t *testing.T, h oncrpc.Handler) string {
	t.Helper()
	s, err := carriers.Start(t.Context(), h, carriers.TCP("127.0.0.1:0", &tcp.Config{Logger: slog.New(slog.DiscardHandler)}))
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s.List()[0].Addr
}

// Two servers have the Calls of one client. When one is closed, the other has them all, and when
// there is a server at the first address again, Calls go there.
func TestClientOfTwoServersOverTCP(t *testing.T) {
	first, second := serve(t, carriers.TCP("127.0.0.1:0", nil)), serve(t, carriers.TCP("127.0.0.1:0", nil))
	at := []string{first.List()[0].Addr, second.List()[0].Addr}
	addrs, err := carriers.TCPAddresses(soon(t), append(at, at[0]), nil)
	must(t, err)
	if len(addrs) != 2 || addrs[0].Name != "tcp "+at[0] {
		t.Fatalf("found %+v, expected two addresses", addrs)
	}
	c := client(t, addrs, &carriers.ClientConfig{Order: carriers.InOrder})
	must(t, square(t, c))
	must(t, first.Close())
	for range 3 {
		must(t, square(t, c))
	}
	if s := c.Stats().Addresses; s[1].Calls < 3 || !s[1].Up {
		t.Errorf("the first server is closed: %+v", s)
	}
	serve(t, carriers.TCP(at[0], nil))
	calls := c.Stats().Addresses[0].Calls
	for end := soon(t); c.Stats().Addresses[0].Calls < calls+2 && end.Err() == nil; time.Sleep(time.Millisecond) {
		must(t, square(t, c))
	}
	if s := c.Stats().Addresses[0]; !s.Up || s.Calls < calls+2 {
		t.Errorf("the first server is back: %+v", s)
	}
}

// A call that a server has executed, and whose connection is lost before the reply, is not executed
// at the other server.
func TestNoCallRunsAtBothServers(t *testing.T) {
	var addrs []string
	ran := make(chan int, 100)
	for i := range 2 {
		s := startedAt(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			if _, _, procedure, _ := oncrpc.Procedure(r.Message); procedure == 0 {
				b, _ := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
				r.Reply(oncrpc.Message{Inline: b}, nil)
				return
			}
			ran <- i
			panic("the connection is lost")
		}))
		addrs = append(addrs, s)
	}
	list, err := carriers.TCPAddresses(soon(t), addrs, &tcp.ClientConfig{Retransmits: -1})
	must(t, err)
	c := client(t, list, nil)
	err = rpc.NewClient(c, program, nil).Call(soon(t), 2, nil, nil, nil)
	if len(ran) != 1 || err == nil || !strings.Contains(err.Error(), "may have executed") {
		t.Errorf("%v: executed %d times", err, len(ran))
	}
}

// A name has its certificate checked by its name, and not by its IP address.
func TestTLSChecksTheName(t *testing.T) {
	authority := tlstest.NewAuthority(t)
	cert := authority.Issue(func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"localhost"} })
	server := &tls.Config{Certificates: []tls.Certificate{cert}}
	s := serve(t, carriers.TCP("127.0.0.1:0", &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: server}}))
	_, port, _ := net.SplitHostPort(s.List()[0].Addr)
	trusts := &tcp.ClientConfig{Conn: &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: &tls.Config{RootCAs: authority.Pool}}}}
	for host, works := range map[string]bool{"localhost": true, "127.0.0.1": false} {
		addrs, err := carriers.TCPAddresses(soon(t), []string{net.JoinHostPort(host, port)}, trusts)
		must(t, err)
		if err := square(t, client(t, addrs, nil)); (err == nil) != works {
			t.Errorf("%s: %v", host, err)
		}
	}
	if trusts.Conn.TLS.Config.ServerName != "" {
		t.Error("the caller's tls.Config has changed")
	}
}

// Wrong hosts are refused, and Carriers for the others are closed.
func TestWrongHostsAreRefused(t *testing.T) {
	dev, err := rdmatcp.Open(nil)
	must(t, err)
	defer dev.Close()
	for _, host := range []string{"", "localhost", ":2049", "localhost:", "no such host.invalid:1"} {
		hosts := []string{"127.0.0.1:1", host}
		_, err := carriers.TCPAddresses(soon(t), hosts, nil)
		_, err2 := carriers.RDMAAddresses(soon(t), dev, hosts, nil)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), "carriers: ") || !strings.Contains(err.Error(), "address ") {
				t.Errorf("%q: %v", host, err)
			}
		}
	}
	_, err = carriers.RDMAAddresses(soon(t), dev, []string{"127.0.0.1:1"}, &rdmaio.ClientConfig{MinBackoff: 1e9, MaxBackoff: 1})
	if err == nil || !strings.Contains(err.Error(), "MaxBackoff") {
		t.Error(err)
	}
	addrs, err := carriers.TCPAddresses(soon(t), nil, nil)
	if err != nil || len(addrs) != 0 {
		t.Errorf("%v, %v", addrs, err)
	}
}
