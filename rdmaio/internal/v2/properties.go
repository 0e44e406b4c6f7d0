package v2

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The levels of Properties.Reverse (§5.2.5; R218).
const (
	ReverseNone    = rpcrdma2.ReverseNone    // no reverse Calls
	ReverseInline  = rpcrdma2.ReverseInline  // one Send for each Call and Reply, without chunks
	ReverseGeneral = rpcrdma2.ReverseGeneral // as forward Calls
)

const (
	// LeastInline is the least inline threshold of version 2 in bytes
	// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.2, §5.2; R41).
	LeastInline = 4096
	// firstInline is the size in bytes of the longest message that the end that dialed may send
	// before it has received one, as the peer may support only version 1 (§4.3.3; A6).
	firstInline = header.LeastInline
)

// Properties are the transport properties of one end, without host authentication (§5.2).
type Properties struct {
	// MaxSend is the size of the longest message that the end sends, in bytes. If zero, the default
	// is 4096. If less than that, it is 4096.
	MaxSend uint32
	// ReceiveSize is the size of the longest message that the end receives, in bytes. If zero, the
	// default is 4096. If less than that, it is 4096. Receives of this size must be posted before
	// the property is sent (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.2; R215).
	ReceiveSize uint32
	// SegmentSize is the size of the longest segment that the end takes, in bytes. If zero, the
	// default is 1048576.
	SegmentSize uint32
	// Segments is the number of segments that the end takes in the header of a Call. If zero, the
	// default is 16.
	Segments uint32
	// Reverse is the support for reverse Calls: ReverseNone, ReverseInline or ReverseGeneral. The
	// zero value is ReverseNone.
	Reverse uint32
}

// DefaultProperties returns the properties of an end that sent none (§5.2, table 1). Reverse Calls
// without chunks are allowed, as a client that says nothing must be expected to take them (R230).
func DefaultProperties() Properties {
	return Properties{
		MaxSend: LeastInline, ReceiveSize: LeastInline,
		SegmentSize: 1048576, Segments: 16, Reverse: ReverseInline,
	}
}

// bounded returns p with values that can be used: none is below the minimum of the protocol, and
// all fit an int (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2, §10.3; R229, R313, T104).
func (p Properties) bounded() Properties {
	def := DefaultProperties()
	p.MaxSend = min(max(p.MaxSend, LeastInline), math.MaxInt32)
	p.ReceiveSize = min(max(p.ReceiveSize, LeastInline), math.MaxInt32)
	if p.SegmentSize == 0 {
		p.SegmentSize = def.SegmentSize
	}
	if p.Segments == 0 {
		p.Segments = def.Segments
	}
	p.SegmentSize = min(p.SegmentSize, math.MaxInt32)
	p.Segments = min(p.Segments, math.MaxInt32)
	p.Reverse = min(p.Reverse, ReverseGeneral)
	return p
}

// field returns the field of a property, or nil if the property has none.
func (p *Properties) field(id uint32) *uint32 {
	switch id {
	case rpcrdma2.PropIDMaxSendSize:
		return &p.MaxSend
	case rpcrdma2.PropIDReceiveBufferSize:
		return &p.ReceiveSize
	case rpcrdma2.PropIDMaxSegmentSize:
		return &p.SegmentSize
	case rpcrdma2.PropIDMaxSegmentCount:
		return &p.Segments
	case rpcrdma2.PropIDReverseSupport:
		return &p.Reverse
	}
	return nil
}

// Properties implements protocol.Version: Config.Own, each property even if it has the default
// value, and Config.Extra. Without the latter the message has 84 bytes: it fits the smallest
// Receive (R225), and an ERR_VERS of version 1 has another size (A1).
func (v *Version) Properties() []header.Property {
	if v.set == nil {
		own := v.cfg.Own
		if v.cfg.Posted != 0 {
			own.ReceiveSize = v.cfg.Posted
		}
		for id := uint32(rpcrdma2.PropIDMaxSendSize); id <= rpcrdma2.PropIDReverseSupport; id++ {
			v.set = append(v.set, header.Property{ID: id, Data: binary.BigEndian.AppendUint32(nil, *own.field(id))})
		}
		v.set = append(v.set, v.cfg.Extra...)
	}
	return v.set
}

// Terms implements protocol.Version.
//
// The end that dialed receives the reverse Calls: there the level is Own.Reverse, at the other end
// the level of the peer. Each Call names the key to invalidate, so remote invalidation needs no
// agreement. A peer that takes no note of our properties uses less than they allow (R226).
func (v *Version) Terms(heard bool) header.Terms {
	own, peer := &v.cfg.Own, &v.peer
	t := header.Terms{
		// draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.1, §5.2.2; R214, R215
		Send:             int(min(own.MaxSend, peer.ReceiveSize)),
		Recv:             int(min(own.ReceiveSize, peer.MaxSend)),
		RemoteInvalidate: v.cfg.Invalidate, CallNamesKey: true,
		SegmentSize: int(peer.SegmentSize), // R216
		Segments:    int(peer.Segments),    // R217
		Reverse:     reverse(peer.Reverse),
	}
	if v.cfg.Dialed {
		t.Reverse = reverse(own.Reverse)
		if !heard { // R42, R190
			t.Send = firstInline
		}
	}
	return t
}

