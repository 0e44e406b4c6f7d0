package conform

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
	"github.com/rpcrdma/rpcrdma/internal/rawpeer"
)

// answers has the allowed answers to rawpeer.Faults.
var answers = map[rawpeer.Answer][]string{
	rawpeer.Dropped:   {noReply, closed},
	rawpeer.Discarded: {noReply, "ERR_CHUNK", closed},
	rawpeer.ChunkErr:  {"ERR_CHUNK"},
	rawpeer.Mismatch:  {"ERR_CHUNK", closed},
	rawpeer.VersErr:   {"ERR_VERS 1 to 1", "ERR_VERS 1 to 2"},
}

// rdmaCases are the cases of RPC-over-RDMA version 1 (RFC 8166).
func rdmaCases() []Case {
	var list []Case
	for _, f := range rawpeer.Faults() {
		list = append(list, Case{Name: "rdma/" + f.Name, Section: f.Section, On: RDMA, steps: func(t *Target) []step {
			return []step{{want: []expect{{faultXID, answers[f.Answer]}}, build: func(r *rdma) []byte { return t.fault(&f, r) }}}
		}})
	}
	return append(list,
		Case{Name: "rdma/long-call", Section: "RFC 8166 §3.5.3", On: RDMA, steps: longCall},
		Case{Name: "rdma/read-chunk-of-arguments", Section: "RFC 8166 §3.4.5", On: RDMA, Echo: true, steps: noReadChunk},
		Case{Name: "rdma/reply-chunk-unused", Section: "RFC 8166 §3.5.3", On: RDMA, steps: shortReply},
		Case{Name: "rdma/long-reply", Section: "RFC 8166 §3.5.3", On: RDMA, Echo: true, steps: longReply},
		Case{Name: "rdma/long-reply-without-chunk", Section: "RFC 8166 §4.5.3", On: RDMA, Echo: true, steps: longReplyWithoutChunk},
		Case{Name: "rdma/credits-0", Section: "RFC 8166 §3.3.1", On: RDMA, steps: creditsAsked(0)},
		Case{Name: "rdma/credits-largest", Section: "RFC 8166 §3.3.1", On: RDMA, steps: creditsAsked(1<<32 - 1)},
	)
}

// faultXID is the XID that rawpeer.Faults have.
const faultXID = 0xcafe0001

// fault returns the message of a fault, whose call is one of the program.
func (t *Target) fault(f *rawpeer.Fault, r *rdma) []byte {
	text := f.Message(fmt.Sprintf("%08x", r.offer.RKey()), fmt.Sprintf("%016x", r.offer.RemoteAddr()))
	text = strings.ReplaceAll(text, "000186a3 00000003", fmt.Sprintf("%08x %08x", t.Program, t.Version))
	return unhex(text)
}

// longCall puts a null call in a chunk of position zero.
func longCall(t *Target) []step {
	c := t.null()
	return []step{{want: []expect{{c.xid, []string{"SUCCESS"}}}, build: func(r *rdma) []byte {
		n := copy(r.mem, c.bytes())
		lists := append([]uint32{1, 0}, r.segment(n)...)
		return header(c.xid, 1, append(lists, 0, 0, 0)...)
	}}}
}

// noReadChunk moves bytes by a read chunk that no binding allows: it may work, or be refused.
func noReadChunk(t *Target) []step {
	c := t.call(program.ProcData, words(nil, 8))
	want := "SUCCESS " + hex.EncodeToString(opaque([]byte("abcdefgh")))
	return []step{{want: []expect{{c.xid, []string{want, "GARBAGE_ARGS", "ERR_CHUNK", closed}}}, build: func(r *rdma) []byte {
		copy(r.mem, "abcdefgh")
		b := c.bytes()
		lists := append([]uint32{1, uint32(len(b))}, r.segment(8)...)
		return append(header(c.xid, 0, append(lists, 0, 0, 0)...), b...)
	}}}
}

// shortReply offers a reply chunk that a short reply does not need.
func shortReply(t *Target) []step {
	c := t.null()
	return []step{{want: []expect{{c.xid, []string{"SUCCESS", "SUCCESS by chunk"}}}, build: func(r *rdma) []byte {
		lists := append([]uint32{0, 0, 1, 1}, r.segment(offerSize)...)
		return append(header(c.xid, 0, lists...), c.bytes()...)
	}}}
}

// longArgs are arguments that come back in a reply of more than the inline size of any peer
// without private data. They fit in a chunk.
func longArgs() []byte { return opaque([]byte(strings.Repeat("0123456789abcdef", 200))) }

// longReply puts a call in a chunk, and offers a chunk for its reply.
func longReply(t *Target) []step {
	c := t.call(program.ProcData, longArgs())
	want := "SUCCESS " + hex.EncodeToString(c.args) + " by chunk"
	return []step{{want: []expect{{c.xid, []string{want}}}, build: func(r *rdma) []byte {
		n := copy(r.mem[offerSize/2:], c.bytes())
		call := r.segment(n)
		call[3] += offerSize / 2
		if call[3] < offerSize/2 {
			call[2]++
		}
		lists := append(append([]uint32{1, 0}, call...), 0, 0, 1, 1)
		return header(c.xid, 1, append(lists, r.segment(offerSize/2)...)...)
	}}}
}

// longReplyWithoutChunk offers no chunk for a reply that needs one.
func longReplyWithoutChunk(t *Target) []step {
	c := t.call(program.ProcData, longArgs())
	return []step{{want: []expect{{c.xid, []string{"ERR_CHUNK", closed}}}, build: func(r *rdma) []byte {
		n := copy(r.mem, c.bytes())
		lists := append([]uint32{1, 0}, r.segment(n)...)
		return header(c.xid, 1, append(lists, 0, 0, 0)...)
	}}}
}

// creditsAsked asks for an unusual number of credits. The answer grants one at least.
func creditsAsked(n uint32) func(t *Target) []step {
	return func(t *Target) []step {
		c := t.null()
		return []step{{want: []expect{{c.xid, []string{"SUCCESS"}}}, build: func(*rdma) []byte {
			return append(words(nil, c.xid, 1, n, 0, 0, 0, 0), c.bytes()...)
		}}}
	}
}
