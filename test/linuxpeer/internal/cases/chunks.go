package cases

import "slices"

// chunkProbes are faults of the chunk lists, before calls that need no chunks.
func chunkProbes() []probe {
	chunkErr := []string{errChunk, "ERR_CHUNK; " + closed}
	// siw may close the connection before the error that the server has posted is sent.
	const dropped = "connection closed, mostly after ERR_CHUNK"
	maybeDropped := []string{closed, "ERR_CHUNK; " + closed}
	answered := []string{nullAnswered, errChunk, "ERR_CHUNK; " + closed}
	const stag = 0x00112233
	// segments returns n plain segments of 8 bytes.
	segments := func(n int) []uint32 { return slices.Repeat([]uint32{stag, 8, 0, 0}, n) }
	readChunk := func(position, length uint32) []uint32 { return []uint32{1, position, stag, length, 0, 0} }
	with := func(proc uint32, lists ...[]uint32) []uint32 {
		return append([]uint32{32, proc}, slices.Concat(lists...)...)
	}
	no := []uint32{0}
	return []probe{
		{
			what: "a Read list that begins with 2 instead of 0 or 1", rule: "RFC 8166 §4.5.2, RFC 4506 §4.19", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(null(), with(procMsg, []uint32{2, 40, stag, 8, 0, 0}, no, no, no)...),
		},
		{
			what: "a Write list that begins with 2", rule: "RFC 8166 §4.5.2, RFC 4506 §4.19", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(null(), with(procMsg, no, []uint32{2, 1}, segments(1), no, no)...),
		},
		{
			what: "a Reply chunk that begins with 2", rule: "RFC 8166 §4.5.2, RFC 4506 §4.19", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(null(), with(procMsg, no, no, []uint32{2, 1}, segments(1))...),
		},
		{
			what: "a Write chunk that announces 0xFFFFFFFF segments", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(null(), with(procMsg, no, []uint32{1, 0xffffffff}, segments(1), no, no)...),
		},
		{
			what: "a Reply chunk that announces 0x10000001 segments", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(null(), with(procMsg, no, no, []uint32{1, 0x10000001}, segments(1))...),
		},
		{
			what: "a Write chunk of 200 segments, not needed", rule: "RFC 8166 §3.4.6", expected: "an answer, or ERR_CHUNK", allowed: answered,
			send: header(null(), with(procMsg, no, []uint32{1, 200}, segments(200), no, no)...),
		},
		{
			what: "64 Write chunks of 1 segment, not needed", rule: "RFC 8166 §3.4.6", expected: "an answer, or ERR_CHUNK", allowed: answered,
			send: header(null(), with(procMsg, no, slices.Repeat(slices.Concat([]uint32{1, 1}, segments(1)), 64), no, no)...),
		},
		{
			what: "a Write chunk without segments", rule: "RFC 8166 §4.3.2.3", expected: "an answer", allowed: []string{nullAnswered},
			send: header(null(), with(procMsg, no, []uint32{1, 0}, no, no)...),
		},
		{
			what: "a Reply chunk without segments", rule: "RFC 8166 §4.3.3", expected: "an answer, or ERR_CHUNK", allowed: answered,
			send: header(null(), with(procMsg, no, no, []uint32{1, 0})...),
		},
		{
			what: "a Read chunk at position 41", rule: "RFC 8166 §3.4.5", expected: "ERR_CHUNK: a multiple of 4", allowed: chunkErr,
			send: header(null(), with(procMsg, readChunk(41, 8), no, no, no)...),
		},
		{
			what: "a Read chunk at position 4000, beyond the message of 40 bytes", rule: "RFC 8166 §3.4.5", expected: "ERR_CHUNK", allowed: chunkErr,
			varies: maybeDropped, saw: dropped,
			send: header(null(), with(procMsg, readChunk(4000, 8), no, no, no)...),
		},
		{
			what: "a Read chunk at position 4, in the RPC header", rule: "RFC 8166 §3.4.2", expected: "ERR_CHUNK, GARBAGE_ARGS or no answer",
			allowed: []string{errChunk, noAnswer, "RDMA_MSG, GARBAGE_ARGS; " + goesOn},
			send:    header(null(), with(procMsg, readChunk(4, 8), no, no, no)...),
		},
		{
			what: "Read chunks at positions 40, 36 and 40", rule: "RFC 8166 §3.4.5", expected: "ERR_CHUNK, or an answer", allowed: answered,
			varies: maybeDropped, saw: dropped,
			send: header(null(), with(procMsg, readChunk(40, 8), readChunk(36, 8), readChunk(40, 8), no, no, no)...),
		},
		{
			what: "a Read chunk of 0xFFFFFFFC bytes", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(null(), with(procMsg, readChunk(40, 0xfffffffc), no, no, no)...),
		},
		{
			what: "a Read chunk of 128 segments of 4 bytes", rule: "RFC 8166 §3.4.5", expected: "an answer, or ERR_CHUNK", allowed: answered,
			send: header(null(), with(procMsg, slices.Repeat(readChunk(40, 4), 128), no, no, no)...),
		},
		{
			what: "RDMA_NOMSG with a chunk at position 0 that holds zeros", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK: the XIDs differ", allowed: chunkErr,
			send: header(nil, with(procNoMsg, readChunk(0, 40), no, no, no)...),
		},
		{
			what: "RDMA_NOMSG with a chunk at position 0 of 3 bytes", rule: "RFC 8166 §3.5.3, §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			// The server takes its buffer's earlier contents for the rest of the header.
			varies: []string{noAnswer, "RDMA_MSG, denied: RPC_MISMATCH; " + goesOn}, saw: "no answer, or RDMA_MSG, denied: RPC_MISMATCH; " + goesOn,
			send: header(nil, with(procNoMsg, readChunk(0, 3), no, no, no)...),
		},
		{
			what: "RDMA_NOMSG with a Reply chunk only", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK: no call", allowed: chunkErr,
			send: header(nil, with(procNoMsg, no, no, []uint32{1, 1}, []uint32{stag, 1024, 0, 0})...),
		},
	}
}
