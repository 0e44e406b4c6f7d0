package rpcrdma2

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// seg, read and chunk shorten the tables below.
func seg(handle, length uint32, offset uint64) Segment { return Segment{handle, length, offset} }

func read(position, handle, length uint32, offset uint64) ReadSegment {
	return ReadSegment{position, seg(handle, length, offset)}
}

func chunk(segs ...Segment) WriteChunk { return WriteChunk{segs} }

// TestPrefixIsFourWordsAndFlags proves R138 (four common words and the flags), R15 and R34; and
// that undefined flags and types reach the transport, which checks them.
func TestPrefixIsFourWordsAndFlags(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]HeaderPrefix{
		"prefix-call":            {Start: Common{0x1a2b3c4d, 2, 0x00100001, HeaderMsg}},
		"prefix-response-more":   {Start: Common{0x1a2b3c4d, 2, 0x00200002, HeaderMsg}, Flags: FlagResponse | FlagMore},
		"prefix-undefined-flags": {Start: Common{0, 0xffffffff, 0xffffffff, 2}, Flags: 0xfffffffc},
	})
	xdrtest.Run(t, all, map[string]Common{"common": {1, 2, 3, HeaderError}})
}

// TestChunksHaveTheirBytes proves R148 and R149 (the MSG body, which ends where the RPC
// message begins), R150 (the NOMSG body), and R152: segments and lists are as in
// version 1. R26, R27, R30, R31, R32 and R33 hold here too.
func TestChunksHaveTheirBytes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]Msg{
		"msg-no-chunks": {},
		"msg-all-lists": {ChunkLists{
			InvHandle: 0x71,
			Reads:     []ReadSegment{read(104, 0x71, 8192, 0x7f1200340000), read(104, 0x72, 3, 0)},
			Writes:    []WriteChunk{chunk(seg(0x81, 4096, 1<<32), seg(0x82, 2048, 0xfffffffffffff800)), chunk()},
			Reply:     xdr.Some(chunk(seg(0x91, 65536, 8))),
		}},
	})
	xdrtest.Run(t, all, map[string]Nomsg{
		"nomsg-grant":         {},
		"nomsg-position-zero": {ChunkLists{InvHandle: 0x101, Reads: []ReadSegment{read(0, 0x101, 12345, 0x400000)}}},
		"nomsg-reply": {ChunkLists{
			Reply: xdr.Some(chunk(seg(0xaa01, 16384, 0x200000000), seg(0xaa02, 0, 0x200004000))),
		}},
	})
	xdrtest.Run(t, all, map[string]ChunkLists{
		"chunk-lists": {InvHandle: 0x43, Writes: []WriteChunk{chunk(seg(0x43, 128, 0x7000))}},
	})
	xdrtest.Run(t, all, map[string]Segment{"segment": seg(0x80000001, 0xffffffff, 0x8000000000000002)})
	xdrtest.Run(t, all, map[string]ReadSegment{"read-segment": read(260, 2, 3, 4)})
	xdrtest.Run(t, all, map[string]WriteChunk{
		"write-chunk":       chunk(seg(5, 6, 7)),
		"write-chunk-empty": chunk(),
	})
}

// TestErrorsHaveTheirArms proves R195, R196, R198, R199, R200, R202, R205, R206, R207 and
// R210, each code with its arm; R211: an unknown code is void; and, by the
// truncated prefixes, R212.
func TestErrorsHaveTheirArms(t *testing.T) {
	xdrtest.Run(t, xdrtest.Load(t), map[string]Error{
		"error-vers":            {Err: ErrVers, Versions: VersionRange{1, 2}},
		"error-bad-xdr":         {Err: ErrBadXDR},
		"error-inval-htype":     {Err: ErrInvalHtype},
		"error-inval-flag":      {Err: ErrInvalFlag},
		"error-read-chunks":     {Err: ErrReadChunks, MaxReadChunks: 0},
		"error-write-chunks":    {Err: ErrWriteChunks, MaxWriteChunks: 2},
		"error-segments":        {Err: ErrSegments, MaxSegments: 16},
		"error-write-resource":  {Err: ErrWriteResource, WriteResource: WriteShortage{ChunkIndex: 3, LengthNeeded: 65537}},
		"error-reply-resource":  {Err: ErrReplyResource, ReplyLengthNeeded: 0xffffffff},
		"error-system":          {Err: ErrSystem},
		"error-unknown":         {Err: 11},
		"error-unknown-largest": {Err: 0xffffffff},
	})
}

