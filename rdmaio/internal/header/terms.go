package header

// LeastInline is the inline threshold of both directions before another one is negotiated, and the
// smallest that is allowed (RFC 8166 §3.3.3; R36).
const LeastInline = 1024

// Terms are the negotiated limits of a connection, as seen from one end. Send of one end is Recv of
// the other, whichever end makes the Call, so reverse Calls need no thresholds of their own (R38,
// R39).
type Terms struct {
	Send, Recv int // inline thresholds, bytes, header included (RFC 8166 §3.3.2)

	// RemoteInvalidate allows a responder to invalidate one key of a Call by its Reply.
	RemoteInvalidate bool

	// Reads is the number of RDMA Reads that this end may have in progress. If zero, only the queue
	// pair limits it. If negative, there must be none.
	Reads int
	// NoReadChunks means that the other end makes no RDMA Reads, so this end must not send read
	// chunks.
	NoReadChunks bool
	// ReadsUnknown means that the number is being negotiated. RDMA Reads are deferred until then.
	ReadsUnknown bool
}

// DefaultTerms returns the terms with a peer that advertised nothing.
func DefaultTerms() Terms { return Terms{Send: LeastInline, Recv: LeastInline} }
