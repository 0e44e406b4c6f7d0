package rdmaio

// Terms are the parameters that the two ends of a connection negotiated, as seen from one of them.
type Terms struct {
	// Version is the version of RPC-over-RDMA. It is 0 if Config.Versions has several and the
	// version is not known, on an accepted connection until the first message of the client.
	Version int

	// InlineSend and InlineRecv are the largest messages, header included, that this side sends and
	// receives without chunks, in bytes. Config says how they are negotiated.
	InlineSend, InlineRecv int

	// RemoteInvalidate reports whether the server may invalidate one key of a Call with its reply.
	RemoteInvalidate bool

	// Reads is the largest number of RDMA Reads that this side has in progress at a time, for the
	// chunks of Calls that it serves. If zero, only the queue pairs limit it. If negative, this
	// side makes no RDMA Reads and refuses Calls that need any by ERR_CHUNK.
	Reads int

	// SegmentSize is the size in bytes of the longest segment that the peer takes, and MaxSegments
	// the number of segments that the header of a Call of this side may have (version 2). If zero,
	// there is no agreed limit.
	SegmentSize, MaxSegments int

	// NoReadChunks reports that the peer makes no RDMA Reads. Calls of this side then have no read
	// chunks, and fail with a *SizeError if they do not fit inline.
	NoReadChunks bool
}