// TestConnProp proves R213, R221 (data of zero length arrive as such), R222
// (unknown properties do not stop the others) and R223 (no order).
func TestConnProp(t *testing.T) {
	all := xdrtest.Load(t)
	word := func(b ...byte) []byte { return b }
	xdrtest.Run(t, all, map[string]ConnProp{
		"connprop-empty": {},
		"connprop-basic": {PropSet{
			{PropIDMaxSendSize, word(0, 0, 0x10, 0)},
			{PropIDReceiveBufferSize, word(0, 0, 0x20, 0)},
			{PropIDMaxSegmentSize, word(0, 0x10, 0, 0)},
			{PropIDMaxSegmentCount, word(0, 0, 0, 16)},
			{PropIDReverseSupport, word(0, 0, 0, ReverseGeneral)},
		}},
		"connprop-hostauth": {PropSet{{PropIDHostAuth, []byte("\x00\x00\x00\x05hello\x00\x00\x00")}}},
		"connprop-defaults": {PropSet{{PropIDMaxSegmentSize, nil}, {PropIDMaxSendSize, nil}}},
		"connprop-unknown": {PropSet{
			{PropIDReverseSupport, word(0, 0, 0, ReverseNone)},
			{0xffffffff, word(1, 2, 3, 4, 5)},
			{0, word(0xff)},
			{PropIDReceiveBufferSize, word(0, 0, 0x10, 0)},
		}},
	})
	xdrtest.Run(t, all, map[string]PropVal{"propval": {99, []byte("abc")}})
	xdrtest.Run(t, all, map[string]PropSet{
		"propset": {{PropIDMaxSegmentCount, word(0, 0, 0, 32)}, {PropIDHostAuth, word(0, 0, 0, 0)}},
	})
	// R227: the words of the bitmap, in their order.
	xdrtest.Run(t, all, map[string]PropSubset{
		"propsubset":       {0x80000001, 2},
		"propsubset-empty": {},
	})
}

// TestPropertyValues decodes a value of each property as the type of §5.2, table
// 1 (R197: data that conform).
func TestPropertyValues(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]PropMaxSendSize{"prop-sbsiz": 4096})
	xdrtest.Run(t, all, map[string]PropReceiveBufferSize{"prop-rbsiz": 1024})
	xdrtest.Run(t, all, map[string]PropMaxSegmentSize{"prop-rssiz": 1048576})
	xdrtest.Run(t, all, map[string]PropMaxSegmentCount{"prop-rcsiz": 16})
	xdrtest.Run(t, all, map[string]PropReverseSupport{
		"prop-brs-none":    ReverseNone,
		"prop-brs-inline":  ReverseInline,
		"prop-brs-genl":    ReverseGeneral,
		"prop-brs-unknown": 3,
	})
	xdrtest.Run(t, all, map[string]PropHostAuth{
		"prop-hostauth":       []byte("abcdef"),
		"prop-hostauth-empty": nil,
	})
	xdrtest.CheckTypes(t, all, "message", "HeaderPrefix", "Common", "Msg", "Nomsg", "ChunkLists", "Segment", "ReadSegment",
		"WriteChunk", "Error", "ConnProp", "PropVal", "PropSet", "PropSubset",
		"PropMaxSendSize", "PropReceiveBufferSize", "PropMaxSegmentSize", "PropMaxSegmentCount", "PropReverseSupport", "PropHostAuth")
}

// TestNumbersAreTheDocuments proves R140 and R320 for the numbers: the constants are
// those of the document's tables, not of the .x file.
func TestNumbersAreTheDocuments(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint32
	}{
		{"§6.2 MSG", HeaderMsg, 0},
		{"§6.2 NOMSG", HeaderNomsg, 1},
		{"§6.2 ERROR", HeaderError, 4},
		{"§6.2 CONNPROP", HeaderConnProp, 5},
		{"§6.3.2 RESPONSE", FlagResponse, 1},
		{"§6.3.2 MORE", FlagMore, 2},
		{"§5.2 send size", PropIDMaxSendSize, 1},
		{"§5.2 receive size", PropIDReceiveBufferSize, 2},
		{"§5.2 segment size", PropIDMaxSegmentSize, 3},
		{"§5.2 segment count", PropIDMaxSegmentCount, 4},
		{"§5.2 reverse", PropIDReverseSupport, 5},
		{"§5.2 host auth", PropIDHostAuth, 6},
		{"§5.2.5 none", ReverseNone, 0},
		{"§5.2.5 inline", ReverseInline, 1},
		{"§5.2.5 general", ReverseGeneral, 2},
	} {
		if c.got != c.want {
			t.Errorf("%s is %d, want %d", c.name, c.got, c.want)
		}
	}
}
