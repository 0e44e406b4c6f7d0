package rdmatcp_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

var recv = func(n uint32) wc { return wc{verbs.WCRecv, n} }

var read = func(n uint32) wc { return wc{verbs.WCRDMARead, n} }

// Segments that a receiver must accept. Sections are in draft-williams-rdmatcp-00. R336 to
// R338, R341, R352, R353, R355.
func TestVectorsAccepted(t *testing.T) { runVectors(t, accepted) }

var accepted = []vector{
	// §3.1, §3.4 Segment Length, Padding.
	{
		name: "Send, 13 bytes, 3 of padding", recvs: []int{64},
		wire: []string{"01 0c 0025 | CID | 00000010 | 0000 00 00 | 00000000 | 'Hello, RDMA!!' | 000000 | 18c563e0"},
		wcs:  []wc{recv(13)}, memory: []placed{{recvAt, "'Hello, RDMA!!'"}},
	},
	{
		name: "Send of nothing", recvs: []int{0},
		wire: []string{"01 0c 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC"},
		wcs:  []wc{recv(0)},
	},
	{
		name: "Sends with 0, 1, 2 bytes of padding", recvs: []int{8, 8, 8},
		wire: []string{
			"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'four' | CRC",
			"01 0c 001b | CID | 00000011 | 0000 00 00 | 00000000 | 'thr' 00 | CRC",
			"01 0c 001a | CID | 00000012 | 0000 00 00 | 00000000 | 'tw' 0000 | CRC",
		},
		wcs:    []wc{recv(4), recv(3), recv(2)},
		memory: []placed{{recvAt, "'four'"}, {recvAt + recvEach, "'thr'"}, {recvAt + 2*recvEach, "'tw'"}},
	},
	{
		name: "padding of any value, inside the CRC", recvs: []int{8},
		wire: []string{"01 0c 0019 | CID | 00000010 | 0000 00 00 | 00000000 | 'x' c0ffee | CRC"},
		wcs:  []wc{recv(1)}, memory: []placed{{recvAt, "'x'"}},
	},
	{
		name: "longest Send segment", recvs: []int{0x10000},
		wire: []string{"01 0c ffff | CID | 00000010 | 0000 00 00 | 00000000 | 5a*65511 00 | CRC"},
		wcs:  []wc{recv(65511)}, memory: []placed{{recvAt, "5a*65511"}},
	},
	{
		name: "longest without padding, and one more Send", recvs: []int{0x10000, 8},
		wire: []string{
			"01 0c fffc | CID | 00000010 | 0000 00 00 | 00000000 | 5b*65508 | CRC",
			"01 0c 001a | CID | 00000011 | 0000 00 00 | 00000000 | 'ok' 0000 | CRC",
		},
		wcs: []wc{recv(65508), recv(2)}, memory: []placed{{recvAt, "5b*65508"}, {recvAt + recvEach, "'ok'"}},
	},
	{
		name: "a Send as long as its Receive", recvs: []int{5},
		wire: []string{"01 0c 001d | CID | 00000010 | 0000 00 00 | 00000000 | 'exact' 000000 | CRC"},
		wcs:  []wc{recv(5)}, memory: []placed{{recvAt, "'exact'"}},
	},
	// §3.4 Res and res.
	{
		name: "all bits of the client protocol", recvs: []int{8},
		wire: []string{"01 fc 001a | CID | 00000010 | 0000 00 00 | 00000000 | 'ok' 0000 | CRC"},
		wcs:  []wc{recv(2)}, memory: []placed{{recvAt, "'ok'"}},
	},
	{
		name: "all reserved bits", recvs: []int{8},
		wire: []string{"01 0c 001a | CID | 00000010 | 0000 ff 00 | 00000000 | 'ok' 0000 | CRC"},
		wcs:  []wc{recv(2)}, memory: []placed{{recvAt, "'ok'"}},
	},
	// §3.4 B, E; Data Offset; §4.
	{
		name: "Send in two segments", recvs: []int{64},
		wire: []string{
			"01 08 001d | CID | 00000010 | 0000 00 00 | 00000000 | 'Hello' 000000 | CRC",
			"01 04 001b | CID | 00000010 | 0000 00 00 | 00000005 | ', R' 00 | CRC",
		},
		wcs: []wc{recv(8)}, memory: []placed{{recvAt, "'Hello, R'"}},
	},
	{
		name: "Send in four, one of them neither first nor last", recvs: []int{64},
		wire: []string{
			"01 08 0019 | CID | 00000010 | 0000 00 00 | 00000000 | 'a' 000000 | CRC",
			"01 00 001a | CID | 00000010 | 0000 00 00 | 00000001 | 'bc' 0000 | CRC",
			"01 00 001c | CID | 00000010 | 0000 00 00 | 00000003 | 'defg' | CRC",
			"01 04 0019 | CID | 00000010 | 0000 00 00 | 00000007 | 'h' 000000 | CRC",
		},
		wcs: []wc{recv(8)}, memory: []placed{{recvAt, "'abcdefgh'"}},
	},
	{
		name: "last segment empty", recvs: []int{64},
		wire: []string{
			"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data' | CRC",
			"01 04 0018 | CID | 00000010 | 0000 00 00 | 00000004 | CRC",
		},
		wcs: []wc{recv(4)}, memory: []placed{{recvAt, "'data'"}},
	},
	{
		name: "first and middle segment empty", recvs: []int{64},
		wire: []string{
			"01 08 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
			"01 00 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
			"01 04 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data' | CRC",
		},
		wcs: []wc{recv(4)}, memory: []placed{{recvAt, "'data'"}},
	},
	// §3.4 CLEN, control data.
	{
		name: "control data in the first segment", recvs: []int{64},
		wire: []string{"01 0c 0022 | CID | 00000010 | 0000 00 02 | 00000000 | 'CONTROL!' | 'ab' 0000 | CRC"},
		wcs:  []wc{recv(2)}, memory: []placed{{recvAt, "'ab'"}},
	},
	{
		name: "control data in every segment, not counted in offsets", recvs: []int{64},
		wire: []string{
			"01 08 001f | CID | 00000010 | 0000 00 01 | 00000000 | 'CTRL' | 'abc' 00 | CRC",
			"01 00 0020 | CID | 00000010 | 0000 00 02 | 00000003 | 'CONTROL!' | CRC",
			"01 04 001e | CID | 00000010 | 0000 00 01 | 00000003 | 'MORE' | 'de' 0000 | CRC",
		},
		wcs: []wc{recv(5)}, memory: []placed{{recvAt, "'abcde'"}},
	},
	{
		name: "255 words of control data", recvs: []int{64},
		wire: []string{"01 0c 0416 | CID | 00000010 | 0000 00 ff | 00000000 | c7*1020 | 'ok' 0000 | CRC"},
		wcs:  []wc{recv(2)}, memory: []placed{{recvAt, "'ok'"}},
	},
	{
		name: "control data only", recvs: []int{0},
		wire: []string{"01 0c 001c | CID | 00000010 | 0000 00 01 | 00000000 | 'CTRL' | CRC"},
		wcs:  []wc{recv(0)},
	},
	// §3.4 Message Number.
	{
		name: "numbers wrap to 0", recvs: []int{4, 4, 4},
		wire: []string{
			"01 0c 0019 | CID | fffffffe | 0000 00 00 | 00000000 | 'a' 000000 | CRC",
			"01 0c 0019 | CID | ffffffff | 0000 00 00 | 00000000 | 'b' 000000 | CRC",
			"01 0c 0019 | CID | 00000000 | 0000 00 00 | 00000000 | 'c' 000000 | CRC",
		},
		wcs: []wc{recv(1), recv(1), recv(1)}, memory: []placed{{recvAt, "'a'"}, {recvAt + recvEach, "'b'"}, {recvAt + 2*recvEach, "'c'"}},
	},
	{
		name: "numbers pass 2^31", recvs: []int{4, 4},
		wire: []string{
			"01 0c 0018 | CID | 7fffffff | 0000 00 00 | 00000000 | CRC",
			"01 0c 0018 | CID | 80000000 | 0000 00 00 | 00000000 | CRC",
		},
		wcs: []wc{recv(0), recv(0)},
	},
	{
		name: "one sequence for Send, Write and Read_Request", recvs: []int{4, 4},
		wire: []string{
			"01 0c 0018 | CID | 00000000 | 0000 00 00 | 00000000 | CRC",
			"01 0d 0021 | CID | 00000001 | 0000 00 00 | KEY | 00000000 | 00000001 | 'w' 000000 | CRC",
			"01 0e 0020 | CID | 00000002 | 0000 00 00 | KEY | 00000000 | 00000001 | CRC",
			"01 0c 0018 | CID | 00000003 | 0000 00 00 | 00000000 | CRC",
		},
		wcs: []wc{recv(0), recv(0)}, memory: []placed{{0, "'w'"}},
		answer: []string{"01 0f 0019 | CID | 00000002 | ffff 00 00 | 00000000 | 'w' 000000 | CRC"},
	},
	// §3.4 Order, of Sends with nothing to wait for.
	{
		name: "orders 0xffff, 0xfffe, 5", recvs: []int{4, 4, 4},
		wire: []string{
			"01 0c 0018 | CID | 00000010 | ffff 00 00 | 00000000 | CRC",
			"01 0c 0018 | CID | 00000011 | fffe 00 00 | 00000000 | CRC",
			"01 0c 0018 | CID | 00000012 | 0005 00 00 | 00000000 | CRC",
		},
		wcs: []wc{recv(0), recv(0), recv(0)},
	},
	// §3.2.
	{
		name:   "Write, 6 bytes",
		wire:   []string{"01 0d 0026 | CID | 00000011 | 0000 00 00 | KEY | 00001000 | 00000006 | deadbeef0102 | 0000 | CRC"},
		memory: []placed{{0x1000, "deadbeef0102"}},
	},
	{
		name: "Write of nothing, to no buffer",
		wire: []string{"01 0d 0020 | CID | 00000011 | 0000 00 00 | 00000000 | ffffffff | 00000000 | CRC"},
	},
	{
		name: "Write in three segments",
		wire: []string{
			"01 09 0023 | CID | 00000011 | 0000 00 00 | KEY | 00000100 | 00000009 | 'abc' 00 | CRC",
			"01 01 0025 | CID | 00000011 | 0000 00 00 | KEY | 00000103 | 00000009 | 'defgh' 000000 | CRC",
			"01 05 0021 | CID | 00000011 | 0000 00 00 | KEY | 00000108 | 00000009 | 'i' 000000 | CRC",
		},
		memory: []placed{{0x100, "'abcdefghi'"}},
	},
	{
		name: "Write whose last segment is empty",
		wire: []string{
			"01 09 0024 | CID | 00000011 | 0000 00 00 | KEY | 00000100 | 00000004 | 'abcd' | CRC",
			"01 05 0020 | CID | 00000011 | 0000 00 00 | KEY | 00000104 | 00000004 | CRC",
		},
		memory: []placed{{0x100, "'abcd'"}},
	},
	{
		name: "Writes to the first and to the last byte",
		wire: []string{
			"01 0d 0021 | CID | 00000011 | 0000 00 00 | KEY | 00000000 | 00000001 | 'a' 000000 | CRC",
			"01 0d 0021 | CID | 00000012 | 0000 00 00 | KEY | 0003ffff | 00000001 | 'z' 000000 | CRC",
		},
		memory: []placed{{0, "'a'"}, {targetBytes - 1, "'z'"}},
	},
	{
		name: "Write up to the end of the region",
		wire: []string{
			"01 09 0022 | CID | 00000011 | 0000 00 00 | KEY | 0003fffc | 00000004 | 'ab' 0000 | CRC",
			"01 05 0022 | CID | 00000011 | 0000 00 00 | KEY | 0003fffe | 00000004 | 'cd' 0000 | CRC",
		},
		memory: []placed{{targetBytes - 4, "'abcd'"}},
	},
	{
		name: "control data in every segment of a Write, not placed",
		wire: []string{
			"01 09 0026 | CID | 00000011 | 0000 00 01 | KEY | 00000020 | 00000005 | 'CTRL' 'ab' 0000 | CRC",
			"01 05 0027 | CID | 00000011 | 0000 00 01 | KEY | 00000022 | 00000005 | 'MORE' 'cde' 00 | CRC",
		},
		memory: []placed{{0x20, "'abcde'"}},
	},
	{
		name:   "longest Write segment",
		wire:   []string{"01 0d ffff | CID | 00000011 | ffff 00 00 | KEY | 00000001 | 0000ffdf | 6b*65503 00 | CRC"},
		memory: []placed{{1, "6b*65503"}},
	},
	{
		name: "Write of 128 KiB",
		wire: []string{
			"01 09 fffc | CID | 00000011 | ffff 00 00 | KEY | 00000000 | 00020000 | 6c*65500 | CRC",
			"01 01 fffc | CID | 00000011 | ffff 00 00 | KEY | 0000ffdc | 00020000 | 6d*65500 | CRC",
			"01 05 0068 | CID | 00000011 | ffff 00 00 | KEY | 0001ffb8 | 00020000 | 6e*72 | CRC",
		},
		memory: []placed{{0, "6c*65500 6d*65500 6e*72"}},
	},
	{
		name:   "Write through a key for writing only",
		wire:   []string{"01 0d 0022 | CID | 00000011 | 0000 00 00 | WO | 00000007 | 00000002 | 'ok' 0000 | CRC"},
		memory: []placed{{7, "'ok'"}},
	},
	{
		name: "Write before Send", recvs: []int{4},
		wire: []string{
			"01 0d 0024 | CID | 00000011 | ffff 00 00 | KEY | 00000040 | 00000004 | 'seen' | CRC",
			"01 0c 0018 | CID | 00000012 | 0000 00 00 | 00000000 | CRC",
		},
		wcs: []wc{recv(0)}, memory: []placed{{0x40, "'seen'"}},
	},
	// §3.3.
	{
		name:   "Read of 8 bytes",
		wire:   []string{"01 0e 0020 | CID | 00000012 | 0000 00 00 | KEY | 00000020 | 00000008 | CRC"},
		answer: []string{"01 0f 0020 | CID | 00000012 | ffff 00 00 | 00000000 | a5*8 | CRC"},
	},
	{
		name: "Read of bytes written before it",
		wire: []string{
			"01 0d 0023 | CID | 00000012 | 0000 00 00 | KEY | 00000020 | 00000003 | 'new' 00 | CRC",
			"01 0e 0020 | CID | 00000013 | 0000 00 00 | KEY | 0000001f | 00000005 | CRC",
		},
		memory: []placed{{0x20, "'new'"}},
		answer: []string{"01 0f 001d | CID | 00000013 | ffff 00 00 | 00000000 | a5 'new' a5 000000 | CRC"},
	},
	{
		name:   "Read of nothing, from no buffer",
		wire:   []string{"01 0e 0020 | CID | 00000012 | 0000 00 00 | 00000000 | ffffffff | 00000000 | CRC"},
		answer: []string{"01 0f 0018 | CID | 00000012 | ffff 00 00 | 00000000 | CRC"},
	},
	{
		name:   "Read of the last byte, with control data, any order",
		wire:   []string{"01 0e 0028 | CID | 00000012 | 1234 00 02 | KEY | 0003ffff | 00000001 | 'CONTROL!' | CRC"},
		answer: []string{"01 0f 0019 | CID | 00000012 | ffff 00 00 | 00000000 | a5 000000 | CRC"},
	},
	{
		name:   "Read through a key for reading only",
		wire:   []string{"01 0e 0020 | CID | 00000012 | 0000 00 00 | RO | 00000000 | 00000002 | CRC"},
		answer: []string{"01 0f 001a | CID | 00000012 | ffff 00 00 | 00000000 | a5a5 0000 | CRC"},
	},
	{
		name: "Reads are answered in order",
		wire: []string{
			"01 0e 0020 | CID | ffffffff | 0000 00 00 | KEY | 00000000 | 00000001 | CRC",
			"01 0e 0020 | CID | 00000000 | ffff 00 00 | KEY | 00000000 | 00000000 | CRC",
			"01 0e 0020 | CID | 00000001 | ffff 00 00 | KEY | 00000000 | 00000003 | CRC",
		},
		answer: []string{
			"01 0f 0019 | CID | ffffffff | ffff 00 00 | 00000000 | a5 000000 | CRC",
			"01 0f 0018 | CID | 00000000 | ffff 00 00 | 00000000 | CRC",
			"01 0f 001b | CID | 00000001 | ffff 00 00 | 00000000 | a5a5a5 00 | CRC",
		},
	},
	{
		name: "Read answered after the peer's last byte", fin: true,
		wire:   []string{"01 0e 0020 | CID | 00000012 | 0000 00 00 | KEY | 00000000 | 00000004 | CRC"},
		answer: []string{"01 0f 001c | CID | 00000012 | ffff 00 00 | 00000000 | a5a5a5a5 | CRC"},
	},
	// §3.1, as the response to a Read of the device.
	{
		name: "answer in one segment", reads: []int{8},
		wire: []string{"01 0f 0020 | CID | R0 | ffff 00 00 | 00000000 | 8081828384858687 | CRC"},
		wcs:  []wc{read(8)}, memory: []placed{{readAt, "8081828384858687"}},
	},
	{
		name: "answer of nothing", reads: []int{0},
		wire: []string{"01 0f 0018 | CID | R0 | ffff 00 00 | 00000000 | CRC"},
		wcs:  []wc{read(0)},
	},
	{
		name: "answer in three segments, its order ignored", reads: []int{6},
		wire: []string{
			"01 0b 001b | CID | R0 | 0000 00 00 | 00000000 | 'abc' 00 | CRC",
			"01 03 001a | CID | R0 | 0001 00 00 | 00000003 | 'de' 0000 | CRC",
			"01 07 0019 | CID | R0 | fffe 00 00 | 00000005 | 'f' 000000 | CRC",
		},
		wcs: []wc{read(6)}, memory: []placed{{readAt, "'abcdef'"}},
	},
	{
		name: "answer with control data and reserved bits, not placed", reads: []int{3},
		wire: []string{
			"01 fb 001e | CID | R0 | ffff ff 01 | 00000000 | 'CTRL' 'ab' ffff | CRC",
			"01 57 001d | CID | R0 | ffff 01 01 | 00000002 | 'MORE' 'c' 010203 | CRC",
		},
		wcs: []wc{read(3)}, memory: []placed{{readAt, "'abc'"}},
	},
	{
		name: "two answers, the second long", reads: []int{1, 40_008},
		wire: []string{
			"01 0f 0019 | CID | R0 | ffff 00 00 | 00000000 | 'a' 000000 | CRC",
			"01 0b 7538 | CID | R1 | ffff 00 00 | 00000000 | 71*29984 | CRC",
			"01 07 2740 | CID | R1 | ffff 00 00 | 00007520 | 72*10024 | CRC",
		},
		wcs: []wc{read(1), read(40_008)}, memory: []placed{{readAt, "'a'"}, {readAt + readEach, "71*29984 72*10024"}},
	},
	// §4: segments of the two groups interleave, and both may use the same numbers.
	{
		name: "answer between the segments of a Write and a Send", reads: []int{4}, recvs: []int{8},
		wire: []string{
			"01 09 0022 | CID | 00000100 | 0000 00 00 | KEY | 00000000 | 00000004 | 'wr' 0000 | CRC",
			"01 0b 001a | CID | R0 | ffff 00 00 | 00000000 | 're' 0000 | CRC",
			"01 05 0022 | CID | 00000100 | 0000 00 00 | KEY | 00000002 | 00000004 | 'it' 0000 | CRC",
			"01 08 001a | CID | 00000101 | 0000 00 00 | 00000000 | 'se' 0000 | CRC",
			"01 07 001a | CID | R0 | ffff 00 00 | 00000002 | 'ad' 0000 | CRC",
			"01 04 001a | CID | 00000101 | 0000 00 00 | 00000002 | 'nd' 0000 | CRC",
		},
		wcs: []wc{read(4), recv(4)}, memory: []placed{{0, "'writ'"}, {readAt, "'read'"}, {recvAt, "'send'"}},
	},
	// §2: the end of a stream between messages.
	{
		name: "end between messages", recvs: []int{4}, fin: true,
		wire: []string{"01 0c 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC"},
		wcs:  []wc{recv(0)},
	},
}
