package rpcbind

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
	mostRecord   = 256 << 10 // bytes of a reply: about 3,000 registrations
)

// writeRecord writes a message as one fragment. b begins with room for the mark.
func writeRecord(w io.Writer, b []byte) error {
	binary.BigEndian.PutUint32(b, lastFragment|uint32(len(b)-markSize))
	_, err := w.Write(b)
	return err
}

// readRecord reads a message.
func readRecord(r io.Reader) ([]byte, error) {
	var b bytes.Buffer // grows with the bytes that arrive, not with the length in a mark
	for {
		var mark [markSize]byte
		if _, err := io.ReadFull(r, mark[:]); err != nil {
			return nil, fmt.Errorf("record mark: %w", err)
		}
		word := binary.BigEndian.Uint32(mark[:])
		n := int(word &^ lastFragment)
		switch {
		case n > mostRecord-b.Len():
			return nil, fmt.Errorf("record of more than %d bytes: %d, and %d in the next fragment (RFC 5531 §11)", mostRecord, b.Len(), n)
		case n == 0 && word&lastFragment == 0: // these could go on without end
			return nil, fmt.Errorf("empty fragment after %d bytes of a record, and not the last one (RFC 5531 §11)", b.Len())
		}
		if _, err := io.CopyN(&b, r, int64(n)); err != nil {
			return nil, fmt.Errorf("fragment of %d bytes: %w", n, err)
		}
		if word&lastFragment != 0 {
			return b.Bytes(), nil
		}
	}
}
