package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
)

const serverEnv = "VERBSBENCH_SERVER"

// IsServer reports whether this process was started as the server. Then main must call Serve, and
// nothing else.
func IsServer() bool { return process.Is(serverEnv) }

// Serve runs the server until in ends.
func Serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	go ServeTCP(ln)
	addrs := map[string]string{"tcp": ln.Addr().String()}
	for _, p := range networked() {
		dev, err := p.open()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		pln, err := dev.Listen(ctx, "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		defer pln.Close()
		go acceptProvider(ctx, dev, pln)
		addrs[p.name] = pln.Addr()
	}
	return process.Answer(in, out, addrs)
}

// ServeTCP serves TCP connections until the listener is closed.
func ServeTCP(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if err := serveTCP(conn); !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "bench: server:", err)
			}
		}()
	}
}

// serveTCP serves a connection of the kind in its greeting, until the client closes it (io.EOF).
func serveTCP(conn net.Conn) error {
	var b [greetingSize]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return err
	}
	s, err := parseShape(b[1:])
	if err != nil {
		return err
	}
	switch k := kind(b[0]); k {
	case kindEcho:
		return serveEcho(conn, s)
	case kindBack:
		return serveBack(conn)
	case kindSink:
		s.Size = max(s.Size, 8) // the head of a run is read there too
		return serveSink(conn, s)
	case kindFramed, kindFramedGo, kindSegments:
		return serveFramed(conn, k, s)
	default:
		return fmt.Errorf("found a greeting of unknown kind %#x", byte(k))
	}
}
