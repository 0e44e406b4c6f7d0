package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/xchar"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// The sizes of Receives in bytes, in version 2 with the extension xchar: the server begins with the
// small one, and the client asks for the large one.
const (
	smallReceives = 4096
	largeReceives = 16384
)

// generous accepts the larger Receives, and no other change.
type generous struct{ xchar.RejectAll }

func (generous) RaiseReceiveSize(_, to uint32) xchar.Decision {
	if to > largeReceives {
		return xchar.Reject
	}
	return xchar.Accept
}

// echo answers a Call with its own arguments.
var echo = rdmaio.HandlerFunc(func(r *rdmaio.Request) {
	xid, _, _ := oncrpc.Peek(r.Message)
	reply, err := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
	if err != nil {
		r.Drop(nil)
		return
	}
	r.Reply(rdmaio.Message{Inline: append(reply, r.Message[callHeader:]...)}, nil)
})

// callHeader and replyHeader are the lengths in bytes of the headers without authentication.
const (
	callHeader  = 40
	replyHeader = 24
)

// ask makes a Call with n bytes of arguments, and checks that they come back.
func ask(ctx context.Context, conn *rdmaio.Conn, n int) error {
	call, err := oncrpc.NewCall(conn.XID(), 0x20000099, 1, 1, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		return err
	}
	random := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	args := make([]byte, n)
	_, _ = random.Read(args)
	reply, err := conn.Call(ctx, &rdmaio.Call{
		Message: rdmaio.Message{Inline: append(call, args...)}, MaxReply: replyHeader + n,
	})
	if err != nil {
		return fmt.Errorf("call with %d bytes: %w", n, err)
	}
	if got := reply.Message[replyHeader:]; !bytes.Equal(got, args) {
		return fmt.Errorf("call with %d bytes: %d bytes or other content came back", n, len(got))
	}
	return nil
}

// calls makes Calls of all sizes between two ends on the device, in one version of RPC-over-RDMA.
// In version 2 it changes the size of the server's Receives.
func calls(ctx context.Context, o *options, args []string) error {
	if len(args) != 2 || args[0] != "1" && args[0] != "2" {
		return fmt.Errorf("found arguments %q, expected a version and an address", args)
	}
	version := int(args[0][0] - '0')
	if err := callsOf(ctx, o.dev, args[1], version); err != nil {
		return fmt.Errorf("version %d: %w", version, err)
	}
	return nil
}

// callsOf is calls for a version.
func callsOf(ctx context.Context, dev verbs.Device, addr string, version int) (err error) {
	near := &rdmaio.Config{Versions: []int{version}, Logger: slog.Default()}
	far := &rdmaio.Config{Versions: []int{version}, Logger: slog.Default()}
	if version == 2 {
		for cfg, x := range map[*rdmaio.Config]*xchar.Config{
			near: nil,
			far:  {Local: xchar.Characteristics{ReceiveSize: smallReceives}, Policy: generous{}},
		} {
			ext, err := xchar.Extension(x)
			if err != nil {
				return err
			}
			cfg.Extensions = []rdmaio.Extension{ext}
			cfg.InlineSend, cfg.InlineRecv = largeReceives, largeReceives
		}
	}
	server, err := rdmaio.Listen(ctx, dev, addr, echo, far)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	conn, err := rdmaio.Dial(ctx, dev, server.Addr(), near)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if version == 2 {
		if err := resize(ctx, conn); err != nil {
			return err
		}
	}
	for range 20 {
		for _, n := range []int{0, 4, 1000, 4000, 10_000, 100_000, 1_000_000} {
			if err := ask(ctx, conn, n); err != nil {
				return err
			}
		}
	}
	s := conn.Stats()
	if s.Version != version {
		return fmt.Errorf("the connection has version %d", s.Version)
	}
	fmt.Printf("version %d: %d messages sent, %d in parts, %d registrations\n", version, s.Sent, s.PartsSent, s.Registrations)
	return nil
}

// dials connects again and again in one version of RPC-over-RDMA, and makes a Call through each
// connection. Every attempt must succeed. Both ends of version 2 send as soon as they are
// connected.
func dials(ctx context.Context, o *options, args []string) (err error) {
	if len(args) != 2 || args[0] != "1" && args[0] != "2" {
		return fmt.Errorf("found arguments %q, expected a version and an address", args)
	}
	cfg := &rdmaio.Config{Versions: []int{int(args[0][0] - '0')}, Logger: slog.Default()}
	server, err := rdmaio.Listen(ctx, o.dev, args[1], echo, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	failed := 0
	for n := range o.messages {
		if err := dialOnce(ctx, o.dev, server.Addr(), cfg); err != nil {
			failed++
			fmt.Printf("attempt %d: %v\n", n, err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d connections failed", failed, o.messages)
	}
	fmt.Printf("version %s: %d connections\n", args[0], o.messages)
	return nil
}

// dialOnce connects, makes a Call and closes the connection.
func dialOnce(ctx context.Context, dev verbs.Device, addr string, cfg *rdmaio.Config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	start := time.Now()
	conn, err := rdmaio.Dial(ctx, dev, addr, cfg)
	if err != nil {
		return fmt.Errorf("dial, after %v: %w", time.Since(start).Round(time.Millisecond), err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return ask(ctx, conn, 100)
}

// resize makes the server's Receives larger.
func resize(ctx context.Context, conn *rdmaio.Conn) error {
	x, ok := xchar.Of(conn)
	if !ok {
		return errors.New("the connection does not have the extension xchar")
	}
	if _, err := x.Request(ctx, xchar.ReceiveSize(largeReceives)); err != nil {
		return fmt.Errorf("request for larger Receives: %w", err)
	}
	for x.PeerState(wire.IDReceiveBufferSize) == xchar.StatePending {
		if err := ask(ctx, conn, 100); err != nil { // it uses one of the small Receives
			return err
		}
	}
	if got := x.Peer().ReceiveSize; got != largeReceives {
		return fmt.Errorf("the server has Receives of %d bytes, expected %d", got, largeReceives)
	}
	fmt.Printf("xchar: the server has Receives of %d bytes\n", largeReceives)
	return nil
}

// removed makes Calls until the device is removed. Then the connection, and an attempt to make
// another one, must fail for that reason.
func removed(ctx context.Context, o *options, args []string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("found arguments %q, expected an address", args)
	}
	server, err := rdmaio.Listen(ctx, o.dev, args[0], echo, nil)
	if err != nil {
		return err
	}
	addr := server.Addr()
	conn, err := rdmaio.Dial(ctx, o.dev, addr, nil)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	fmt.Println("calling")
	// The server may refuse a Call for which it finds no memory while the device goes.
	var refused *rdmaio.PeerError
	for n := 0; err == nil || errors.As(err, &refused) && ctx.Err() == nil; n = (n + 4999) % 200_000 &^ 3 {
		err = ask(ctx, conn, n)
	}
	_ = server.Close() // reports the removal, too
	if !errors.Is(err, verbs.ErrDeviceRemoved) {
		return fmt.Errorf("the Call ended with %w, expected the removal of the device", err)
	}
	fmt.Println("ended:", err)
	other, err := rdmaio.Dial(ctx, o.dev, addr, nil)
	if err == nil {
		return errors.Join(errors.New("a connection was made on the removed device"), other.Close())
	}
	if !errors.Is(err, verbs.ErrDeviceRemoved) {
		return fmt.Errorf("another connection failed with %w, expected the removal of the device", err)
	}
	return nil
}