// reverse returns a level of Properties.Reverse in the terms of package header.
func reverse(level uint32) header.Reverse {
	switch level {
	case ReverseNone:
		return header.ReverseNone
	case ReverseInline:
		return header.ReverseInline
	}
	return header.ReverseGeneral
}

// Learn implements protocol.Version. It judges the whole set before it applies any of it (A33,
// T103).
//
// A property that is not in the set has its default value. The first set decides: values in later
// sets are judged but not applied, whether or not they differ
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.4; R224, T105). Only host authentication is taken
// from every set, as it may need several rounds (A13, R219).
//
// It returns FaultTwice if the set has a known property twice (A14, R228), and FaultProperty
// if a value does not have its property's type, or is a level of reverse support that the draft
// does not have. Unknown properties are skipped (R222), and properties may be in any order (R223).
// Numbers of no use are replaced (R229): sizes of messages below 4096 count as 4096, a segment size
// or number of 0 as the default.
func (v *Version) Learn(set []header.Property) (protocol.Learned, *header.Fault) {
	var out protocol.Learned
	peer := DefaultProperties()
	seen := 0          // bit i: property i was in the set
	var extra []uint32 // properties of extensions in the set, each once
	for i := range set {
		p := &set[i]
		if p.ID >= rpcrdma2.PropIDMaxSendSize && p.ID <= rpcrdma2.PropIDHostAuth {
			if seen&(1<<p.ID) != 0 {
				return protocol.Learned{}, &header.Fault{Code: header.FaultTwice, Found: uint64(p.ID), Want: 2}
			}
			seen |= 1 << p.ID
		}
		switch to := peer.field(p.ID); {
		case p.ID == rpcrdma2.PropIDHostAuth:
			auth, f := v.hostAuth(p)
			if f != nil {
				return protocol.Learned{}, f
			}
			out.Auth, out.HasAuth = auth, true
		case to == nil:
			if v.cfg.KnownProperty == nil {
				continue
			}
			known, err := v.cfg.KnownProperty(p.ID, p.Data)
			if err != nil {
				return protocol.Learned{}, invalid(p, uint64(len(p.Data)), err)
			}
			if known && slices.Contains(extra, p.ID) {
				return protocol.Learned{}, &header.Fault{Code: header.FaultTwice, Found: uint64(p.ID), Want: 2}
			}
			if known {
				extra = append(extra, p.ID)
			}
		case len(p.Data) == 0: // R221: the default
		case len(p.Data) != 4:
			return protocol.Learned{}, invalid(p, 4, nil)
		default:
			*to = binary.BigEndian.Uint32(p.Data)
			if peer.Reverse > ReverseGeneral {
				return protocol.Learned{}, invalid(p, 4, fmt.Errorf("it is %d, the levels of reverse-direction support are %d (none), %d (inline) and %d (general)",
					peer.Reverse, ReverseNone, ReverseInline, ReverseGeneral)) // §5.2.5
			}
		}
	}
	if !v.learned {
		v.peer, v.learned = peer.bounded(), true
	}
	return out, nil
}

// hostAuth returns the value of the host authentication property, a slice of its data. Data of zero
// length are refused: there is no default value that they could stand for (§5.2, table 1).
func (v *Version) hostAuth(p *header.Property) ([]byte, *header.Fault) {
	v.dec.Reset(p.Data)
	var value rpcrdma2.PropHostAuth
	err := value.DecodeXDR(v.dec)
	if err == nil {
		err = v.dec.Done()
	}
	if err != nil {
		want := uint64(rpcrdma2.PropHostAuthMinSize)
		if len(p.Data) >= 4 {
			want += (uint64(binary.BigEndian.Uint32(p.Data)) + 3) &^ 3
		}
		return nil, invalid(p, want, err)
	}
	return value, nil
}

// HostAuth returns the property that carries a message of host authentication
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6, §10.4; R219). The message may be empty.
func HostAuth(message []byte) header.Property {
	data := binary.BigEndian.AppendUint32(make([]byte, 0, 4+xdr.Padded(len(message))), uint32(len(message)))
	data = append(data, message...)
	return header.Property{ID: rpcrdma2.PropIDHostAuth, Data: append(data, make([]byte, xdr.Padded(len(message))-len(message))...)}
}

// invalid returns the fault of a property whose value is invalid (§5.1; R197). want is the number
// of bytes of a valid one.
func invalid(p *header.Property, want uint64, err error) *header.Fault {
	return &header.Fault{
		Code: header.FaultProperty, Where: "property", Index: int(p.ID),
		Found: uint64(len(p.Data)), Want: want, Err: err,
	}
}
