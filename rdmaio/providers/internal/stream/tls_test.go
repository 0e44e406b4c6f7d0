package stream

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
)

// overTLS returns both ends of a TLS connection, after the handshake. A write blocks until the
// other end reads.
func overTLS(t *testing.T) (client, server *tlsConn) {
	t.Helper()
	s, err := newSecure(&Config{TLS: tlstest.NewAuthority(t).Config(), ALPN: "toy"})
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	client, server = s.client(here, "127.0.0.1:1").(*tlsConn), s.server(there).(*tlsConn)
	limit, accepted := time.Now().Add(20*time.Second), make(chan error, 1)
	go func() { accepted <- server.Handshake(context.Background(), limit) }()
	if err := client.Handshake(context.Background(), limit); err != nil {
		t.Fatal(err)
	}
	// The last message of the server's handshake needs a reader.
	go io.Copy(io.Discard, client)
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	return client, server
}

// A write over TLS holds no region while it waits for the peer: the payload is in the encrypted
// records. It counts as staged.
func TestTLSHoldsNoRegionWhileItWaits(t *testing.T) {
	w := newWired(t, nil)
	w.dev.cfg.SendTimeout = time.Hour
	client, server := overTLS(t)
	c := &Conn{dev: w.dev, conn: client}
	b, want := sealed(t, w, 10)
	released, sent := make(chan struct{}), make(chan error, 1)
	go func() {
		err := c.send(b, func() {
			b.unpin()
			close(released)
		})
		b.unpin() // if send has not
		sent <- err
	}()
	returns(t, "the use of the region", released) // nothing has been read
	select {
	case err := <-sent:
		t.Fatalf("the write has returned: %v", err)
	default:
	}
	w.mr.Bytes()[0]++ // the owner has the region back
	got := make([]byte, len(want))
	if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: other bytes", err)
	}
	if err := <-sent; err != nil || b.staged != 200 || b.direct != 0 {
		t.Errorf("%v: %d bytes are staged and %d direct, want 200 and 0", err, b.staged, b.direct)
	}
}
