package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
)

// IsStream reports whether bytes look like the beginning of an RPC message, or of record-marked RPC
// messages. 28 bytes are enough.
func IsStream(b []byte) bool {
	yes, _ := plausible(b, maxRecord)
	return yes || IsMessage(b)
}

// RunStream reports the calls in a file that has record-marked RPC messages, from one end or
// both, or one RPC message without a mark. If the file ends within a message, the error is a
// [*packets.Error], and all calls before it were reported.
func RunStream(file io.Reader, limits Limits, handler Handler) error {
	limits.defaults()
	in := bufio.NewReaderSize(file, 64<<10)
	head, _ := in.Peek(28)
	c := &conn{reader: &Reader{limits: limits, handler: handler}, carrier: Stream}
	for i := range c.halves {
		c.halves[i].conn, c.halves[i].index = c, i
	}
	c.public = &Connection{Number: 1, Carrier: Stream}
	if yes, _ := plausible(head, maxRecord); !yes {
		b, err := io.ReadAll(io.LimitReader(in, int64(limits.Message)+1))
		if err == nil && len(b) > limits.Message {
			err = fmt.Errorf("the message is longer than %d bytes", limits.Message)
		}
		c.message(Span{}, b, 0)
		c.end()
		return err
	}
	var r record
	var off int64
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		off += int64(n)
		if err := r.add(0, buf[:n], limits.Message, c.message); err != nil {
			c.end()
			return &packets.Error{Offset: off, Message: err.Error()}
		}
		if err == nil {
			continue
		}
		c.end()
		switch {
		case !errors.Is(err, io.EOF):
			return err
		case r.nonempty:
			return &packets.Error{Offset: off, Message: "found the end of the file, expected the rest of a record (RFC 5531 §11)"}
		}
		return nil
	}
}

// message takes a message of a file: Calls are from one end, replies from the other.
func (c *conn) message(s Span, b []byte, dropped int) {
	h := &c.halves[0]
	if isReply(b) && !isCall(b) {
		h = &c.halves[1]
	}
	h.recorded(s, b, dropped)
	if c.halves[0].size()+c.halves[1].size() > c.reader.limits.Bytes {
		c.end()
	}
}
