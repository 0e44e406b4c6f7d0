package cases

import "slices"

// The rdma_proc values of RFC 8166 §4.2.4.
const (
	procMsg = iota
	procNoMsg
	procMsgP
	procDone
	procError
)

// noAnswer and errChunk are answers after which the connection stays up.
const (
	noAnswer = "no answer; " + goesOn
	errChunk = "ERR_CHUNK; " + goesOn
)

// null returns the RPC message of NULL.
func null() []byte { return nullCall(probeXID, 100003, 3) }

// header returns a header with the words after the version, and a message after it.
func header(message []byte, after ...uint32) func(w *wire) {
	return func(w *wire) { w.send(words(probeXID, 1), words(after...), message) }
}

// headerProbes are faults of the RPC-over-RDMA version 1 header.
func headerProbes() []probe {
	chunkErr := []string{errChunk}
	// all three lists, with a segment each
	full := words(
		probeXID, 1, 32, procMsg,
		1, 40, 0x1111, 8, 0, 0, 0,
		1, 1, 0x2222, 8, 0, 0, 0,
		1, 1, 0x3333, 1024, 0, 0,
	)
	// cut sends the header cut at each word of a range.
	cut := func(from, to int) func(w *wire) {
		return func(w *wire) {
			for n := from; n <= to; n += 4 {
				w.send(full[:n])
			}
		}
	}
	garbage := slices.Concat(words(probeXID), slices.Repeat([]byte{0xff}, 60))
	list := []probe{
		{
			what: "rdma_vers 2", rule: "RFC 8166 §4.5.1", expected: "ERR_VERS 1 to 1, the version of the call repeated",
			allowed: []string{"ERR_VERS 1 to 1 in version 2; " + goesOn},
			send:    func(w *wire) { w.send(words(probeXID, 2, 32, procMsg, 0, 0, 0), null()) },
		},
		{
			what: "rdma_vers 0", rule: "RFC 8166 §4.5.1", expected: "ERR_VERS 1 to 1, the version of the call repeated",
			allowed: []string{"ERR_VERS 1 to 1 in version 0; " + goesOn},
			send:    func(w *wire) { w.send(words(probeXID, 0, 32, procMsg, 0, 0, 0), null()) },
		},
		{
			what: "rdma_proc 5", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(null(), 32, 5, 0, 0, 0),
		},
		{
			what: "RDMA_MSGP", rule: "RFC 8166 §4.6.1", expected: "ERR_CHUNK (SHOULD)", allowed: chunkErr,
			send: header(null(), 32, procMsgP, 4096, 4096, 0, 0, 0),
		},
		{
			what: "RDMA_DONE", rule: "RFC 8166 §4.6.2", expected: "no answer", allowed: []string{noAnswer},
			send: header(nil, 32, procDone, 0, 0, 0),
		},
		{
			what: "RDMA_ERROR, ERR_VERS", rule: "RFC 8166 §4.2.4", expected: "no answer", allowed: []string{noAnswer},
			send: header(nil, 32, procError, 1, 1, 1),
		},
		{
			what: "RDMA_ERROR, ERR_CHUNK, 20 bytes", rule: "RFC 8166 §4.2.4", expected: "no answer", allowed: []string{noAnswer},
			send: header(nil, 32, procError, 2),
		},
		{
			what: "rdma_credit 0", rule: "RFC 8166 §3.3.1", expected: "an answer with at least 1 credit", allowed: []string{nullAnswered},
			send: header(null(), 0, procMsg, 0, 0, 0),
		},
		{
			what: "rdma_credit 0xFFFFFFFF", rule: "RFC 8166 §3.3.1", expected: "an answer with at least 1 credit", allowed: []string{nullAnswered},
			send: header(null(), 0xffffffff, procMsg, 0, 0, 0),
		},
		{
			what: "a Send of no bytes", rule: "RFC 8166 §4.5", expected: "no answer", allowed: []string{noAnswer},
			send: func(w *wire) { w.send() },
		},
		{
			what: "headers of 4, 8, 12 and 16 bytes", rule: "RFC 8166 §4.5", expected: "no answer", allowed: []string{noAnswer},
			send: cut(4, 16),
		},
		{
			what: "headers of 20 and 24 bytes", rule: "RFC 8166 §4.5", expected: "no answer", allowed: []string{noAnswer},
			send: cut(20, 24),
		},
		{
			what: "RDMA_MSG cut in its Read list, at 28, 32, 36 and 40 bytes", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK for each",
			allowed: []string{"4 times " + errChunk}, send: cut(28, 40),
		},
		{
			what: "RDMA_MSG cut in its Write list, at 44 bytes to 68", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK for each",
			allowed: []string{"7 times " + errChunk}, send: cut(44, 68),
		},
		{
			what: "RDMA_MSG cut in its Reply chunk, at 72 bytes to 92", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK for each",
			allowed: []string{"6 times " + errChunk}, send: cut(72, 92),
		},
		{
			what: "RDMA_MSG without an RPC message", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(nil, 32, procMsg, 0, 0, 0),
		},
		{
			what: "RDMA_NOMSG without chunks", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(nil, 32, procNoMsg, 0, 0, 0),
		},
		{
			what: "an XID in the RPC message that is not rdma_xid", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK", allowed: chunkErr,
			send: header(nullCall(probeXID+0x100, 100003, 3), 32, procMsg, 0, 0, 0),
		},
		{
			what: "an RPC message of 64 bytes, 0xFF after its XID", rule: "RFC 8166 §4.5.2", expected: "ERR_CHUNK, or no answer", allowed: []string{errChunk, noAnswer},
			send: header(garbage, 32, procMsg, 0, 0, 0),
		},
		{
			what: "an RPC Call of 12 bytes", rule: "RFC 8166 §4.5.2, RFC 5531 §9", expected: "ERR_CHUNK, GARBAGE_ARGS, no answer or closed",
			allowed: []string{errChunk, noAnswer, "RDMA_MSG, GARBAGE_ARGS; " + goesOn, closed},
			send:    header(null()[:12], 32, procMsg, 0, 0, 0),
		},
		{
			what: "an RPC Reply to a server that has called nothing", rule: "RFC 8167 §4", expected: "no answer", allowed: []string{noAnswer},
			send: header(nullReply(probeXID), 32, procMsg, 0, 0, 0),
		},
		{
			what: "RPC version 3", rule: "RFC 5531 §9", expected: "RPC_MISMATCH", allowed: []string{"RDMA_MSG, denied: RPC_MISMATCH; " + goesOn},
			send: header(words(probeXID, 0, 3, 100003, 3, 0, 0, 0, 0, 0), 32, procMsg, 0, 0, 0),
		},
	}
	return list
}
