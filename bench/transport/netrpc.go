package transport

import (
	"fmt"
	"net"
	"net/rpc"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

// Payload is what net/rpc carries, by gob.
type Payload struct{ Data []byte }

// Service is the other end of net/rpc, which demands that it is exported.
type Service struct{}

// Echo returns what it gets.
func (Service) Echo(in, out *Payload) error {
	out.Data = in.Data
	return nil
}

// Sink returns how much it got.
func (Service) Sink(in *Payload, n *int) error {
	*n = len(in.Data)
	return nil
}

func serveNetRPC(ln net.Listener) error {
	s := rpc.NewServer()
	if err := s.Register(Service{}); err != nil {
		return err
	}
	go s.Accept(ln)
	return nil
}

// dialNetRPC returns what makes a call.
func dialNetRPC(addr, op string, s bench.Shape) (func(int) error, *rpc.Client, error) {
	c, err := rpc.Dial("tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	in := Payload{make([]byte, s.Size)}
	if op == bench.Call {
		return func(int) error {
			var out Payload
			if err := c.Call("Service.Echo", &in, &out); err != nil {
				return err
			}
			return length(len(out.Data), s.Size)
		}, c, nil
	}
	return func(int) error {
		var n int
		if err := c.Call("Service.Sink", &in, &n); err != nil {
			return err
		}
		return length(n, s.Size)
	}, c, nil
}

func length(got, want int) error {
	if got != want {
		return fmt.Errorf("%d bytes, want %d", got, want)
	}
	return nil
}
