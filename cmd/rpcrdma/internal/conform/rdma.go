package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rawpeer"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The sizes that this end has over RDMA, in bytes, and its number of Receives.
const (
	receives    = 16
	receiveSize = 4096
	offerSize   = 8192
	headerSize  = 28   // of a message without chunks (RFC 8166 §4.1)
	inlineSize  = 1024 // without private data (RFC 8166 §3.3.2)
)

// credits is the number that this end asks for.
const credits = 8

// rdma is a wire over RDMA: RPC-over-RDMA version 1 (RFC 8166).
type rdma struct {
	*rawpeer.Peer
	offer verbs.MemoryRegion // of mem
	mem   []byte             // that the other side may read and write
}

// dialRDMA connects a queue pair, and registers memory for chunks.
func (t *Target) dialRDMA(ctx context.Context) (wire, error) {
	p, err := rawpeer.New(t.Device, receives, receiveSize, nil)
	r := &rdma{Peer: p}
	if err == nil {
		_, err = p.Dial(ctx, t.Device, t.Addr, nil)
	}
	if err == nil {
		r.mem, err = p.PD.Alloc(offerSize)
	}
	if err == nil {
		r.offer, err = p.PD.RegisterMemory(r.mem, verbs.AccessRemoteRead|verbs.AccessRemoteWrite|verbs.AccessLocalWrite)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// header returns the header of an RDMA_MSG (0) or RDMA_NOMSG (1), with its lists.
func header(xid, proc uint32, lists ...uint32) []byte {
	return words(words(nil, xid, 1, credits, proc), lists...)
}

// segment returns the words of memory that this side offers (RFC 8166 §3.4.3).
func (r *rdma) segment(n int) []uint32 {
	at := r.offer.RemoteAddr()
	return []uint32{r.offer.RKey(), uint32(n), uint32(at >> 32), uint32(at)}
}

func (r *rdma) send(b []byte, until time.Time) error {
	xid, _ := xidOf(b)
	if len(b) > inlineSize-headerSize {
		return fmt.Errorf("an RPC message of %d bytes does not fit in %d bytes", len(b), inlineSize)
	}
	return r.write(append(header(xid, 0, 0, 0, 0), b...), until)
}

func (r *rdma) write(b []byte, _ time.Time) error {
	select {
	case <-r.Lost:
		return r.reason()
	default:
		return r.Send(b, 0)
	}
}

// reason returns why the connection is lost.
func (r *rdma) reason() error {
	if err := r.QP.Err(); err != nil {
		return err
	}
	return errors.New("the connection is lost")
}

func (r *rdma) receive(until time.Time) ([]byte, error) {
	b, err := r.Message(max(0, time.Until(until)))
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, rawpeer.ErrSilent):
		return nil, errSilent
	}
	return nil, r.reason()
}

// outcome implements wire. An RDMA_ERROR is ERR_CHUNK, or ERR_VERS with the versions.
func (r *rdma) outcome(b []byte) (uint32, string) {
	xid, _ := xidOf(b)
	m, err := rawpeer.Parse(string(b))
	switch {
	case err != nil:
		return xid, malformed + err.Error()
	case m.Kind == rawpeer.Error:
		return xid, rdmaError(b, m.Code)
	case m.Kind != rawpeer.Reply:
		return xid, malformed + m.String()
	case m.Credit == 0:
		return xid, malformed + "it grants 0 credits"
	case len(m.Reads) > 0:
		return xid, malformed + "it has a read list"
	case !m.Long:
		return xid, outcome(b[len(b)-m.Inline:]) + unused(m.ReplyChunk)
	}
	n := 0
	for _, s := range m.ReplyChunk {
		n += int(s.Length)
	}
	if n > len(r.mem) {
		return xid, fmt.Sprintf("%s%d bytes in a reply chunk of %d", malformed, n, len(r.mem))
	}
	if inner, _ := xidOf(r.mem[:n]); inner != xid {
		return xid, fmt.Sprintf("%sXID %#x in the chunk, %#x in the header", malformed, inner, xid)
	}
	return xid, outcome(r.mem[:n]) + " by chunk"
}

// unused says what an inline reply returned of a reply chunk.
func unused(chunk []rawpeer.Segment) string {
	for _, s := range chunk {
		if s.Length != 0 {
			return fmt.Sprintf(", %d bytes in the reply chunk", s.Length)
		}
	}
	return ""
}

func rdmaError(b []byte, code uint32) string {
	switch {
	case code == 2 && len(b) == 20:
		return "ERR_CHUNK"
	case code == 1 && len(b) == 28:
		return fmt.Sprintf("ERR_VERS %d to %d", binary.BigEndian.Uint32(b[20:]), binary.BigEndian.Uint32(b[24:]))
	}
	return fmt.Sprintf("%sRDMA_ERROR %d of %d bytes", malformed, code, len(b))
}

// endOfStream implements wire: there is no stream.
func (r *rdma) endOfStream() {}

func (r *rdma) close() {
	if r.QP != nil {
		_ = r.QP.Disconnect() // no access to mem is in progress after that
	}
	if r.offer != nil {
		_ = r.offer.Deregister()
	}
	if r.mem != nil {
		_ = r.PD.Free(r.mem)
	}
	_ = r.Close() // the connection is not used any more
}
