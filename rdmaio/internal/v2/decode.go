package v2

import (
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// baseFlags are the flags that all header types may have (§6.3.2).
const baseFlags = rpcrdma2.FlagResponse | rpcrdma2.FlagMore

// Decode decodes b into m. Afterwards m.Payload and the data of m.Props are slices of b. If b is
// invalid, Decode returns a fault:
//
//   - FaultShort: no field can be trusted, and the message is to be dropped (T18)
//   - FaultVersion: only XID, Vers and Credit of m are set. An ERROR of another version is not a
//     fault, as it must never be answered.
//   - other codes: XID, Vers, Credit and Answer are set, and Kind if the header type is known; the
//     rest of m is empty
//
// An ERROR whose body is shorter than its code needs is not a fault, since it ends an RPC all the
// same: its Err.Code is 0 (T72). Bytes after the body of an ERROR are ignored (R212). An ERROR is
// an answer even if its sender forgot the RESPONSE flag (R147).
//
// Each part of a continued RDMA2_CONNPROP has a whole property set. Decode does not compare the
// RESPONSE flag with the RPC message: its type may be in another part (A26).
//
// Time and memory are linear in len(b).
func (v *Version) Decode(b []byte, m *header.Message) *header.Fault {
	m.Reset()
	// the same in all versions (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.1, §6.3.1, §C.1; R321)
	p, ok := header.DecodePrefix(b)
	if !ok {
		return &header.Fault{Code: header.FaultShort, Found: uint64(len(b)), Want: prefixSize}
	}
	m.XID, m.Vers, m.Credit = p.XID, p.Vers, p.Credit
	switch {
	case p.Proc == rpcrdma2.HeaderError && (p.Vers != Number || len(b) < prefixSize):
		m.Kind, m.Answer = header.KindError, true
		m.Err = versionError(b)
		return nil
	case p.Vers != Number: // of the first message or of a later one; R139, R188
		return &header.Fault{Code: header.FaultVersion, Found: uint64(p.Vers), Want: Number}
	case len(b) < prefixSize:
		return &header.Fault{Code: header.FaultShort, Found: uint64(len(b)), Want: prefixSize}
	}
	first := !v.received // messages that end above may come before the answer to the first message
	v.received = true
	flags := binary.BigEndian.Uint32(b[header.PrefixSize:])
	f := v.prefix(m, p.Proc, flags)
	if f == nil {
		f = v.body(b, m, first)
	}
	if f != nil {
		*m = header.Message{
			XID: m.XID, Vers: m.Vers, Credit: m.Credit, Answer: m.Answer, Kind: m.Kind,
			Lists: m.Lists, Props: m.Props[:0],
		}
		m.Lists.Reset()
	}
	return f
}

// prefix takes the header type and the flags of a message. The header type is judged first, as it
// decides which flags are defined (§6.4.3; T87).
func (v *Version) prefix(m *header.Message, htype, flags uint32) *header.Fault {
	m.Answer = flags&rpcrdma2.FlagResponse != 0
	allowed := uint32(baseFlags)
	switch htype { // draft-ietf-nfsv4-rpcrdma-version-two-00 §6.2: all four; R140
	case rpcrdma2.HeaderMsg:
		m.Kind = header.KindMsg
	case rpcrdma2.HeaderNomsg:
		m.Kind = header.KindNomsg
	case rpcrdma2.HeaderError:
		m.Kind, m.Answer = header.KindError, true
	case rpcrdma2.HeaderConnProp:
		m.Kind = header.KindProps
	default:
		extra, ok := v.flags(htype)
		if !ok { // T22
			return &header.Fault{Code: header.FaultProcedure, Found: uint64(htype), Want: rpcrdma2.HeaderConnProp}
		}
		m.Kind, m.Type = header.KindOther, htype
		m.Flags = flags &^ baseFlags
		allowed |= extra
	}
	if flags&^allowed != 0 { // A32, T30
		return &header.Fault{Code: header.FaultFlags, Found: uint64(flags), Want: uint64(allowed)}
	}
	if m.More = flags&rpcrdma2.FlagMore != 0; m.More && m.Kind != header.KindMsg && m.Kind != header.KindProps {
		return &header.Fault{Code: header.FaultMore, Found: uint64(htype)} // R157, T87
	}
	return nil
}

// flags returns the flags besides baseFlags that an extension's header type has. ok is false if
// there is no such type.
func (v *Version) flags(htype uint32) (flags uint32, ok bool) {
	if v.cfg.Types == nil {
		return 0, false
	}
	if flags, ok = v.cfg.Types(htype); !ok {
		return 0, false
	}
	return flags, true
}

// noChunks is the length in bytes of the header of an RDMA2_MSG whose lists are empty. Its words
// after the prefix are 0: rdma_inv_handle and the lists.
const noChunks = prefixSize + 4 + header.NoLists

// body decodes the part of a message after the prefix.
func (v *Version) body(b []byte, m *header.Message, first bool) *header.Fault {
	// Most messages are of this form, and need no decoder.
	if m.Kind == header.KindMsg && len(b) >= noChunks &&
		binary.BigEndian.Uint64(b[prefixSize:])|binary.BigEndian.Uint64(b[prefixSize+8:]) == 0 {
		m.Payload = b[noChunks:]
		return nil
	}
	v.dec.Reset(b)
	_, _ = v.dec.Next(prefixSize) // Decode has checked that there are as many bytes
	switch m.Kind {
	case header.KindMsg: // draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.1; R148
		if f := v.chunkLists(b, m); f != nil {
			return f
		}
		// R149: the draft counts the first word of the RPC message as a part of the header. It
		// stays in the payload, and there may be less than a word (A26, R161).
		m.Payload = v.dec.Rest()
	case header.KindNomsg: // draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.2; R150
		if f := v.chunkLists(b, m); f != nil {
			return f
		}
		if f := trailing(v.dec.Rest()); f != nil { // T32
			return f
		}
		if m.Kind == header.KindGrant { // nothing must look its XID up (A10, R174, T34)
			m.XID = 0
		}
	case header.KindError:
		if m.Err = v.error(b, first); m.Err.Code > header.ErrSystem {
			m.Payload = v.dec.Rest()
		}
	case header.KindProps: // draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.4; R213
		if err := v.props.DecodeXDR(v.dec); err != nil {
			return notXDR(b, err)
		}
		for _, p := range v.props.Props {
			m.Props = append(m.Props, header.Property{ID: uint32(p.Which), Data: p.Data})
		}
		return trailing(v.dec.Rest())
	case header.KindOther:
		m.Payload = v.dec.Rest()
		if v.cfg.Body == nil {
			break
		}
		var err error
		if m.Body, m.Payload, err = v.cfg.Body(m.Type, m.Payload); err != nil {
			return notXDR(b, err)
		}
	}
	return nil
}

// chunkLists decodes rdma_inv_handle and the lists.
func (v *Version) chunkLists(b []byte, m *header.Message) *header.Fault {
	if err := v.lists.DecodeXDR(v.dec); err != nil {
		return notXDR(b, err)
	}
	fromWire(&m.Lists, &v.lists)
	empty := m.Lists.Size() == header.NoLists
	switch key := v.lists.InvHandle; {
	case m.More && !empty: // R158, T88
		return &header.Fault{Code: header.FaultMore, Found: rpcrdma2.HeaderMsg, Want: uint64(m.Lists.Size())}
	case m.Kind == header.KindNomsg && empty:
		m.Kind = header.KindGrant // rdma_inv_handle is ignored
	case m.Answer: // §6.3.3: only Calls name a key
	case key != 0 && !m.HasKey(key): // R262, T78
		return &header.Fault{Code: header.FaultKey, Found: uint64(key)}
	default:
		m.InvalidateKey = key
	}
	return nil
}

// error decodes the body of an ERROR.
func (v *Version) error(b []byte, first bool) header.Error {
	// A server without version 2 sends ERR_VERS in the form of version 1, without flags. Its code
	// looks like the RESPONSE flag, and four other codes have the same length. But these answer
	// Calls, and the end that dialed does not begin with a Call, so the first message to it has
	// none of them (A1, R195, T96).
	const versionOneSize = header.PrefixSize + 12
	if first && v.cfg.Dialed && len(b) == versionOneSize {
		if e := versionError(b); e.Code != 0 {
			return e
		}
	}
	var e rpcrdma2.Error
	if err := e.DecodeXDR(v.dec); err != nil {
		return header.Error{} // T72
	}
	return fromError(&e)
}

// versionError decodes ERR_VERS in the form of version 1, which all versions share: code and range
// directly after the first four words (RFC 8166 §4.5, §7; R195, A2). It returns the zero Error for
// anything else.
func versionError(b []byte) (e header.Error) {
	const at = header.PrefixSize
	if len(b) >= at+12 && binary.BigEndian.Uint32(b[at:]) == rpcrdma2.ErrVers {
		e = header.Error{Code: header.ErrVers, Low: binary.BigEndian.Uint32(b[at+4:]), High: binary.BigEndian.Uint32(b[at+8:])}
	}
	return e
}

// notXDR returns the fault of a message that is not valid XDR.
func notXDR(b []byte, err error) *header.Fault {
	f := &header.Fault{Code: header.FaultXDR, Found: uint64(len(b)), Want: uint64(len(b)), Err: err}
	if e, ok := errors.AsType[*xdr.Error](err); ok {
		f.Found = uint64(e.Offset)
	}
	return f
}

// trailing returns a fault if there are bytes after a header that no payload follows.
func trailing(rest []byte) *header.Fault {
	if len(rest) == 0 {
		return nil
	}
	return &header.Fault{Code: header.FaultTrailing, Found: uint64(len(rest))}
}
