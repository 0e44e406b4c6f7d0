package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"

	davecgh "github.com/davecgh/go-xdr/xdr2"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
)

// Codecs without optional data get the message as arrays of its fixed lengths, with flags as plain
// words, and check nothing. That is less work than a decoder has to do, so their figures look
// better than they are.

type fixedHeader[R, W any] struct {
	XID, Vers, Credit, Proc uint32
	Reads                   R
	ReadsEnd                uint32
	Writes                  W
	WritesEnd, Reply        uint32
}

type fixedRead struct {
	Flag uint32
	hand.ReadChunk
}

type fixedWrite[S any] struct {
	Flag, Count uint32
	Target      S
}

type (
	fixedA = fixedHeader[[1]fixedRead, [1]fixedWrite[[2]hand.Segment]]
	fixedB = fixedHeader[[16]fixedRead, [4]fixedWrite[[4]hand.Segment]]
)

type fixedDir struct {
	Status, AttrFlag uint32
	DirAttr          hand.Attr
	Verifier         [8]byte
	Entries          [128]fixedEntry
	End, EOF         uint32
}

type fixedEntry struct {
	Flag       uint32
	ID         uint64
	Name       []byte
	Cookie     uint64
	AttrFlag   uint32
	Attr       hand.Attr
	HandleFlag uint32
	Handle     []byte
}

func fixedCodecs(m Message) ([]Codec, error) {
	var codecs []Codec
	if v := fixedValue(m.Name); v != nil && m.Name != "d" {
		value, used := v(), v()
		if _, err := binary.Decode(m.Wire, be, value); err != nil {
			return nil, fmt.Errorf("encoding/binary, message %s: %w", m.Name, err)
		}
		codecs = append(codecs, Codec{
			Name: "encoding/binary (fixed shape)", Message: m.Name, Role: Peer,
			EncodeInto:  func(b []byte) (int, error) { return binary.Encode(b, be, value) },
			Append:      func(b []byte) ([]byte, error) { return binary.Append(b, be, value) },
			Decode:      func(b []byte) (int, error) { return binary.Decode(b, be, used) },
			DecodeFresh: func(b []byte) (int, error) { return binary.Decode(b, be, v()) },
		})
	}
	if v := fixedValue(m.Name); v != nil {
		c, err := reflective("davecgh xdr2 (fixed shape)", m, v, davecgh.Marshal, davecgh.Unmarshal)
		if err != nil {
			return nil, err
		}
		codecs = append(codecs, c)
	}
	return codecs, nil
}

var be = binary.BigEndian

// fixedValue returns a constructor for m's fixed shape, nil if it has none.
func fixedValue(m string) func() any {
	switch m {
	case "a":
		return func() any { return new(fixedA) }
	case "b":
		return func() any { return new(fixedB) }
	case "d":
		return func() any { return new(fixedDir) }
	}
	return nil
}

// sliceWriter fills a buffer the caller owns, as io.Writer.
type sliceWriter struct {
	b []byte
	n int
}

func (w *sliceWriter) Write(p []byte) (int, error) {
	n := copy(w.b[w.n:], p)
	w.n += n
	if n < len(p) {
		return n, bytes.ErrTooLarge
	}
	return n, nil
}
