// Package capture finds the RPC calls (RFC 5531) in captured packets: over UDP, over TCP with
// record marking, and over RDMA as iWARP or RDMATCP, with RPC-over-RDMA of versions 1 and 2.
//
//	r := capture.NewReader(file, capture.Limits{}, handler)
//	err := r.Run()
//
// The layers, from the packet up:
//
//	packets     files, IP, UDP; segments of TCP
//	tcp         bytes in order, with gaps where the capture lacks segments
//	half        the protocol in the bytes: found at the start of a segment, again after each gap
//	record      record marking (RFC 5531 §11): messages
//	frames      MPA and DDP (RFC 5044, 5041), RDMATCP: messages, and data placed in memory
//	rdma        RPC-over-RDMA headers: chunks are put back into the message
//	matcher     Calls and their replies, by XID and connection
//
// Nothing in a capture is trusted. The memory of each connection is counted, with the structures
// around the bytes: lists of chunks, places of segments and data. When Limits are exceeded, the
// connection without packets for the longest time is forgotten, after its calls were reported.
// Bytes that were placed in memory are used for one message: no header makes a capture larger than
// it is.
package capture
