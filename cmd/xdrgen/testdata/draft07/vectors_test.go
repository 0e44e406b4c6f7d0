package rpcrdma2draft07

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

// TestPrefix proves R320 for the prefix: four words and no flags, whatever their values.
func TestPrefix(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]HeaderPrefix{
		"prefix-call":         {Common{0x1a2b3c4d, 2, 16, HeaderCallInline}},
		"prefix-credit-wraps": {Common{0, 2, 7, HeaderGrant}},
		"prefix-unknown-type": {Common{0xffffffff, 0xffffffff, 0, 0}},
	})
	xdrtest.Run(t, all, map[string]Common{"common": {1, 2, 3, HeaderReplyInline}})
}

// TestCalls proves R320 for the bodies of a Call's messages.
func TestCalls(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]CallExternal{
		"call-external-empty": {},
		"call-external": {
			InvHandle:         0x101,
			Call:              []ReadSegment{read(0, 0x101, 4096, 1<<32), read(0, 0x102, 100, 8)},
			Reads:             []ReadSegment{read(132, 0x103, 3, 0xfffffffffffffff8)},
			ProvisionalWrites: []WriteChunk{chunk(seg(0x104, 2048, 16))},
			ProvisionalReply:  xdr.Some(chunk(seg(0x105, 65536, 24))),
		},
	})
	xdrtest.Run(t, all, map[string]CallMiddle{"call-middle": {Remaining: 65536}})
	xdrtest.Run(t, all, map[string]CallInline{
		"call-inline-none": {},
		"call-inline": {
			InvHandle:         0x71,
			Reads:             []ReadSegment{read(104, 0x71, 8192, 0x7f1200340000), read(104, 0x72, 3, 0)},
			ProvisionalWrites: []WriteChunk{chunk(seg(0x81, 4096, 1<<32), seg(0x82, 2048, 0xfffffffffffff800)), chunk()},
			ProvisionalReply:  xdr.Some(chunk(seg(0x91, 65536, 8))),
		},
	})
	xdrtest.Run(t, all, map[string]Segment{"segment": seg(0x80000001, 0xffffffff, 0x8000000000000002)})
	xdrtest.Run(t, all, map[string]ReadSegment{"read-segment": read(260, 2, 3, 4)})
	xdrtest.Run(t, all, map[string]WriteChunk{
		"write-chunk":       chunk(seg(5, 6, 7)),
		"write-chunk-empty": chunk(),
	})
}

// TestReplies proves R320 for the bodies of a Reply's messages, which have no read list and no
// handle.
func TestReplies(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]ReplyExternal{
		"reply-external": {
			Writes: []WriteChunk{chunk(seg(0x81, 1000, 1<<32)), chunk(seg(0x82, 0, 2<<32))},
			Reply:  xdr.Some(chunk(seg(0xaa01, 16384, 3<<32), seg(0xaa02, 4, 3<<32+0x4000))),
		},
	})
	xdrtest.Run(t, all, map[string]ReplyMiddle{"reply-middle": {Remaining: 0xffffffff}})
	xdrtest.Run(t, all, map[string]ReplyInline{
		"reply-inline-none": {},
		"reply-inline":      {Writes: []WriteChunk{chunk(seg(0x81, 4096, 0x600000)), chunk()}},
	})
}

// TestError proves R320 for the errors: each code with its arm, and an unknown code as void.
func TestError(t *testing.T) {
	xdrtest.Run(t, xdrtest.Load(t), map[string]Error{
		"error-vers":            {Err: ErrVers, Versions: VersionRange{1, 2}},
		"error-bad-xdr":         {Err: ErrBadXDR},
		"error-bad-propval":     {Err: ErrBadPropval},
		"error-inval-htype":     {Err: ErrInvalHtype},
		"error-inval-cont":      {Err: ErrInvalCont},
		"error-read-chunks":     {Err: ErrReadChunks, MaxReadChunks: 0},
		"error-write-chunks":    {Err: ErrWriteChunks, MaxWriteChunks: 2},
		"error-segments":        {Err: ErrSegments, MaxSegments: 16},
		"error-write-resource":  {Err: ErrWriteResource, WriteResource: WriteShortage{ChunkIndex: 3, LengthNeeded: 65537}},
		"error-reply-resource":  {Err: ErrReplyResource, ReplyLengthNeeded: 0xffffffff},
		"error-vers-mismatch":   {Err: ErrVersMismatch},
		"error-system":          {Err: ErrSystem},
		"error-unknown":         {Err: 12},
		"error-unknown-largest": {Err: 0xffffffff},
	})
}

