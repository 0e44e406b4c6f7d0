package rping

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config has the settings of a run.
type Config struct {
	Server bool // Server says that this end is the server, which reads and writes buffers.
	Pings  int  // Pings is the number of pings; option -C of the other end.

	// Connect connects a queue pair, by Dial or by Accept, with depths of at least 1.
	Connect func(qp verbs.QueuePair) error
}

// Run is one end of rping on a device.
func Run(ctx context.Context, dev verbs.Device, cfg Config) (err error) {
	e, err := newEnd(ctx, dev)
	if err != nil {
		return fmt.Errorf("rping: %w", err)
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.pings = cfg.Pings
	if err := cfg.Connect(e.qp); err != nil {
		return fmt.Errorf("rping: connect: %w", err)
	}
	ping := e.ask
	if cfg.Server {
		ping = e.answer
	}
	for i := range cfg.Pings {
		if err := ping(i); err != nil {
			return fmt.Errorf("rping: ping %d: %w", i, err)
		}
	}
	if !cfg.Server {
		return e.qp.Disconnect()
	}
	select {
	case <-e.ended: // the client disconnects when it has the last message
		return nil
	case <-ctx.Done():
		return fmt.Errorf("rping: the client does not disconnect: %w", context.Cause(ctx))
	}
}

// answer is a ping at the server.
func (e *end) answer(i int) error {
	source, err := e.got()
	if err != nil {
		return err
	}
	if source.size > bufferSize {
		return fmt.Errorf("the client names %d bytes, expected at most %d", source.size, bufferSize)
	}
	n := int(source.size)
	if err := e.move(verbs.RDMARead, source, n); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if !bytes.HasPrefix(e.data.Bytes(), []byte("rdma-ping-")) {
		return fmt.Errorf("read %q, expected it to begin with rdma-ping-", e.data.Bytes()[:n])
	}
	if err := e.send(0); err != nil {
		return err
	}
	sink, err := e.got()
	if err != nil {
		return err
	}
	if err := e.move(verbs.RDMAWrite, sink, n); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	err = e.send(0)
	if errors.Is(err, verbs.StatusError{Status: verbs.StatusFlushed}) && i == e.pings-1 {
		return nil // the client has the message, and disconnects before the Send has completed
	}
	return err
}

// ask is a ping at the client. The server has read the buffer when its first message comes, and
// has written to it when the second does.
func (e *end) ask(i int) error {
	text := fmt.Sprintf("rdma-ping-%d: the quick brown fox", i)
	const size = 64
	for _, content := range []string{text, ""} {
		clear(e.data.Bytes())
		copy(e.data.Bytes(), content)
		if err := e.send(size); err != nil {
			return err
		}
		if _, err := e.got(); err != nil {
			return err
		}
	}
	if got := string(e.data.Bytes()[:len(text)]); got != text {
		return fmt.Errorf("the server writes %q, expected %q", got, text)
	}
	return nil
}
