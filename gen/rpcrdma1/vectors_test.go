package rpcrdma1

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// seg and read shorten the tables below.
func seg(handle, length uint32, offset uint64) Segment { return Segment{handle, length, offset} }

func read(position, handle, length uint32, offset uint64) ReadChunk {
	return ReadChunk{position, seg(handle, length, offset)}
}

func chunk(segs ...Segment) WriteChunk { return WriteChunk{segs} }

// TestMessagesHaveTheirBytes proves, for every procedure and shape of list:
//   - R15, R34: xid, vers, credit and procedure are the first four words of each;
//   - R18, R19, R20, R21, R22, R23: the words after them, and that decoding stops where the RPC
//     message begins;
//   - R24, R25, R26, R27: the lists; three absent ones are 12 bytes;
//   - R30, R31: every truncated prefix is refused, with the missing bytes still after it in
//     memory (T20);
//   - R32: an encoded value decodes to the same value; R33: never into a buffer that is too small;
//   - R115: the layout of ERR_VERS; R121: unknown codes decode. R320: the codec matches the
//     vectors.
func TestMessagesHaveTheirBytes(t *testing.T) {
	msg := func(xid, credit uint32, h Header) Message {
		return Message{xid, 1, credit, Body{Proc: ProcMsg, Msg: h}}
	}
	nomsg := func(xid, credit uint32, h HeaderNomsg) Message {
		return Message{xid, 1, credit, Body{Proc: ProcNomsg, Nomsg: h}}
	}
	msgp := func(xid, credit uint32, h HeaderPadded) Message {
		return Message{xid, 1, credit, Body{Proc: ProcMsgp, Msgp: h}}
	}
	fault := func(xid, credit uint32, e Error) Message {
		return Message{xid, 1, credit, Body{Proc: ProcError, Error: e}}
	}
	xdrtest.Run(t, xdrtest.Load(t), map[string]Message{
		"msg-no-chunks": msg(0x1a2b3c4d, 32, Header{}),
		"msg-read-write": msg(0x1a2b3c4e, 64, Header{
			Reads: []ReadChunk{read(104, 0xa1b2c3, 8192, 0x7f1200340000)},
			Writes: []WriteChunk{
				chunk(seg(0x11111111, 4096, 4096), seg(0x22222222, 1, 0xffffffffffffffff)),
			},
		}),
		"msg-positions": msg(0x1a2b3c4f, 1, Header{
			Reads: []ReadChunk{read(104, 7, 10, 1<<32), read(104, 8, 6, 0), read(200, 9, 0, 16)},
		}),
		"msg-reply-chunk": msg(0, 32, Header{
			Reply: xdr.Some(chunk(seg(0xaa01, 65536, 0x200000000), seg(0xaa02, 32768, 0x200010000))),
		}),
		"msg-empty-write-chunk": msg(0xffffffff, 2, Header{
			Writes: []WriteChunk{
				chunk(seg(0x31, 256, 256)),
				chunk(),
				chunk(seg(0x32, 512, 512), seg(0x33, 768, 768)),
			},
			Reply: xdr.Some(chunk()),
		}),
		"nomsg-position-zero": nomsg(0x1a2b3c50, 16, HeaderNomsg{
			Reads: []ReadChunk{read(0, 257, 0x1234, 0x400000)},
		}),
		"nomsg-reply-chunk": nomsg(0x1a2b3c50, 8, HeaderNomsg{
			Reply: xdr.Some(chunk(seg(0xaa03, 12001, 0x200000000))),
		}),
		"nomsg-all-lists": nomsg(0x1a2b3c51, 32, HeaderNomsg{
			Reads:  []ReadChunk{read(0, 0x41, 1280, 0x5000), read(256, 0x42, 1<<20, 0x6000)},
			Writes: []WriteChunk{chunk(seg(0x43, 128, 0x7000))},
			Reply:  xdr.Some(chunk(seg(0x44, 16384, 0x8000))),
		}),
		"nomsg-no-chunks": nomsg(0x1a2b3c52, 32, HeaderNomsg{}),
		"msgp": msgp(0x1a2b3c53, 32, HeaderPadded{
			Align: 512, Thresh: 4096, Reads: []ReadChunk{read(52, 0x51, 100, 0x9000)},
		}),
		"msgp-all-lists": msgp(0x1a2b3c54, 32, HeaderPadded{
			Thresh: 0xffffffff,
			Writes: []WriteChunk{chunk(seg(0x61, 1, 2))},
			Reply:  xdr.Some(chunk(seg(0x62, 3, 4))),
		}),
		"done":                   {0x1a2b3c4d, 1, 32, Body{Proc: ProcDone}},
		"error-vers":             fault(0x1a2b3c55, 32, Error{Err: ErrVers, Vrange: VersionRange{1, 2}}),
		"error-chunk":            fault(0x1a2b3c56, 7, Error{Err: ErrChunk}),
		"error-unknown":          fault(0x1a2b3c57, 32, Error{Err: 3}),
		"error-unknown-negative": fault(0x1a2b3c58, 32, Error{Err: -1}),
		"version-two-in-front":   {0x1a2b3c59, 2, 32, Body{Proc: ProcDone}},
	})
}

// TestPartsHaveTheirBytes proves R24 and R25 on the parts by themselves.
func TestPartsHaveTheirBytes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]Segment{
		"segment": seg(0x80000001, 0xffffffff, 0x8000000000000002),
	})
	xdrtest.Run(t, all, map[string]ReadChunk{
		"read-chunk": read(260, 2, 3, 4),
	})
	xdrtest.Run(t, all, map[string]WriteChunk{
		"write-chunk":       chunk(seg(1, 2, 3), seg(4, 5, 6)),
		"write-chunk-empty": chunk(),
	})
	xdrtest.Run(t, all, map[string]Error{
		"error-body-vers":  {Err: ErrVers, Vrange: VersionRange{1, 1}},
		"error-body-chunk": {Err: ErrChunk},
	})
	xdrtest.CheckTypes(t, all, "Message", "Segment", "ReadChunk", "WriteChunk", "Error")
}
