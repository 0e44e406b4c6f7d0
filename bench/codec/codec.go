// Package codec has the XDR codecs that are compared, each for one message. [All] lists them. To
// add a codec, write a constructor that returns a [Codec]; hand.go has the shortest one.
//
// The messages:
//
//	a    RPC-over-RDMA v1 RDMA_MSG header, 1 read segment, 1 write chunk of 2 (92 bytes)
//	b    the same, 16 read segments, 4 write chunks of 4 (700 bytes)
//	c4K  one opaque<> of 4 KiB
//	c1M  one opaque<> of 1 MiB
//	d    the listing of dirplus.x with 128 entries (21,228 bytes)
//	e    an NFS version 4.0 COMPOUND call of eight operations (RFC 7531, 224 bytes)
//	f    a signed transaction of envelope.x with eight operations (1,244 bytes)
//	g    an NFS version 4.2 COMPOUND call that opens a file, with SEQUENCE (RFC 7863, 196 bytes)
//	h    an NFS version 4.2 reply of SEQUENCE, PUTFH, READ of 4 KiB and GETATTR (4,272 bytes)
//	n4   an array int<> of 1 Mi numbers (4 MiB)
//	n8   an array double<> of 1 Mi numbers (8 MiB)
package codec

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
)

// Role is the role of a codec in the comparison.
type Role string

// The roles. Ratios are relative to Limit; the targets are for Generated.
const (
	Floor     Role = "floor"     // memmove: no codec at all
	Limit     Role = "limit"     // hand
	Generated Role = "generated" // made by this project's compiler
	Peer      Role = "peer"      // by other authors
)

// Codec is a codec for one message. A function that it does not have is nil.
type Codec struct {
	Name    string
	Message string
	Role    Role

	// EncodeInto writes the sample to the front of b and returns its length.
	EncodeInto func(b []byte) (int, error)
	// Append appends the sample to b.
	Append func(b []byte) ([]byte, error)
	// Decode reads b into a value that is reused. The value aliases b, if the codec
	// supports that.
	Decode func(b []byte) (int, error)
	// DecodeFresh reads b into a new value.
	DecodeFresh func(b []byte) (int, error)
	// DecodeCopy reads b into a value that owns all its bytes.
	DecodeCopy func(b []byte) (int, error)
	// Check returns the length that Decode would return, and keeps nothing.
	Check func(b []byte) (int, error)
	// Visit checks and reads the lists in place: all fields of every segment (a
	// and b), the name and number of every entry (d). It returns their sum.
	Visit func(b []byte) (int, error)
}

// Message is a sample and its encoding by package hand, or for the messages after d, which that
// package does not have, by generated code.
type Message struct {
	Name string
	Wire []byte
}

// Messages returns the samples in the order of the tables.
func Messages() ([]Message, error) {
	var messages []Message
	for _, m := range []struct {
		name  string
		bytes func([]byte) ([]byte, error)
	}{
		{"a", sample.A().Append},
		{"b", sample.B().Append},
		{"c4K", sample.C(4 << 10).Append},
		{"c1M", sample.C(1 << 20).Append},
		{"d", sample.D().Append},
		{"e", sample.Compound().AppendBinary},
		{"f", sample.Envelope().AppendBinary},
		{"g", sample.OpenCall().AppendBinary},
		{"h", sample.ReadReply().AppendBinary},
		{"n4", sample.Words().AppendBinary},
		{"n8", sample.Doubles().AppendBinary},
	} {
		wire, err := m.bytes(nil)
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", m.name, err)
		}
		messages = append(messages, Message{m.name, wire})
	}
	return messages, nil
}

// All returns every codec for m, the floor and, where there is one, the limit first.
func All(m Message) ([]Codec, error) {
	codecs := []Codec{memmove(m)}
	if hand := handCodec(m); hand.EncodeInto != nil {
		codecs = append(codecs, hand)
	}
	for _, peers := range []func(Message) ([]Codec, error){generatedCodecs, fixedCodecs, reflectCodecs, xdr3Codecs} {
		more, err := peers(m)
		if err != nil {
			return nil, err
		}
		codecs = append(codecs, more...)
	}
	return codecs, nil
}
