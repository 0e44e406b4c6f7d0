package header

// LeastInline is the inline threshold of both directions before another one is negotiated, and the
// smallest that is allowed (RFC 8166 §3.3.3; R36).
const LeastInline = 1024

// Terms are the negotiated limits of a connection, as seen from one end. Send of one end is Recv of
// the other, whichever end makes the Call, so reverse Calls need no other thresholds
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.2; R38, R39).
type Terms struct {
	Send, Recv int // inline thresholds, bytes, header included (RFC 8166 §3.3.2)

	// Advertised is the value of Send by the properties of both ends alone (version 2).
	Advertised int

	// RemoteInvalidate allows a responder to invalidate one key of a Call by its Reply. With
	// CallNamesKey the Call names this key, otherwise it is any of them.
	RemoteInvalidate, CallNamesKey bool

	// Reads is the number of RDMA Reads that this end may have in progress. If zero, only the queue
	// pair limits it. If negative, it must have none in progress.
	Reads int
	// NoReadChunks means that the other end makes no RDMA Reads, so this end must not send read
	// chunks.
	NoReadChunks bool

	// SegmentSize is the length in bytes of the longest segment that the other end takes, and
	// Segments the number of segments that a header of this end may have. If zero, there is no
	// agreed limit (version 2, properties 3 and 4).
	SegmentSize, Segments int

	// Reverse is the support for reverse Calls at the end that receives them.
	Reverse Reverse

	// ReadsUnknown means that the number is being negotiated. RDMA Reads are deferred until then.
	ReadsUnknown bool
}

// DefaultTerms returns the terms with a peer that advertised nothing.
func DefaultTerms() Terms { return Terms{Send: LeastInline, Recv: LeastInline} }

// Reverse is a level of support for reverse Calls.
type Reverse uint8

// The levels, lowest last. In version 1 the level is general, and Config.ReverseChunks decides.
const (
	ReverseGeneral Reverse = iota // as forward Calls
	ReverseInline                 // one Send for each Call and Reply, without chunks
	ReverseNone                   // no reverse Calls
)
