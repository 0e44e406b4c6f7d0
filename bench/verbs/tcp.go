package verbs

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"time"
)

// greet opens a connection of a kind.
func greet(addr string, k kind, s Shape) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(s.append([]byte{byte(k)})); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// DialTCP connects to ServeTCP, for the operation Call, one at a time, or Write, with as much
// outstanding as the sockets take.
func DialTCP(addr, op string, s Shape) (Run, io.Closer, error) {
	k, run := kindEcho, pingPong
	if op == Write {
		k, run = kindSink, stream
	}
	conn, err := greet(addr, k, s)
	if err != nil {
		return nil, nil, err
	}
	return run(conn, s), conn, nil
}

// pingPong returns a run of round trips of s.Size octets, one at a time.
func pingPong(conn net.Conn, s Shape) Run {
	b := make([]byte, s.Size)
	return Latencies(func() error {
		if _, err := conn.Write(b); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, b)
		return err
	})
}

// Latencies returns a Run of one operation at a time. Its time is n times their median, so that the
// time reported per operation is p50.
func Latencies(op func() error) Run {
	return func(n int) (time.Duration, error) {
		took := make([]time.Duration, n)
		for i := range took {
			start := time.Now()
			if err := op(); err != nil {
				return 0, err
			}
			took[i] = time.Since(start)
		}
		slices.Sort(took)
		return took[n/2] * time.Duration(n), nil
	}
}

// stream returns a run of writes of s.Size octets each, until the server has
// read the last.
func stream(conn net.Conn, s Shape) Run {
	b := make([]byte, s.Size)
	return func(n int) (time.Duration, error) {
		start := time.Now()
		var head [8]byte
		binary.BigEndian.PutUint64(head[:], uint64(n)*uint64(s.Size))
		if _, err := conn.Write(head[:]); err != nil {
			return 0, err
		}
		for range n {
			if _, err := conn.Write(b); err != nil {
				return 0, err
			}
		}
		if _, err := io.ReadFull(conn, head[:1]); err != nil {
			return 0, err
		}
		return time.Since(start), nil
	}
}

// serveEcho is the other end of pingPong.
func serveEcho(conn net.Conn, s Shape) error {
	b := make([]byte, s.Size)
	for {
		if _, err := io.ReadFull(conn, b); err != nil {
			return err
		}
		if _, err := conn.Write(b); err != nil {
			return err
		}
	}
}

// serveSink is the other end of stream. It reads into as much memory as the other cases have.
func serveSink(conn net.Conn, s Shape) error {
	b := make([]byte, s.Size)
	for {
		if _, err := io.ReadFull(conn, b[:8]); err != nil {
			return err
		}
		for left := binary.BigEndian.Uint64(b); left > 0; {
			n, err := conn.Read(b[:min(uint64(len(b)), left)])
			if err != nil {
				return err
			}
			left -= uint64(n)
		}
		if _, err := conn.Write(b[:1]); err != nil {
			return err
		}
	}
}
