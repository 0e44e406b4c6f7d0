package transport

import (
	"fmt"
	"net"
	"net/rpc"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

// Payload is the message type of net/rpc, encoded by gob.
type Payload struct{ Data []byte }

// Service is the server of net/rpc. It is exported because net/rpc requires that.
type Service struct{}

// Echo returns its argument.
func (Service) Echo(in, out *Payload) error {
	out.Data = in.Data
	return nil
}

// Sink returns the length of its argument.
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

// dialNetRPC returns a function that makes a call.
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
		return fmt.Errorf("net/rpc: found %d bytes, expected %d", got, want)
	}
	return nil
}
