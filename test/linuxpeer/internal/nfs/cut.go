package nfs

import (
	"io"
	"net"
	"sync"
)

// Cutter forwards TCP connections to a server, and cuts some of them in the middle: both ends get a
// reset, as if a machine between them had failed.
type Cutter struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	after []int64 // for the next connections
	cuts  int
	conns map[net.Conn]bool
}

// NewCutter returns a Cutter that listens on this machine. It cuts the first connection after as
// many bytes from the client as the first number says, and so on. It does not cut further ones.
func NewCutter(target string, after ...int64) (*Cutter, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &Cutter{listener: l, target: target, after: after, conns: map[net.Conn]bool{}}
	c.wg.Go(c.accept)
	return c, nil
}

// Addr returns the address to connect to.
func (c *Cutter) Addr() string { return c.listener.Addr().String() }

// Cuts returns the number of connections that were cut.
func (c *Cutter) Cuts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// CutAll cuts all connections that there are, and returns their number.
func (c *Cutter) CutAll() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.conns) / 2
	for conn := range c.conns {
		reset(conn)
	}
	c.cuts += n
	return n
}

// Close closes the listener and all connections, and waits for their goroutines.
func (c *Cutter) Close() error {
	err := c.listener.Close()
	c.mu.Lock()
	for conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
	return err
}

func (c *Cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target)
		if err != nil {
			client.Close()
			continue
		}
		c.mu.Lock()
		limit := int64(-1)
		if len(c.after) > 0 {
			limit, c.after = c.after[0], c.after[1:]
		}
		c.conns[client], c.conns[server] = true, true
		c.mu.Unlock()
		c.wg.Go(func() { c.forward(client, server, limit) })
	}
}

// forward copies both ways until one end closes, or limit bytes have come from the client. If limit
// is negative, there is none.
func (c *Cutter) forward(client, server net.Conn, limit int64) {
	var wg sync.WaitGroup
	wg.Go(func() {
		if limit < 0 {
			_, _ = io.Copy(server, client)
		} else if _, err := io.CopyN(server, client, limit); err == nil {
			c.mu.Lock()
			c.cuts++
			c.mu.Unlock()
			reset(client)
			reset(server)
		}
		server.Close()
		client.Close()
	})
	wg.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
		server.Close()
	})
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, client)
	delete(c.conns, server)
}

// reset closes a connection without the orderly end of TCP.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0) // fails if it is closed already
	conn.Close()
}
