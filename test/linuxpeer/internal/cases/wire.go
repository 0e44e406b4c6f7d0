package cases

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// The operations of RDMAP (RFC 5040 §4.1).
const (
	opWrite          = 0
	opReadRequest    = 1
	opReadResponse   = 2
	opSend           = 3
	opSendInvalidate = 4
	opTerminate      = 7
)

// The queues of untagged messages (RFC 5040 §5).
const (
	queueSend = iota
	queueRead
	queueTerminate
)

// segment is a DDP segment.
type segment struct {
	tagged, last bool
	op           byte
	stag         uint32 // of a tagged segment; of an untagged one, the STag to invalidate
	to           uint64 // of a tagged segment
	qn, msn, mo  uint32 // of an untagged segment
	payload      []byte
	reserved     bool // set the reserved bits of both
	ddpVersion   byte // of DDP, plus 1, if not zero
	rdmapVersion byte // of RDMAP, plus 1, if not zero
}

// ulpdu returns the segment's bytes (RFC 5041 §4, RFC 5040 §4.1).
func (s segment) ulpdu() []byte {
	version := func(v byte) byte {
		if v == 0 {
			return 1
		}
		return v - 1
	}
	ddp, rdmap := version(s.ddpVersion), version(s.rdmapVersion)<<6|s.op&0xf
	if s.tagged {
		ddp |= 0x80
	}
	if s.last {
		ddp |= 0x40
	}
	if s.reserved {
		ddp |= 0x3c
		rdmap |= 0x30
	}
	b := binary.BigEndian.AppendUint32([]byte{ddp, rdmap}, s.stag)
	if s.tagged {
		b = binary.BigEndian.AppendUint64(b, s.to)
	} else {
		b = binary.BigEndian.AppendUint32(b, s.qn)
		b = binary.BigEndian.AppendUint32(b, s.msn)
		b = binary.BigEndian.AppendUint32(b, s.mo)
	}
	return append(b, s.payload...)
}

// parseSegment reads a segment.
func parseSegment(b []byte) (s segment, ok bool) {
	if len(b) < 14 || b[0]&0x80 == 0 && len(b) < 18 {
		return s, false
	}
	s = segment{tagged: b[0]&0x80 != 0, last: b[0]&0x40 != 0, op: b[1] & 0xf, stag: binary.BigEndian.Uint32(b[2:])}
	if s.tagged {
		s.to, s.payload = binary.BigEndian.Uint64(b[6:]), b[14:]
		return s, true
	}
	s.qn, s.msn, s.mo = binary.BigEndian.Uint32(b[6:]), binary.BigEndian.Uint32(b[10:]), binary.BigEndian.Uint32(b[14:])
	s.payload = b[18:]
	return s, true
}

// words returns 32-bit integers in XDR.
func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// wire is an iWARP connection whose segments are made by hand.
type wire struct {
	t    *T
	conn net.Conn
	crc  bool
	msn  uint32 // of the next Send
	in   chan segment
}

// newWire returns a connection on which the MPA handshake is done. The next Send has the MSN msn.
func newWire(t *T, conn net.Conn, crc bool, msn uint32) *wire {
	w := &wire{t: t, conn: conn, crc: crc, msn: msn, in: make(chan segment)}
	t.Must(conn.SetReadDeadline(time.Time{}))
	go w.read()
	return w
}

// firstMSN is the MSN of the first Send after dialWire.
const firstMSN = 2

// dialWire connects to the kernel's server and calls NULL, so that siw surely receives.
func dialWire(t *T, crc bool) *wire {
	conn := t.Dial(nfsRDMA)
	request := unhex("10 02 0004 0010 0010")
	if crc {
		request[0] |= 0x40
	}
	if got := mpaExchange(t, conn, request); len(got) == 0 || got[0]&0x20 != 0 {
		t.Fatalf("MPA reply %x, expected an acceptance", got)
	}
	mpaCallNull(t, conn, crc)
	return newWire(t, conn, crc, firstMSN)
}

// close closes the connection. Segments that still arrive are dropped.
func (w *wire) close() {
	w.conn.Close()
	for range w.in {
	}
}

// read passes on the segments that arrive, until the connection is closed.
func (w *wire) read() {
	defer close(w.in)
	for {
		var head [2]byte
		if _, err := io.ReadFull(w.conn, head[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(head[:]))
		b := make([]byte, (n+2+3)&^3-2+4) // with padding and CRC
		if _, err := io.ReadFull(w.conn, b); err != nil {
			return
		}
		s, ok := parseSegment(b[:n])
		if !ok {
			w.t.Errorf("an FPDU that holds no segment: %x", b[:n])
			return
		}
		w.in <- s
	}
}

// raw writes bytes. An error is not one of the case: the peer may have closed the connection.
func (w *wire) raw(b []byte) {
	if _, err := w.conn.Write(b); err != nil {
		w.t.Logf("write: %v", err)
	}
}

// frame returns a segment's FPDU.
func (w *wire) frame(s segment) []byte { return fpdu(s.ulpdu(), w.crc) }

// put writes a segment.
func (w *wire) put(s segment) { w.raw(w.frame(s)) }

// next returns a Send of one segment, which has the next MSN.
func (w *wire) next(payload []byte) segment {
	w.msn++
	return segment{op: opSend, last: true, msn: w.msn - 1, payload: payload}
}

// send writes a Send of one segment.
func (w *wire) send(payload ...[]byte) {
	var b []byte
	for _, p := range payload {
		b = append(b, p...)
	}
	w.put(w.next(b))
}

// respond answers an RDMA Read Request with zeros.
func (w *wire) respond(request []byte) {
	if len(request) < 28 {
		w.t.Errorf("a Read Request of %d bytes", len(request))
		return
	}
	stag, to := binary.BigEndian.Uint32(request), binary.BigEndian.Uint64(request[4:])
	size := int(binary.BigEndian.Uint32(request[12:]))
	const most = 1200
	for {
		n := min(size, most)
		w.put(segment{tagged: true, op: opReadResponse, last: n == size, stag: stag, to: to, payload: make([]byte, n)})
		size, to = size-n, to+uint64(n)
		if size == 0 {
			return
		}
	}
}
