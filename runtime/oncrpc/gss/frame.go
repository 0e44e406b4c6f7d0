package gss

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ErrBody reports arguments or results that are not protected as their message says. It is for
// errors.Is.
var ErrBody = errors.New("gss: protected data refused")

// Sizes in bytes (RFC 5531 §9).
const (
	callStart = 24 // a call up to the credential
	callHead  = 40 // a call's header, with an empty credential and verifier body
	replyHead = 24 // a successful reply's header, with an empty verifier body
)

// mostAuth is the largest size of a credential's or verifier's body (RFC 5531 §8.2).
const mostAuth = oncrpc.MaxAuthBytes

// appendCred appends start, the first callStart bytes of a call, and the credential.
func appendCred(b, start []byte, cred *CredV1) []byte {
	b = append(b, start...)
	b = binary.BigEndian.AppendUint32(b, uint32(oncrpc.RPCSecGSS))
	b = binary.BigEndian.AppendUint32(b, uint32(20+xdr.Padded(len(cred.Handle))))
	for _, w := range []uint32{Version1, uint32(cred.Proc), cred.Seq, uint32(cred.Service), uint32(len(cred.Handle))} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return pad(append(b, cred.Handle...), len(cred.Handle))
}

// appendNone appends AUTH_NONE.
func appendNone(b []byte) []byte { return append(b, 0, 0, 0, 0, 0, 0, 0, 0) }

// appendVerf appends a verifier: the checksum of message, which may be a part of b.
func appendVerf(b []byte, c Context, message []byte) ([]byte, error) {
	at := len(b)
	b, err := appendMIC(binary.BigEndian.AppendUint32(b, uint32(oncrpc.RPCSecGSS)), c, message)
	if err == nil && len(b)-at-8 > mostAuth {
		err = fmt.Errorf("gss: the mechanism's checksum has %d bytes, a verifier has at most %d (RFC 5531 §8.2)", len(b)-at-8, mostAuth)
	}
	return b, err
}

// appendMIC appends the checksum of message as an opaque.
func appendMIC(b []byte, c Context, message []byte) ([]byte, error) {
	at := len(b)
	b, err := c.GetMIC(append(b, 0, 0, 0, 0), message)
	if err != nil {
		return nil, fmt.Errorf("GSS_GetMIC: %w", err)
	}
	return endOpaque(b, at), nil
}

// endOpaque completes the opaque whose length word is at an offset.
func endOpaque(b []byte, at int) []byte {
	n := len(b) - at - 4
	binary.BigEndian.PutUint32(b[at:], uint32(n))
	return pad(b, n)
}

// pad appends the XDR padding of n bytes.
func pad(b []byte, n int) []byte {
	for range -n & 3 {
		b = append(b, 0)
	}
	return b
}

// appendBody appends m's arguments or results, which follow the header, protected by a service
// other than None. They are put together with their items, because nothing may travel apart (RFC
// 2203 §5.3.2.2, §5.3.2.3; RFC 8166 §8.2.2.3, R306).
func appendBody(b []byte, c Context, s Service, seq uint32, m *oncrpc.Message, head int) ([]byte, error) {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	if s == Integrity {
		b = appendData(b, seq, m, head)
		return appendMIC(endOpaque(b, at), c, b[at+4:])
	}
	b, err := c.Wrap(b, appendData(make([]byte, 0, 4+m.Size(nil)-head), seq, m, head))
	if err != nil {
		return nil, fmt.Errorf("GSS_Wrap: %w", err)
	}
	return endOpaque(b, at), nil
}

// appendData appends an rpc_gss_data_t: the sequence number, and the part of m after its header.
func appendData(b []byte, seq uint32, m *oncrpc.Message, head int) []byte {
	b = binary.BigEndian.AppendUint32(b, seq)
	for _, part := range m.Gather(nil, nil) {
		skip := min(head, len(part))
		head -= skip
		b = append(b, part[skip:]...)
	}
	return b
}

