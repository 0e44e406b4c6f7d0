package codec

import (
	"bytes"
	"fmt"
	"io"

	davecgh "github.com/davecgh/go-xdr/xdr2"
	rasky "github.com/rasky/go-xdr/xdr2"
	stellar "github.com/stellar/go-xdr/xdr3"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
)

// Types for codecs that have optional data as pointers, and so linked lists. The header has only
// the arm of its union that is used, so these codecs do not look at rdma_proc.

type listHeader struct {
	XID, Vers, Credit, Proc uint32
	Reads                   *listRead  `xdr:"optional"`
	Writes                  *listWrite `xdr:"optional"`
	Reply                   *listChunk `xdr:"optional"`
}

type listRead struct {
	Entry hand.ReadChunk
	Next  *listRead `xdr:"optional"`
}

type listWrite struct {
	Entry listChunk
	Next  *listWrite `xdr:"optional"`
}

type listChunk struct {
	Target []hand.Segment
}

type listDir struct {
	Status   uint32
	DirAttr  *hand.Attr `xdr:"optional"`
	Verifier [8]byte
	Entries  *listEntry `xdr:"optional"`
	EOF      bool
}

type listEntry struct {
	ID     uint64
	Name   string
	Cookie uint64
	Attr   *hand.Attr  `xdr:"optional"`
	Handle *listHandle `xdr:"optional"`
	Next   *listEntry  `xdr:"optional"`
}

type listHandle struct {
	Bytes []byte
}

type opaque struct {
	Data []byte
}

// listValue returns a constructor for m's shape with pointers, nil if it has none.
func listValue(m string) func() any {
	switch m {
	case "a", "b":
		return func() any { return new(listHeader) }
	case "c4K", "c1M":
		return func() any { return new(opaque) }
	case "d":
		return func() any { return new(listDir) }
	}
	return nil
}

type (
	marshal   = func(w io.Writer, v any) (int, error)
	unmarshal = func(r io.Reader, v any) (int, error)
)

func reflectCodecs(m Message) ([]Codec, error) {
	if listValue(m.Name) == nil {
		return nil, nil
	}
	var codecs []Codec
	for _, p := range []struct {
		name      string
		marshal   marshal
		unmarshal unmarshal
	}{
		{"davecgh xdr2", davecgh.Marshal, davecgh.Unmarshal},
		{"rasky xdr2", rasky.Marshal, rasky.Unmarshal},
		{"stellar xdr3", stellar.Marshal, stellar.Unmarshal},
	} {
		if p.name == "davecgh xdr2" && m.Name[0] != 'c' {
			continue // no optional data: see fixedCodecs
		}
		c, err := reflective(p.name, m, listValue(m.Name), p.marshal, p.unmarshal)
		if err != nil {
			return nil, err
		}
		codecs = append(codecs, c)
	}
	return codecs, nil
}

// reflective returns a codec that consists of two functions over io. The codec reads its sample
// from m, so a wrong type leads to wrong bytes.
func reflective(name string, m Message, value func() any, marshal marshal, unmarshal unmarshal) (Codec, error) {
	v, used := value(), value()
	if n, err := unmarshal(bytes.NewReader(m.Wire), v); err != nil || n != len(m.Wire) {
		return Codec{}, fmt.Errorf("%s, message %s: read %d of %d bytes: %w", name, m.Name, n, len(m.Wire), err)
	}
	var w sliceWriter
	var r bytes.Reader
	return Codec{
		Name: name, Message: m.Name, Role: Peer,
		EncodeInto: func(b []byte) (int, error) {
			w = sliceWriter{b: b}
			return marshal(&w, v)
		},
		Decode: func(b []byte) (int, error) {
			r.Reset(b)
			return unmarshal(&r, used)
		},
		DecodeFresh: func(b []byte) (int, error) {
			r.Reset(b)
			return unmarshal(&r, value())
		},
	}, nil
}
