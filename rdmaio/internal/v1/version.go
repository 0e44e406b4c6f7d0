package v1

import (
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Number is the version number in messages (RFC 8166 §4.2.2; R17).
const Number = 1

// Version is version 1 on one connection. The zero Version is ready for use. It allocates nothing
// for a header that is no larger than an earlier one.
type Version struct {
	dec xdr.Decoder
	enc xdr.Encoder
	msg rpcrdma1.Message
}

var _ protocol.Version = (*Version)(nil)

// Number implements protocol.Version.
func (*Version) Number() uint32 { return Number }

// Overhead implements protocol.Version.
func (*Version) Overhead(l *header.Lists) int { return header.PrefixSize + l.Size() }

// Refusal implements protocol.Version: a version that is not supported has a separate code, and
// all else is ERR_CHUNK (RFC 8166 §4.5; R114, R117, R118).
func (*Version) Refusal(f *header.Fault) header.Error {
	switch f.Code {
	case header.FaultVersion:
		return header.Error{Code: header.ErrVers, Low: Number, High: Number}
	case header.FaultCredit:
		return header.Error{} // R134: it is dropped
	}
	return header.Error{Code: header.ErrChunk}
}

// Error implements protocol.Version: ERR_CHUNK stands for all that version 2 tells apart
// (RFC 8166 §4.5).
func (*Version) Error(e header.Error) header.Error {
	if e.Code == header.ErrVers {
		return e
	}
	return header.Error{Code: header.ErrChunk}
}

// InvalidateKey implements protocol.Version: if both ends have agreed on it, the Reply may
// invalidate any key of the Call (RFC 8797 §4.1; R265).
func (*Version) InvalidateKey(call *header.Message, agreed bool) uint32 {
	if !agreed {
		return 0
	}
	return call.FirstKey()
}

// Continues implements protocol.Version.
func (*Version) Continues() bool { return false }

// Terms implements protocol.Version. Private data may change the terms; see Agree.
func (*Version) Terms(bool) header.Terms { return header.DefaultTerms() }

// Properties implements protocol.Version: version 1 has none.
func (*Version) Properties() []header.Property { return nil }

// Learn implements protocol.Version. No message of version 1 has properties.
func (*Version) Learn([]header.Property) (protocol.Learned, *header.Fault) {
	return protocol.Learned{}, nil
}