// openBody checks the arguments or results from offset at of a message. It returns a message that
// begins with head bytes for the caller to fill in, followed by the unprotected data. It is a part
// of message, except for Privacy. There must be head bytes before at.
func openBody(c Context, s Service, seq uint32, message []byte, at, head int) ([]byte, error) {
	var plain []byte
	switch s {
	case None:
		return message[at-head:], nil
	case Integrity:
		var d IntegData
		if err := decodeAll(message[at:], &d); err != nil {
			return nil, fmt.Errorf("%w: rpc_gss_integ_data (RFC 2203 §5.3.2.2): %w", ErrBody, err)
		}
		if err := c.VerifyMIC(d.Body, d.Checksum); err != nil {
			return nil, fmt.Errorf("%w: GSS_VerifyMIC (RFC 2203 §5.3.3.4.2): %w", ErrBody, err)
		}
		end := at + 4 + len(d.Body)
		at += 8
		plain = message[at-head : end : end] // shorter than head if there is no number
	case Privacy:
		var d PrivData
		if err := decodeAll(message[at:], &d); err != nil {
			return nil, fmt.Errorf("%w: rpc_gss_priv_data (RFC 2203 §5.3.2.3): %w", ErrBody, err)
		}
		var err error
		if plain, err = c.Unwrap(make([]byte, head-4, head+len(d.Body)), d.Body); err != nil {
			return nil, fmt.Errorf("%w: GSS_Unwrap (RFC 2203 §5.3.3.4.3): %w", ErrBody, err)
		}
	}
	if len(plain) < head || len(plain)&3 != 0 {
		return nil, fmt.Errorf("%w: %d bytes without the sequence number, must be a multiple of 4 (RFC 2203 §5.3.2.2)", ErrBody, len(plain)-head)
	}
	if got := binary.BigEndian.Uint32(plain[head-4:]); got != seq {
		return nil, fmt.Errorf("%w: sequence number %d in the data, must be %d as in the header (RFC 2203 §5.3.3.1)", ErrBody, got, seq)
	}
	return plain, nil
}

// overhead returns the number of bytes by which a reply is longer with RPCSEC_GSS, at most.
func overhead(info *Info, s Service) int {
	n := xdr.Padded(info.MICSize) // the body of the verifier
	switch s {
	case Integrity:
		n += 4 + 4 + 4 + xdr.Padded(info.MICSize)
	case Privacy:
		n += 4 + 4 + xdr.Padded(info.WrapOverhead)
	}
	return n
}

// decoders has decoders whose values point into their input.
var decoders = sync.Pool{New: func() any { return xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true}) }}

// decode decodes a value from the start of b, into which it then points, and returns its size.
func decode(b []byte, v xdr.Value) (size int, err error) {
	dec := decoders.Get().(*xdr.Decoder)
	dec.Reset(b)
	err = v.DecodeXDR(dec)
	size = dec.Offset()
	dec.Reset(nil)
	decoders.Put(dec)
	return size, err
}

// decodeAll decodes a value that takes the whole of b.
func decodeAll(b []byte, v xdr.Value) error {
	dec := decoders.Get().(*xdr.Decoder)
	dec.Reset(b)
	err := v.DecodeXDR(dec)
	if err == nil {
		err = dec.Done()
	}
	dec.Reset(nil)
	decoders.Put(dec)
	return err
}

// seqBytes returns a sequence number in the form that its checksum covers (RFC 2203 §5.3.3.2).
func seqBytes(seq uint32) []byte { return binary.BigEndian.AppendUint32(nil, seq) }

// putReplyHead puts the header of an accepted reply, without a verifier, into the first bytes of
// message.
func putReplyHead(message []byte, xid uint32, stat oncrpc.AcceptStat) {
	clear(message[:replyHead])
	binary.BigEndian.PutUint32(message, xid)
	binary.BigEndian.PutUint32(message[4:], uint32(oncrpc.MsgReply))
	binary.BigEndian.PutUint32(message[20:], uint32(stat))
}
