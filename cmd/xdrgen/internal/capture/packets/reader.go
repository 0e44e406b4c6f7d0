package packets

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits on a file.
const (
	maxPacket     = 16 << 20 // bytes of a packet, or of a block that describes an interface
	maxInterfaces = 1 << 20
)

// Packet is a packet of a file.
type Packet struct {
	Time int64  // nanoseconds since 1970; 0 if the file has no time
	Link uint16 // link type: https://www.tcpdump.org/linktypes.html
	Data []byte // valid until the next packet is read

	// Missing is the number of bytes at the end that the capture left out.
	Missing int
}

// Error is a fault in a file.
type Error struct {
	Offset  int64  // of the block or packet in the file
	Message string // "found ..., expected ..."
}

// Error returns the fault on one line.
func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Message) }

// Reader reads the packets of a file. It is not safe for concurrent use.
type Reader struct {
	in    *bufio.Reader
	off   int64 // of the next byte
	start int64 // of the block or packet that is being read
	order binary.ByteOrder
	buf   []byte

	next       func() (Packet, error) // of the file's format
	link       uint16                 // of a pcap file
	scale      resolution             // of a pcap file
	interfaces []iface                // of the current section in a pcapng file
}

// Kind returns the format of a file that begins with these bytes, "pcapng" or "pcap", or "" for
// other data. 12 bytes are enough. A pcapng file begins with a section header block, whose byte
// order mark is the third word. A pcap file begins with a magic number and version 2.4.
func Kind(data []byte) string {
	if len(data) < 12 {
		return ""
	}
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		switch first := order.Uint32(data); {
		case first == blockSection && order.Uint32(data[8:]) == byteOrderMark:
			return "pcapng"
		case (first == magicMicro || first == magicNano) && order.Uint16(data[4:]) == 2 && order.Uint16(data[6:]) == 4:
			return "pcap"
		}
	}
	return ""
}

// NewReader returns a Reader of a pcap or pcapng file.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{in: bufio.NewReaderSize(r, 64<<10)}
	head, err := in.in.Peek(12)
	switch Kind(head) {
	case "pcapng":
		in.next = in.block
		return in, nil
	case "pcap":
		in.next = in.record
		return in, in.header()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, &Error{0, "found another kind of file, expected pcap or pcapng"}
}

// Next returns the next packet. At the end of the file the error is io.EOF. If the file ends within
// a packet or has a wrong length, the error is an [*Error]: the rest cannot be read.
func (r *Reader) Next() (Packet, error) { return r.next() }

// read returns the next n bytes, which are valid until the next call. The buffer grows as bytes
// come.
func (r *Reader) read(n int) ([]byte, error) {
	const step = 64 << 10
	b := r.buf[:0]
	for len(b) < n {
		have := len(b)
		want := min(n, have+max(step, have))
		if cap(b) < want {
			b = append(make([]byte, 0, want), b...)
		}
		b = b[:want]
		got, err := io.ReadFull(r.in, b[have:])
		r.off += int64(got)
		if err != nil {
			return nil, r.cut(err, have+got, n)
		}
	}
	r.buf = b
	return b, nil
}

// cut returns the error of a read that has found fewer bytes than it needs.
func (r *Reader) cut(err error, got, want int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{r.start, fmt.Sprintf("found %d bytes before the end of the file, expected %d", got, want)}
	}
	return err
}

// skip reads n bytes and forgets them.
func (r *Reader) skip(n int64) error {
	for n > 0 {
		step := min(n, 1<<20)
		got, err := r.in.Discard(int(step))
		r.off += int64(got)
		if err != nil {
			return r.cut(err, got, int(step))
		}
		n -= step
	}
	return nil
}

// atEnd reports whether there are no more bytes.
func (r *Reader) atEnd() (bool, error) {
	_, err := r.in.Peek(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

func (r *Reader) fault(format string, args ...any) error {
	return &Error{r.start, fmt.Sprintf(format, args...)}
}
