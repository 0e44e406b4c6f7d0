package perftest

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// counterSize is the length of the counter at the start of the data's region: the peer's credit at
// a client, this end's at a server.
const counterSize = 8

// payload is the part of the region behind the counter.
func (r *run) payload() []verbs.SGE { return r.data.part(counterSize, r.Size) }

// transfer moves the data. RDMA Writes and Reads of the peer need nothing of this end.
func (r *run) transfer() error {
	switch {
	case !r.Server:
		// A Send does not use the address and the key.
		wr := verbs.SendWR{Opcode: r.Op, SGL: r.payload(), RemoteAddr: r.mem.Addr, RKey: r.mem.Key}
		return r.data.post(r.ctx, r.Messages, wr)
	case r.Op == verbs.Send:
		return r.take()
	}
	return nil
}

// take receives the messages, and writes the credit for them.
func (r *run) take() error {
	for i := 1; i <= r.Messages; i++ {
		wc, err := r.data.received.next(r.ctx)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if int(wc.ByteLen) != r.Size {
			return fmt.Errorf("message %d has %d bytes, expected %d", i, wc.ByteLen, r.Size)
		}
		if err := r.data.receive(1, r.payload()); err != nil {
			return err
		}
		if r.NoCredit || i%(Receives/3) != 0 {
			continue
		}
		binary.LittleEndian.PutUint32(r.data.mr.Bytes(), uint32(i))
		credit := verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: r.data.part(0, 4), RemoteAddr: r.mem.Addr, RKey: r.mem.Key}
		if err := r.data.post(r.ctx, 1, credit); err != nil {
			return fmt.Errorf("credit for %d messages: %w", i, err)
		}
	}
	return nil
}
