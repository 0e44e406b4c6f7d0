package verbs

import (
	"net"
	"time"
)

// FramedAsyncClient is a client that has one goroutine: it reads all that has come, answers each
// frame by the next call, and writes once.
type FramedAsyncClient struct {
	*framing
	*Sampler
	conn net.Conn
	body []byte
}

// DialFramedAsync connects to ServeTCP.
func DialFramedAsync(addr string, s Shape) (*FramedAsyncClient, error) {
	conn, err := greet(addr, kindFramed, s)
	if err != nil {
		return nil, err
	}
	return &FramedAsyncClient{newFraming(conn, kindFramed, s), NewSampler(s.Depth), conn, make([]byte, s.Size)}, nil
}

// Run makes n calls, Depth at a time.
func (a *FramedAsyncClient) Run(n int) (time.Duration, error) {
	a.Reset()
	began := time.Now()
	sent, open := 0, 0
	for sent < min(n, a.shape.Depth) {
		a.Begin(sent)
		a.send(sent, a.body)
		sent++
		open++
	}
	for open > 0 {
		if a.r.buffered() < headerSize {
			if err := a.w.flush(false); err != nil {
				return 0, err
			}
		}
		h, err := a.receive()
		if err != nil {
			return 0, err
		}
		a.End(int(h.slot))
		if open--; sent < n {
			a.Begin(int(h.slot))
			a.send(int(h.slot), a.body)
			sent++
			open++
		}
	}
	return time.Since(began), nil
}

// Close closes the connection.
func (a *FramedAsyncClient) Close() error { return a.conn.Close() }
