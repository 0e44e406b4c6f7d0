package verbs

import (
	"net"
	"sync"
)

// echoBuffer is the most that an end of a bare echo reads at once.
const echoBuffer = 16 << 10

// EchoClient makes calls over a connection without any format: the server writes what it has read,
// and a call is as many octets as every other. Each call is written alone.
type EchoClient struct {
	conn net.Conn
	body []byte
	done []chan struct{} // by slot; closed at the end
	err  error           // the reason; set before done is closed

	mu    sync.Mutex
	order chan int // slots in the order of their writes
}

// DialEcho connects to ServeTCP.
func DialEcho(addr string, s Shape) (*EchoClient, error) {
	conn, err := greet(addr, kindBack, s)
	if err != nil {
		return nil, err
	}
	c := &EchoClient{conn: conn, body: Pattern(s.Size), order: make(chan int, s.Depth)}
	for range s.Depth {
		c.done = append(c.done, make(chan struct{}, 1))
	}
	go c.read()
	return c, nil
}

// Call makes a call in a slot. There are Shape.Depth slots, and each has one call at a time.
func (c *EchoClient) Call(slot int) error {
	c.mu.Lock()
	c.order <- slot
	_, err := c.conn.Write(c.body)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if _, ok := <-c.done[slot]; !ok {
		return c.err
	}
	return nil
}

// read reads until the connection fails or is closed. Then all calls fail.
func (c *EchoClient) read() {
	buf := make([]byte, echoBuffer)
	for open := 0; ; {
		n, err := c.conn.Read(buf)
		for open += n; open >= len(c.body); open -= len(c.body) {
			c.done[<-c.order] <- struct{}{}
		}
		if err != nil {
			c.err = err
			for _, d := range c.done {
				close(d)
			}
			c.conn.Close()
			return
		}
	}
}

// Close closes the connection. Calls in progress fail.
func (c *EchoClient) Close() error { return c.conn.Close() }

// serveBack writes what it reads.
func serveBack(conn net.Conn) error {
	buf := make([]byte, echoBuffer)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}
