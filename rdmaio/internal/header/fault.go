package header

import "fmt"

// Code names a fault in a message of the peer.
type Code uint8

// The codes of Fault.
const (
	FaultShort       Code = iota + 1 // message ends before its header can
	FaultVersion                     // version not supported
	FaultProcedure                   // procedure not known
	FaultXDR                         // lists are not valid XDR
	FaultTrailing                    // bytes after the lists of a message without payload
	FaultPayload                     // RPC message too short for its XID and type
	FaultXID                         // header and RPC message disagree on the XID
	FaultNoChunk                     // RDMA_NOMSG without the chunk that holds the payload
	FaultAligned                     // position not a multiple of four
	FaultZero                        // position zero beside an inline payload
	FaultOrder                       // positions do not increase
	FaultOverlap                     // chunk reaches past the position of the next one
	FaultBeyond                      // position past what the stream can fill
	FaultWrap                        // segment passes 2^64
	FaultBytes                       // more bytes than the limit
	FaultSegments                    // more segments than the limit
	FaultChunks                      // more chunks than the limit
	FaultReads                       // read list in a Reply
	FaultReturnCount                 // returned list has other chunks or segments than offered
	FaultReturnRange                 // returned segment has another handle or offset
	FaultReturnMore                  // returned length over the offered one
	FaultReturnHole                  // segments not filled contiguously
	FaultType                        // RPC message is a Call instead of a Reply, or the reverse
	FaultReverse                     // chunks in a reverse Call, with the option off
	FaultPad                         // invalid alignment or threshold of padding
	FaultPadReads                    // padding and read chunks in one message
	FaultNoReads                     // a Call needs RDMA Reads, and none were negotiated
	FaultWithdrawn                   // procedure of the draft, with the option off
	FaultAddress                     // segment at addresses that the provider cannot express
	FaultFlags                       // undefined flags
	FaultMore                        // MORE where it must not be, or with chunks
	FaultSequence                    // another message inside a sequence of continued ones
	FaultKey                         // rdma_inv_handle is no handle of the header
	FaultProperty                    // value of a property is not valid
	FaultTwice                       // property twice in one set
	FaultLong                        // continued message is longer than the limit
	FaultCredit                      // message beyond the credits that were granted
)

