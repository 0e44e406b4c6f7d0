package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A record in a stream (RFC 5531 §11) is a sequence of fragments. Before each fragment is a word
// with its length, whose top bit is set for the last fragment.
const (
	markSize     = 4
	lastFragment = 1 << 31
)

// Write writes a message as a record of one fragment.
func Write(w io.Writer, msg []byte) error {
	if uint64(len(msg)) >= lastFragment {
		return fmt.Errorf("record: message of %d bytes: a fragment has less than 2 GiB (RFC 5531 §11)", len(msg))
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, markSize+len(msg)), lastFragment|uint32(len(msg)))
	_, err := w.Write(append(b, msg...))
	return err
}

// Read reads a record of at most most bytes, and returns its message. The error wraps io.EOF if the
// stream ends before the record.
func Read(r io.Reader, most int) ([]byte, error) {
	var b bytes.Buffer // grows with the bytes that arrive, not with the length in a mark
	for {
		var mark [markSize]byte
		if _, err := io.ReadFull(r, mark[:]); err != nil {
			return nil, fmt.Errorf("record mark: %w", err)
		}
		word := binary.BigEndian.Uint32(mark[:])
		n := int64(word &^ lastFragment)
		switch {
		case n > int64(most-b.Len()):
			return nil, fmt.Errorf("record of more than %d bytes: %d, and %d in the next fragment (RFC 5531 §11)", most, b.Len(), n)
		case n == 0 && word&lastFragment == 0: // these could go on without end
			return nil, fmt.Errorf("empty fragment after %d bytes of a record, and not the last one (RFC 5531 §11)", b.Len())
		}
		if _, err := io.CopyN(&b, r, n); err != nil {
			return nil, fmt.Errorf("fragment of %d bytes: %w", n, err)
		}
		if word&lastFragment != 0 {
			return b.Bytes(), nil
		}
	}
}
