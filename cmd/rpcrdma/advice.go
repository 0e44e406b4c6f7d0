package main

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// advice says what an error of the peer means and what to try.
type advice struct {
	name    string
	code    rdmaio.PeerErrorCode
	meaning string
	try     string
}

// adviceVers is the advice where the two ends have no version in common.
const adviceVers = "-versions with a version that the server has, or 2,1 to try both"

// adviceAnswer is the advice where a server does not answer version 2.
const adviceAnswer = "-versions 1 if the server may not have version 2, or a longer -W"

// peerAdvice are the errors of RDMA_ERROR in version 1, and of RDMA2_ERROR in version 2. Code 2 has
// a name in each (RFC 8166 §4.5; draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3).
var peerAdvice = []advice{
	{"ERR_VERS", rdmaio.PeerErrVers, "the peer does not have the version", adviceVers},
	{"ERR_CHUNK", rdmaio.PeerErrChunk, "version 1: it cannot use the chunks, or its reply does not fit", "read the server's log; for perf, use a smaller -size"},
	{"BAD_XDR", rdmaio.PeerErrChunk, "version 2: it cannot decode the header", "-versions 1, and report the message that -trace shows"},
	{"INVAL_HTYPE", rdmaio.PeerErrHeaderType, "the peer does not know the header type", "-versions 1, and report the message that -trace shows"},
	{"INVAL_FLAG", rdmaio.PeerErrFlag, "the peer does not accept the flags", "-versions 1, and report the message that -trace shows"},
	{"READ_CHUNKS", rdmaio.PeerErrReadChunks, "more read chunks than the peer takes", "a smaller -size, or a larger -inline on both sides"},
	{"WRITE_CHUNKS", rdmaio.PeerErrWriteChunks, "more write chunks than the peer takes", "a smaller -size, or a larger -inline on both sides"},
	{"SEGMENTS", rdmaio.PeerErrSegments, "more segments in a chunk than the peer takes", "a smaller -size"},
	{"WRITE_RESOURCE", rdmaio.PeerErrWriteResource, "a write chunk is too short for its result", "read the server's log: the result is longer than the call allows"},
	{"REPLY_RESOURCE", rdmaio.PeerErrReplyResource, "the reply chunk is too short for the reply", "a larger -inline on both sides; read the server's log"},
	{"SYSTEM", rdmaio.PeerErrSystem, "another reason, which does not go away", "read the server's log; for perf, use a smaller -size"},
}

// advise returns what to try after an error of the peer.
func advise(e *rdmaio.PeerError) string {
	for i := range peerAdvice {
		if a := &peerAdvice[i]; a.code == e.Code && (a.name != "ERR_CHUNK" || e.Version == 1) {
			return a.try
		}
	}
	return "read the server's log; -trace shows the messages"
}

// helpErrors returns the help on errors.
func helpErrors() string {
	var b strings.Builder
	b.WriteString(`Errors of the transport, with what to try. An error of a call names the stage "call".

No connection:
  no version in common    the server refused each version of -versions; exit code 4
                          try: ` + adviceVers + `
  no answer               the server did not answer an offer of version 2 within half of -W; exit
                          code 5
                          try: ` + adviceAnswer + `

Errors that the peer sends, with their codes; exit code 4:
`)
	for _, a := range peerAdvice {
		fmt.Fprintf(&b, "  %-18s %2d   %s\n%26stry: %s\n", a.name, a.code, a.meaning, "", a.try)
	}
	return b.String()
}
