package v2

import (
	"math"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Number is the version number in messages (§4.3.3; R139).
const Number = 2

// prefixSize is the length in bytes of the prefix: the four words of every version, then the flags
// (§6.3.2; R138).
const prefixSize = rpcrdma2.HeaderPrefixFixedSize

// PrefixSize is the length in bytes of what precedes the body of a message (§6.3.2).
const PrefixSize = prefixSize

// Config holds the settings of a Version.
type Config struct {
	// Dialed is set at the end that dialed the connection.
	Dialed bool

	// Own are the properties of this end.
	Own Properties

	// Posted is the size in bytes of the Receives that are posted first, which this end advertises
	// in place of Own.ReceiveSize. If zero, it is the same.
	Posted uint32

	// Extra are properties of extensions that this end sends after its own.
	Extra []header.Property

	// Invalidate allows remote invalidation: this end names keys in its Calls, or uses those that
	// the Calls of its peer name.
	Invalidate bool

	// Types reports whether an extension takes messages of a header type, and with which flags
	// besides RESPONSE and MORE. If nil, there are no extensions. It is not called for the header
	// types of the draft.
	Types func(htype uint32) (flags uint32, ok bool)

	// Body decodes the body of a message that has such a header type, which begins at the start of
	// b. It returns the bytes after it. If nil, bodies are not decoded.
	Body func(htype uint32, b []byte) (body any, rest []byte, err error)

	// KnownProperty reports whether a property belongs to an extension (R222), and returns an error
	// if its value is invalid. If nil, there are no such properties. It is not called for the
	// properties of the draft. Data of zero length stand for the default value (§5.1).
	KnownProperty func(id uint32, data []byte) (known bool, err error)
}

// Base returns the numbers that the draft defines.
func Base() xdr.Extension { return rpcrdma2.Extension() }

// Version is version 2 on one connection. It allocates nothing for a header that is no larger than
// an earlier one.
type Version struct {
	cfg      Config
	peer     Properties // the defaults, until the peer has sent a set
	learned  bool       // the peer has sent a set
	received bool       // Decode has had a message of this version
	set      []header.Property

	dec   *xdr.Decoder
	enc   xdr.Encoder
	lists rpcrdma2.ChunkLists
	props rpcrdma2.ConnProp
}

var _ protocol.Version = (*Version)(nil)

// New returns a Version for a new connection.
func New(cfg Config) *Version {
	cfg.Own = cfg.Own.bounded()
	return &Version{
		cfg:  cfg,
		peer: DefaultProperties(),
		// Alias: properties are slices of the message.
		dec: xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true}),
	}
}

// Number implements protocol.Version.
func (*Version) Number() uint32 { return Number }

// Overhead implements protocol.Version: the prefix, rdma_inv_handle, and the lists
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.1; R148).
func (*Version) Overhead(l *header.Lists) int { return prefixSize + 4 + l.Size() }

// Refusal implements protocol.Version (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3). BAD_XDR
// says that a header is invalid. A header that is valid but asks for too much has another code, or
// SYSTEM.
func (*Version) Refusal(f *header.Fault) header.Error {
	limit := uint32(min(f.Want, math.MaxUint32))
	switch f.Code {
	case header.FaultVersion:
		return header.Error{Code: header.ErrVers, Low: Number, High: Number}
	case header.FaultProcedure:
		// draft-ietf-nfsv4-rpcrdma-version-two-00 §6.2; R141, R198
		return header.Error{Code: header.ErrHeaderType}
	case header.FaultFlags, header.FaultMore, header.FaultSequence, header.FaultType:
		// A9, R143, R145, R199. FaultType: the RESPONSE flag has said which type to expect (T29).
		return header.Error{Code: header.ErrFlag}
	case header.FaultChunks:
		switch {
		case f.Where == readList:
			return header.Error{Code: header.ErrReadChunks, Max: limit} // R200
		case limit == 0:
			return header.Error{Code: header.ErrReplyResource} // R203
		}
		return header.Error{Code: header.ErrWriteChunks, Max: limit} // R202
	case header.FaultSegments:
		return header.Error{Code: header.ErrSegments, Max: limit} // R205
	case header.FaultNoReads:
		return header.Error{Code: header.ErrReadChunks} // R200: none can be handled
	case header.FaultReverse: // T118
		if f.Where == readList {
			return header.Error{Code: header.ErrReadChunks}
		}
		return header.Error{Code: header.ErrReplyResource} // R203
	case header.FaultBytes, header.FaultLong, header.FaultAddress, header.FaultCredit:
		return header.Error{Code: header.ErrSystem} // R210: local limits without a code
	}
	return header.Error{Code: header.ErrChunk} // R196, R197
}

// readList is the Where of faults in the read list.
const readList = "read list"

// Error implements protocol.Version: version 2 has all codes.
func (*Version) Error(e header.Error) header.Error { return e }

// InvalidateKey implements protocol.Version: the Call itself names the key (§6.3.3; R260, R261).
func (*Version) InvalidateKey(call *header.Message, agreed bool) uint32 {
	if !agreed {
		return 0
	}
	return call.InvalidateKey
}

// Continues implements protocol.Version (§4.5.2).
func (*Version) Continues() bool { return true }
