package transport

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

// raw is a codec for messages that are byte slices.
type raw struct{}

func (raw) Name() string { return "raw" }

func (raw) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("codec raw: cannot encode a %T, only *[]byte", v)
	}
	return *b, nil
}

func (raw) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("codec raw: cannot decode to a %T, only *[]byte", v)
	}
	*b = append((*b)[:0], data...) // the codec must not keep data
	return nil
}

const (
	grpcService = "bench.Transport"
	grpcEcho    = "/" + grpcService + "/Echo"
	grpcSink    = "/" + grpcService + "/Sink"
)

// grpcMethod returns a unary method, as protoc-gen-go-grpc would generate it.
func grpcMethod(name string, answer func([]byte) []byte) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var in []byte
		if err := decode(&in); err != nil {
			return nil, err
		}
		out := answer(in)
		return &out, nil
	}}
}

// serveGRPC serves until the listener is closed.
func serveGRPC(ln net.Listener) {
	s := grpc.NewServer(grpc.ForceServerCodec(raw{}))
	s.RegisterService(&grpc.ServiceDesc{ServiceName: grpcService, HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		grpcMethod("Echo", func(b []byte) []byte { return b }),
		grpcMethod("Sink", func(b []byte) []byte { return binary.BigEndian.AppendUint32(nil, uint32(len(b))) }),
	}}, struct{}{})
	go func() { _ = s.Serve(ln) }()
}

// dialGRPC returns a function that makes a call.
func dialGRPC(addr, op string, s bench.Shape) (func(int) error, *grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		return nil, nil, err
	}
	in := make([]byte, s.Size)
	method := grpcEcho
	if op != bench.Call {
		method = grpcSink
	}
	return func(int) error {
		var out []byte
		if err := conn.Invoke(context.Background(), method, &in, &out); err != nil {
			return err
		}
		if op == bench.Call {
			return length(len(out), s.Size)
		}
		if len(out) != 4 {
			return fmt.Errorf("grpc: found an answer of %d bytes, expected 4", len(out))
		}
		return length(int(binary.BigEndian.Uint32(out)), s.Size)
	}, conn, nil
}