// TestConnProp proves R320 for sets of properties: any order, unknown ones, data of zero length.
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
		"connprop-unknown": {PropSet{
			{0xffffffff, word(1, 2, 3, 4, 5)},
			{PropIDMaxSegmentSize, nil},
			{PropIDHostAuth, []byte("\x00\x00\x00\x02hi\x00\x00")},
		}},
	})
	xdrtest.Run(t, all, map[string]PropVal{"propval": {99, []byte("abc")}})
	xdrtest.Run(t, all, map[string]PropSet{
		"propset": {{PropIDMaxSegmentCount, word(0, 0, 0, 32)}, {PropIDMaxSendSize, nil}},
	})
	xdrtest.Run(t, all, map[string]PropSubset{
		"propsubset":       {0x80000001, 2},
		"propsubset-empty": {},
	})
}

// TestPropertyValues decodes a value of each property as the type of §5.2, table 1.
func TestPropertyValues(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]PropMaxSendSize{"prop-sbsiz": 4096})
	xdrtest.Run(t, all, map[string]PropReceiveBufferSize{"prop-rbsiz": 1024})
	xdrtest.Run(t, all, map[string]PropMaxSegmentSize{"prop-rssiz": 1048576})
	xdrtest.Run(t, all, map[string]PropMaxSegmentCount{"prop-rcsiz": 16})
	xdrtest.Run(t, all, map[string]PropReverseSupport{
		"prop-brs-none":    ReverseNone,
		"prop-brs-cont":    ReverseContinued,
		"prop-brs-unknown": 4,
	})
	xdrtest.Run(t, all, map[string]PropHostAuth{
		"prop-hostauth":       []byte("abcdef"),
		"prop-hostauth-empty": nil,
	})
	xdrtest.CheckTypes(t, all, "message", "HeaderPrefix", "Common", "CallExternal", "CallMiddle", "CallInline",
		"ReplyExternal", "ReplyMiddle", "ReplyInline", "Segment", "ReadSegment", "WriteChunk", "Error",
		"ConnProp", "PropVal", "PropSet", "PropSubset", "PropMaxSendSize", "PropReceiveBufferSize",
		"PropMaxSegmentSize", "PropMaxSegmentCount", "PropReverseSupport", "PropHostAuth")
}

// TestNumbers proves R320 for the numbers: the constants are those of the document's tables and
// sections, not of the .x file.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint32
	}{
		{"table 2, error", HeaderError, 4},
		{"table 2, grant", HeaderGrant, 5},
		{"table 2, properties, middle", HeaderConnPropMiddle, 6},
		{"table 2, properties, final", HeaderConnPropFinal, 7},
		{"table 2, external Call", HeaderCallExternal, 8},
		{"table 2, continued Call", HeaderCallMiddle, 9},
		{"table 2, inline Call", HeaderCallInline, 10},
		{"table 2, external Reply", HeaderReplyExternal, 11},
		{"table 2, continued Reply", HeaderReplyMiddle, 12},
		{"table 2, inline Reply", HeaderReplyInline, 13},
		{"table 1, send size", PropIDMaxSendSize, 1},
		{"table 1, receive size", PropIDReceiveBufferSize, 2},
		{"table 1, segment size", PropIDMaxSegmentSize, 3},
		{"table 1, segment count", PropIDMaxSegmentCount, 4},
		{"table 1, reverse", PropIDReverseSupport, 5},
		{"table 1, host auth", PropIDHostAuth, 6},
		{"§5.2.5 none", ReverseNone, 0},
		{"§5.2.5 simple", ReverseSimple, 1},
		{"§5.2.5 continued", ReverseContinued, 2},
		{"§5.2.5 general", ReverseGeneral, 3},
	} {
		if c.got != c.want {
			t.Errorf("%s is %d, want %d", c.name, c.got, c.want)
		}
	}
}
