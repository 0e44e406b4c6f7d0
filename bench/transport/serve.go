package transport

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

const serverEnv = "TRANSPORTBENCH_SERVER"

// IsServer reports whether this process was started as the server. Then main must call Serve, and
// nothing else.
func IsServer() bool { return process.Is(serverEnv) }

// Serve runs the server until in ends. It does not close its listeners: the process ends.
func Serve(in io.Reader, out io.Writer) error {
	addrs := map[string]string{}
	for name, serve := range map[string]func(net.Listener) error{
		bench.TCP:   func(ln net.Listener) error { go bench.ServeTCP(ln); return nil },
		bench.Floor: func(ln net.Listener) error { go bench.ServeFloor(ln); return nil },
		NetRPC:      serveNetRPC,
		GRPC:        func(ln net.Listener) error { serveGRPC(ln); return nil },
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			err = serve(ln)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		addrs[name] = ln.Addr().String()
	}
	h := newHandler()
	records, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, &tcpConfig)
	if err != nil {
		return err
	}
	addrs[ONCRPC] = records.Addr()
	for name, marked := range map[string]bool{TCPMarked: true, TCPGoroutines: false} {
		s, err := tcp.Listen(context.Background(), "127.0.0.1:0", newStubs(marked), &tcp.Config{MaxRequests: deep})
		if err != nil {
			return err
		}
		addrs[name] = s.Addr()
	}
	datagrams, err := udp.Listen(context.Background(), "127.0.0.1:0", newStubs(true), nil)
	if err != nil {
		return err
	}
	addrs[UDPAsync] = datagrams.Addr()
	for _, p := range networked() {
		dev, err := p.open()
		if err != nil {
			return err
		}
		if p.many() {
			for marked, name := range map[bool]string{false: manyOf(p.name, false), true: manyOf(p.name, true)} {
				s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", newStubs(marked), nil)
				if err != nil {
					return err
				}
				addrs[name] = s.Addr()
			}
		}
		for _, depth := range []int{1, deep, deepest} {
			s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", h, p.config(depth))
			if err != nil {
				return err
			}
			addrs[listener(p.name, depth)] = s.Addr()
		}
	}
	return process.Answer(in, out, addrs)
}

// listener returns the name of a provider's listener for a load.
func listener(provider string, depth int) string {
	switch {
	case depth <= 32:
		return provider
	case depth <= deep:
		return provider + "-deep"
	}
	return provider + "-deepest"
}
