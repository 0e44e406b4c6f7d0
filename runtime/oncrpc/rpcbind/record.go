package rpcbind

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Records in a stream (RFC 5531 §11): fragments, each behind a word of its length with the
// top bit set in the last one.
const (
	markSize     = 4
	lastFragment = 1 << 31
	mostRecord   = 2048 // bytes of an answer: header, longest verifier and longest string are well under it
)

// writeRecord writes a message, in front of which there is room for the mark, as one fragment.
func writeRecord(w io.Writer, b []byte) error {
	binary.BigEndian.PutUint32(b, lastFragment|uint32(len(b)-markSize))
	_, err := w.Write(b)
	return err
}

// readRecord reads a message.
func readRecord(r io.Reader) (b []byte, err error) {
	for {
		var mark [markSize]byte
		if _, err := io.ReadFull(r, mark[:]); err != nil {
			return nil, fmt.Errorf("record mark: %w", err)
		}
		word := binary.BigEndian.Uint32(mark[:])
		n := int(word &^ lastFragment)
		switch {
		case n > mostRecord-len(b):
			return nil, fmt.Errorf("record of more than %d bytes: %d, and %d in the next fragment (RFC 5531 §11)", mostRecord, len(b), n)
		case n == 0 && word&lastFragment == 0: // as many as one likes of these would be no record
			return nil, fmt.Errorf("empty fragment behind %d bytes of a record, and not the last one (RFC 5531 §11)", len(b))
		}
		from := len(b)
		b = append(b, make([]byte, n)...)
		if _, err := io.ReadFull(r, b[from:]); err != nil {
			return nil, fmt.Errorf("fragment of %d bytes: %w", n, err)
		}
		if word&lastFragment != 0 {
			return b, nil
		}
	}
}
