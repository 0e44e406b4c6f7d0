package replycache_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// relay passes bytes between clients and a server over TCP, as a proxy or a firewall does. The
// systems of both ends take it for their peer, so no probe shows that the client has gone.
type relay struct {
	ln    net.Listener
	to    string
	pumps sync.WaitGroup

	mu    sync.Mutex
	fault *fault // for the next bytes in its direction
	hit   int    // faults that have happened, and whose delay is over
	open  []net.Conn
}

// fault happens at the next bytes in a direction: the client's connection is reset. Bytes from the
// server are lost, and its connection is closed after the delay. Bytes from the client reach the
// server after the delay, and then the end of the stream.
type fault struct {
	toServer bool
	delay    time.Duration
}

// newRelay starts a relay to an address. It ends with the test.
func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{ln: ln, to: to}
	r.pumps.Go(r.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		r.mu.Lock()
		for _, c := range r.open {
			_ = c.Close()
		}
		r.open = nil
		r.mu.Unlock()
		r.pumps.Wait()
	})
	return r
}

// arm sets the fault for the next bytes in its direction.
func (r *relay) arm(f fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = &f
}

// faults returns the number of faults that have happened, and whose delay is over.
func (r *relay) faults() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hit
}

// take returns the fault for bytes in a direction, or nil.
func (r *relay) take(toServer bool) *fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.fault
	if f == nil || f.toServer != toServer {
		return nil
	}
	r.fault = nil
	return f
}

// accept connects each client with the server.
func (r *relay) accept() {
	for {
		client, err := r.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.open = append(r.open, client, server)
		r.mu.Unlock()
		lost := make(chan struct{}) // for the client
		r.pumps.Go(func() { r.pump(client, server, true, lost) })
		r.pumps.Go(func() { r.pump(server, client, false, lost) })
	}
}

// pump passes bytes on in one direction.
func (r *relay) pump(from, to net.Conn, toServer bool, lost chan struct{}) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if f := r.take(toServer); f != nil && n > 0 {
			client, server := to, from
			if toServer {
				client, server = from, to
			}
			close(lost)
			_ = client.(*net.TCPConn).SetLinger(0)
			_ = client.Close()
			time.Sleep(f.delay)
			if toServer {
				_, _ = server.Write(b[:n])
				_ = server.(*net.TCPConn).CloseWrite()
			}
			r.mu.Lock()
			r.hit++
			r.mu.Unlock()
			if toServer {
				_, _ = io.Copy(io.Discard, server)
			}
			_ = server.Close()
			return
		}
		select {
		case <-lost: // the other direction deals with the server
			return
		default:
		}
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}