// faults has the text of each code, and the rule that is broken.
var faults = [...]struct{ what, rule string }{
	FaultShort:       {"message of %d bytes, at least %d expected", "RFC 8166 §4.5; for version 2 draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.1"},
	FaultVersion:     {"version %d, only %d is supported", "RFC 8166 §4.5.1"},
	FaultProcedure:   {"procedure %d is not supported, highest is %d", "RFC 8166 §4.2.4"},
	FaultXDR:         {"header is not valid XDR at offset %d of %d bytes", "RFC 8166 §4.5.2"},
	FaultTrailing:    {"%d bytes after the lists, %d expected", "RFC 8166 §4.2.4"},
	FaultPayload:     {"RPC message of %d bytes, at least %d expected", "RFC 5531 §9"},
	FaultXID:         {"XID of the RPC message is %#x, of the header %#x", "RFC 8166 §4.2.1"},
	FaultNoChunk:     {"RDMA_NOMSG with a payload chunk of %d bytes, at least %d expected", "RFC 8166 §4.5.2"},
	FaultAligned:     {"position %d is not a multiple of %d", "RFC 8166 §3.4.5"},
	FaultZero:        {"position %d in a message with inline payload, lowest possible is %d", "RFC 8166 §3.5.3"},
	FaultOrder:       {"position %d follows position %d", "RFC 8166 §3.4.5"},
	FaultOverlap:     {"position %d lies within the chunk before it, which ends at %d", "RFC 8166 §3.4.5"},
	FaultBeyond:      {"position %d is past what the stream can fill, %d", "RFC 8166 §3.4.5"},
	FaultWrap:        {"segment at offset %#x of %d bytes passes 2^64", "RFC 8166 §3.4.3"},
	FaultBytes:       {"%d bytes or more in chunks, limit is %d", "local limit, Config.MaxReadBytes"},
	FaultSegments:    {"%d segments or more, limit is %d", "local limit, Config.MaxSegments"},
	FaultChunks:      {"%d chunks or more, limit is %d", "local limit, Config.MaxChunks"},
	FaultReads:       {"read list of %d segments in a Reply, %d expected", "RFC 8166 §4.3.1"},
	FaultReturnCount: {"%d elements returned, %d offered", "RFC 8166 §3.4.6"},
	FaultReturnRange: {"returned segment names %#x, offered was %#x", "RFC 8166 §3.4.6"},
	FaultReturnMore:  {"returned length %d, offered were %d", "RFC 8166 §3.4.6"},
	FaultReturnHole:  {"%d bytes returned behind a segment with %d bytes of room left", "RFC 8166 §3.4.6"},
	FaultType:        {"RPC message type %d, expected %d (CALL is 0, REPLY 1)", "RFC 5531 §9"},
	FaultNoReads:     {"%d RDMA Reads needed, %d negotiated", "draft-ietf-nfsv4-rpcrdma-08 §6.2"},
	FaultReverse:     {"chunk lists of %d bytes in a reverse Call, expected %d bytes: lists without chunks", "RFC 8167 §5.3"},
	FaultPad:         {"padding of alignment %d and threshold %d, expected a power of two and at least 1", "draft-ietf-nfsv4-rpcrdma-08 §3.9"},
	FaultWithdrawn:   {"procedure %d was withdrawn from version %d", "RFC 8166 §4.6.1; Config.Legacy allows it"},
	FaultAddress:     {"segment ends at %#x, the last address that the provider can express is %#x", "local limit, verbs.DeviceAttributes.MaxRemoteAddr"},
	FaultFlags:       {"flags %#x, only %#x are defined", "draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.2"},
	FaultMore:        {"MORE flag in a message of header type %d, whose lists have %d bytes: only RDMA2_MSG without chunks and RDMA2_CONNPROP can be continued", "draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.2"},
	FaultSequence:    {"XID %#x or its header type is not that of the continued message, with XID %#x", "draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.2"},
	FaultKey:         {"rdma_inv_handle %#x is no handle of the message, expected one of them or %d", "draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.3"},
	FaultProperty:    {"value of %d bytes, expected a valid one of %d", "draft-ietf-nfsv4-rpcrdma-version-two-00 §5.1"},
	FaultTwice:       {"property %d is in the set %d times, expected once", "draft-ietf-nfsv4-rpcrdma-version-two-00 §5.1"},
	FaultLong:        {"continued message of %d bytes or more, limit is %d", "local limit, Config.MaxContinued"},
	FaultCredit:      {"message beyond the %d credits granted in all, %d are outstanding", "draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.1"},
	FaultPadReads:    {"padding in a message with %d read segments, %d expected: positions in padded messages are undefined", "draft-ietf-nfsv4-rpcrdma-08 §3.9"},
}

// Fault is an error in a message of the peer: the rule that is broken, where, the value found and
// the value expected. Compare PeerError, an error that the peer found in ours.
type Fault struct {
	Code  Code
	Where string // "read list", "write chunk"; may be empty
	Index int    // which element of it
	Found uint64
	Want  uint64
	Err   error // from the XDR decoder, with FaultXDR; why a value is not valid, with FaultProperty
}

// Error returns the fault in one line.
func (f *Fault) Error() string {
	where := ""
	if f.Where != "" {
		where = fmt.Sprintf("%s %d: ", f.Where, f.Index)
	}
	d := faults[f.Code]
	what := fmt.Sprintf(d.what, f.Found, f.Want)
	if f.Err != nil {
		what += ": " + f.Err.Error()
	}
	return fmt.Sprintf("rdmaio: invalid message from the peer: %s%s (%s)", where, what, d.rule)
}

// Rule returns the document section, or the local limit, that was broken.
func (f *Fault) Rule() string { return faults[f.Code].rule }

// Unwrap returns the decoder's error, if any.
func (f *Fault) Unwrap() error { return f.Err }
