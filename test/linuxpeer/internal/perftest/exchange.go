package perftest

import (
	"bytes"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// expect posts the Receive for the next message.
func (r *run) expect() error { return r.ctl.receive(1, r.ctl.part(handshakeSize, handshakeSize)) }

// exchange sends a message and returns the peer's. Both have the same length. The client is first.
// It posts no Receive for the message after the answer: the server may end the connection.
func (r *run) exchange(b []byte) (peer []byte, err error) {
	if r.Server {
		if peer, err = r.got(len(b)); err != nil {
			return nil, err
		}
	}
	if err := r.expect(); err != nil {
		return nil, err
	}
	copy(r.ctl.mr.Bytes(), b)
	if err := r.ctl.post(r.ctx, 1, verbs.SendWR{Opcode: verbs.Send, SGL: r.ctl.part(0, len(b))}); err != nil {
		return nil, fmt.Errorf("send of %d bytes: %w (%v)", len(b), err, r.ctl.qp.Err())
	}
	if !r.Server {
		return r.got(len(b))
	}
	return peer, nil
}

// got waits for a message of n bytes.
func (r *run) got(n int) ([]byte, error) {
	wc, err := r.ctl.received.next(r.ctx)
	if err != nil {
		return nil, fmt.Errorf("no message of %d bytes: %w (%v)", n, err, r.ctl.qp.Err())
	}
	b := bytes.Clone(r.ctl.mr.Bytes()[handshakeSize:][:wc.ByteLen])
	if len(b) != n {
		return nil, fmt.Errorf("a message of %d bytes, expected %d: %x", len(b), n, b)
	}
	return b, nil
}

// handshake exchanges n handshakes.
func (r *run) handshake(n int) error {
	mine := r.data.memory()
	if r.Op != verbs.Send {
		mine.Addr += counterSize
	}
	for i := range n {
		b, err := r.exchange(mine.appendHandshake(nil))
		if err != nil {
			return fmt.Errorf("handshake %d of %d: %w", i+1, n, err)
		}
		if r.mem, err = parseHandshake(b); err != nil {
			return err
		}
	}
	return nil
}
