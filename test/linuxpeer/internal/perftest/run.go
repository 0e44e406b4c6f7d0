package perftest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Receives is the number of Receives that a server of ib_send_bw posts, and perftest's default.
const Receives = 512

// Config has the settings of a run. The guest's program must have the same options.
type Config struct {
	Server bool // Server says that this end is the server: it does not start the transfers.

	// Op moves the data: verbs.Send for ib_send_bw, RDMAWrite for ib_write_bw, RDMARead for
	// ib_read_bw.
	Op verbs.Opcode

	// Messages is the number of messages: at most Receives for a client of ib_send_bw.
	Messages int

	Size int // Size is the length of a message.

	// NoCredit says that the devices have InfiniBand's protocol, as RoCE does: the server of
	// ib_send_bw writes no credit, because the device makes the client wait for Receives.
	NoCredit bool

	// Connect connects a queue pair, by Dial or by Accept. It is called twice.
	Connect func(qp verbs.QueuePair) error
}

// Result has the peer's version and credit, and the time of the data.
type Result struct {
	Version string        // Version belongs to the peer's program.
	Credit  int           // Credit is the number that the peer has written to this end's counter.
	Time    time.Duration // Time belongs to a client's transfers.
}

// run is a run in progress.
type run struct {
	Config
	ctx  context.Context
	ctl  *conn // for the messages of the protocol
	data *conn
	mem  Memory // the peer's, from its last handshake
}

// Run is one end of a run of ib_send_bw, ib_write_bw or ib_read_bw on a device. The other end is
// perftest's.
func Run(ctx context.Context, dev verbs.Device, cfg Config) (res Result, err error) {
	if !cfg.Server && cfg.Op == verbs.Send && cfg.Messages > Receives {
		return res, fmt.Errorf("perftest: %d messages, expected at most %d, the peer's Receives", cfg.Messages, Receives)
	}
	r := &run{Config: cfg, ctx: ctx}
	if r.ctl, err = newConn(dev, 2*handshakeSize, 4); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.ctl.close()) }()
	if r.data, err = newConn(dev, counterSize+cfg.Size, Receives); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.data.close()) }()
	if res.Version, err = r.begin(); err != nil {
		return res, fmt.Errorf("perftest: begin: %w", err)
	}
	start := time.Now()
	if err = r.transfer(); err != nil {
		return res, fmt.Errorf("perftest: data: %w (%v)", err, r.data.qp.Err())
	}
	res.Time = time.Since(start)
	if err = r.end(); err != nil {
		return res, fmt.Errorf("perftest: end: %w", err)
	}
	if !cfg.NoCredit {
		res.Credit = int(binary.LittleEndian.Uint32(r.data.mr.Bytes()))
	}
	return res, nil
}

// begin connects both connections and exchanges the messages before the data.
func (r *run) begin() (version string, err error) {
	if r.Server {
		if err := r.expect(); err != nil {
			return "", err
		}
	}
	if err := r.Connect(r.ctl.qp); err != nil {
		return "", err
	}
	// The oldest version that 4.5 accepts, and what it has itself on amd64 with an MTU of 1024.
	peer, err := r.exchange(append([]byte("5.70"), make([]byte, 12)...))
	if err != nil {
		return "", err
	}
	text, _, _ := bytes.Cut(peer, []byte{0})
	for _, b := range [][]byte{{0, 0, 0x10, 0}, {0, 0, 0, 64}, {'3', 0}} {
		if _, err := r.exchange(b); err != nil {
			return "", err
		}
	}
	if err := r.handshake(1); err != nil {
		return "", err
	}
	if r.Server && r.Op == verbs.Send {
		if err := r.data.receive(Receives, r.payload()); err != nil {
			return "", err
		}
	}
	if err := r.Connect(r.data.qp); err != nil {
		return "", fmt.Errorf("connection of the data: %w", err)
	}
	if r.Op == verbs.Send {
		return string(text), r.handshake(5)
	}
	return string(text), r.handshake(4)
}

// end exchanges the messages after the data. The server ends the connection of the data, then the
// client the other one.
func (r *run) end() error {
	if r.Op != verbs.Send {
		if err := r.handshake(1); err != nil {
			return err
		}
		for _, n := range []int{r.Size, r.Messages, 0, 0, 0} { // 0 is the double 0, too
			if _, err := r.exchange(binary.BigEndian.AppendUint64(nil, uint64(n))); err != nil {
				return err
			}
		}
	}
	if err := r.handshake(1); err != nil {
		return err
	}
	if !r.Server {
		return r.closed(r.data, "data")
	}
	if err := r.data.qp.Disconnect(); err != nil {
		return err
	}
	// siw fails a Send that the peer has answered but that it has not completed yet, if the
	// connection ends then. The client ends it after that.
	return r.closed(r.ctl, "messages")
}

// closed waits until the peer has ended a connection.
func (r *run) closed(c *conn, name string) error {
	select {
	case <-c.ended:
	case <-r.ctx.Done():
		return fmt.Errorf("the peer does not end the connection of the %s: %w", name, r.ctx.Err())
	}
	err := c.qp.Err()
	if r.Op == verbs.RDMAWrite && errors.Is(err, syscall.ECONNRESET) {
		// An RDMA Write completes when it is sent, and the two connections have no order: the
		// server can end this one before it has read all Writes from it. TCP resets it then.
		return nil
	}
	if !errors.Is(err, verbs.ErrPeerDisconnected) {
		return fmt.Errorf("the connection of the %s ended with %w", name, err)
	}
	return nil
}
