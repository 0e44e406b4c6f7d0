package rdmatcp_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// Segments that a receiver must refuse. The error names the rule, the connection breaks, and
// nothing of the bad segment is placed, delivered or answered (R339, R340, R342, R343, R351).
func TestVectorsRefused(t *testing.T) { runVectors(t, refused) }

// manyReads reads the whole target so often that the sockets cannot buffer the responses. At most
// 16 may be outstanding.
func manyReads() (wire []string) {
	for i := range 40 {
		wire = append(wire, fmt.Sprintf("01 0e 0020 | CID | %08x | ffff 00 00 | KEY | 00000000 | 00040000 | CRC", i))
	}
	return wire
}

var refused = []vector{
	// §3.4 Version, Segment Length.
	{name: "version 0", recvs: []int{64}, refused: segment.BadVersion, says: "§3.4 Version", wire: []string{
		"00 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data' | CRC",
	}},
	{name: "version 2", recvs: []int{64}, refused: segment.BadVersion, wire: []string{
		"02 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data' | CRC",
	}},
	{name: "version 2 in the second segment", recvs: []int{64}, refused: segment.BadVersion, wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data' | CRC",
		"02 04 001c | CID | 00000010 | 0000 00 00 | 00000004 | 'data' | CRC",
	}, memory: []placed{{recvAt, "'data'"}}},
	{name: "length 0", recvs: []int{64}, refused: segment.LengthBelowHeader, says: "§3.4 Segment Length", wire: []string{
		"01 0c 0000 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
	}},
	{name: "Send shorter than its header", recvs: []int{64}, refused: segment.LengthBelowHeader, wire: []string{
		"01 0c 0017 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
	}},
	{name: "Write as long as a Send's header", refused: segment.LengthBelowHeader, wire: []string{
		"01 0d 0018 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000000 | CRC",
	}},
	{name: "Read_Request shorter than its header", refused: segment.LengthBelowHeader, wire: []string{
		"01 0e 001f | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | CRC",
	}},
	{name: "Read_Response shorter than its header", reads: []int{4}, refused: segment.LengthBelowHeader, wire: []string{
		"01 0f 0014 | CID | R0 | ffff 00 00 | 00000000 | CRC",
	}},
	// §3.4 CLEN.
	{name: "control data where there is no room", recvs: []int{64}, refused: segment.ControlTooLong, says: "§3.4 CLEN", wire: []string{
		"01 0c 0018 | CID | 00000010 | 0000 00 01 | 00000000 | CRC",
	}},
	{name: "control data a byte longer than the segment", recvs: []int{64}, refused: segment.ControlTooLong, wire: []string{
		"01 0c 001f | CID | 00000010 | 0000 00 02 | 00000000 | 'CONTROL' 00 | CRC",
	}},
	{name: "control data over the end of a Write", refused: segment.ControlTooLong, wire: []string{
		"01 0d 0024 | CID | 00000010 | 0000 00 ff | KEY | 00000000 | 00000004 | 'data' | CRC",
	}},
	// §3.3.
	{name: "Read_Request with payload", refused: segment.RequestWithPayload, says: "§3.3", wire: []string{
		"01 0e 0024 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | 'data' | CRC",
	}},
	{name: "Read_Request without B", refused: segment.RequestNotWhole, wire: []string{
		"01 06 0020 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | CRC",
	}},
	{name: "Read_Request without E", refused: segment.RequestNotWhole, wire: []string{
		"01 0a 0020 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | CRC",
	}},
	{name: "Read_Request without either", refused: segment.RequestNotWhole, wire: []string{
		"01 02 0020 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | CRC",
	}},
	// §3.4 Connection ID.
	{name: "another Connection ID", recvs: []int{8, 8}, refused: segment.WrongConnectionID, says: "§3.4 Connection ID", wire: []string{
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 0c 001c | 0123456789abcdee | 00000011 | 0000 00 00 | 00000000 | 'evil' | CRC",
	}, wcs: []wc{recv(4)}, memory: []placed{{recvAt, "'good'"}}},
	{name: "another Connection ID inside a message", recvs: []int{8}, refused: segment.WrongConnectionID, wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 04 001c | 8123456789abcdef | 00000010 | 0000 00 00 | 00000004 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "another Connection ID in an answer", reads: []int{4}, refused: segment.WrongConnectionID, wire: []string{
		"01 0f 001c | 0123456789abcdff | R0 | ffff 00 00 | 00000000 | 'evil' | CRC",
	}},
	// §3.4 B, E; §4.
	{name: "no B", recvs: []int{8}, refused: segment.MissingBegin, says: "§3.4 B, E", wire: []string{
		"01 04 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data' | CRC",
	}},
	{name: "no B after a whole message", recvs: []int{8, 8}, refused: segment.MissingBegin, wire: []string{
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 00 001c | CID | 00000010 | 0000 00 00 | 00000004 | 'more' | CRC",
	}, wcs: []wc{recv(4)}, memory: []placed{{recvAt, "'good'"}}},
	{name: "B twice", recvs: []int{8}, refused: segment.UnexpectedBegin, says: "§4", wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "next Send inside", recvs: []int{8, 8}, refused: segment.UnexpectedBegin, wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 0c 001c | CID | 00000011 | 0000 00 00 | 00000000 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "Read_Request inside a Write", refused: segment.UnexpectedBegin, wire: []string{
		"01 09 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | 'go' 0000 | CRC",
		"01 0e 0020 | CID | 00000011 | 0000 00 00 | KEY | 00000000 | 00000004 | CRC",
	}, memory: []placed{{0, "'go'"}}},
	{name: "type changes", recvs: []int{8}, refused: segment.TypeChanged, says: "§4", wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 05 0024 | CID | 00000010 | 0000 00 00 | KEY | 00000004 | 00000008 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	// §3.4 Message Number.
	{name: "number changes", recvs: []int{8}, refused: segment.NumberChanged, says: "§4", wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 04 001c | CID | 00000011 | 0000 00 00 | 00000004 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "number repeated", recvs: []int{8, 8}, refused: segment.NumberNotNext, says: "§3.4 Message Number", wire: []string{
		"01 0c 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'evil' | CRC",
	}, wcs: []wc{recv(0)}},
	{name: "number skipped", recvs: []int{8, 8}, refused: segment.NumberNotNext, wire: []string{
		"01 0c 0018 | CID | ffffffff | 0000 00 00 | 00000000 | CRC",
		"01 0c 001c | CID | 00000001 | 0000 00 00 | 00000000 | 'evil' | CRC",
	}, wcs: []wc{recv(0)}},
	{name: "number goes back", recvs: []int{8, 8}, refused: segment.NumberNotNext, wire: []string{
		"01 0c 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
		"01 0d 0024 | CID | 0000000f | 0000 00 00 | KEY | 00000000 | 00000004 | 'evil' | CRC",
	}, wcs: []wc{recv(0)}},
	{name: "number of a Read_Request skipped", recvs: []int{8}, refused: segment.NumberNotNext, wire: []string{
		"01 0c 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
		"01 0e 0020 | CID | 00000012 | 0000 00 00 | KEY | 00000000 | 00000004 | CRC",
	}, wcs: []wc{recv(0)}},
	// §3.4 Data Offset.
	{name: "first segment at offset 4", recvs: []int{8}, refused: segment.DataOffsetNotZero, says: "§3.4 Data Offset", wire: []string{
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000004 | 'evil' | CRC",
	}},
	{name: "gap", recvs: []int{64}, refused: segment.OffsetNotNext, says: "§3.4 Data Offset", wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 04 001c | CID | 00000010 | 0000 00 00 | 00000005 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "overlap", recvs: []int{64}, refused: segment.OffsetNotNext, wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 04 001c | CID | 00000010 | 0000 00 00 | 00000003 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "offset that counts control data", recvs: []int{64}, refused: segment.OffsetNotNext, wire: []string{
		"01 08 0020 | CID | 00000010 | 0000 00 01 | 00000000 | 'CTRL' 'good' | CRC",
		"01 04 001c | CID | 00000010 | 0000 00 00 | 00000008 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "offset that counts padding", recvs: []int{64}, refused: segment.OffsetNotNext, wire: []string{
		"01 08 001d | CID | 00000010 | 0000 00 00 | 00000000 | 'goods' 000000 | CRC",
		"01 04 001c | CID | 00000010 | 0000 00 00 | 00000008 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'goods'"}}},
	// §3.4 RDMA Buffer ID, RDMA Buffer Offset, RDMA Length.
	{name: "Write gap", refused: segment.OffsetNotNext, says: "RDMA Buffer Offset", wire: []string{
		"01 09 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'go' 0000 | CRC",
		"01 05 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000104 | 00000004 | 'ev' 0000 | CRC",
	}, memory: []placed{{0x100, "'go'"}}},
	{name: "Write offset repeated", refused: segment.OffsetNotNext, wire: []string{
		"01 09 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'go' 0000 | CRC",
		"01 05 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'ev' 0000 | CRC",
	}, memory: []placed{{0x100, "'go'"}}},
	{name: "buffer changes", refused: segment.BufferIDChanged, says: "§3.4 RDMA Buffer ID", wire: []string{
		"01 09 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'go' 0000 | CRC",
		"01 05 0022 | CID | 00000010 | 0000 00 00 | WO | 00000102 | 00000004 | 'ev' 0000 | CRC",
	}, memory: []placed{{0x100, "'go'"}}},
	{name: "RDMA Length changes", refused: segment.RDMALengthChanged, says: "§3.4 RDMA Length", wire: []string{
		"01 09 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'go' 0000 | CRC",
		"01 05 0023 | CID | 00000010 | 0000 00 00 | KEY | 00000102 | 00000005 | 'evl' 00 | CRC",
	}, memory: []placed{{0x100, "'go'"}}},
	{name: "more payload than RDMA Length", refused: segment.PayloadTooLong, says: "§3.4 RDMA Length", wire: []string{
		"01 0d 0025 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'evils' 000000 | CRC",
	}},
	{name: "more payload than RDMA Length, before E", refused: segment.PayloadTooLong, wire: []string{
		"01 09 0022 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'go' 0000 | CRC",
		"01 01 0023 | CID | 00000010 | 0000 00 00 | KEY | 00000102 | 00000004 | 'evl' 00 | CRC",
	}, memory: []placed{{0x100, "'go'"}}},
	{name: "less payload than RDMA Length", refused: segment.PayloadTooShort, wire: []string{
		"01 0d 0023 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'evl' 00 | CRC",
	}},
	{name: "less payload than RDMA Length, E empty", refused: segment.PayloadTooShort, wire: []string{
		"01 09 0023 | CID | 00000010 | 0000 00 00 | KEY | 00000100 | 00000004 | 'goo' 00 | CRC",
		"01 05 0020 | CID | 00000010 | 0000 00 00 | KEY | 00000103 | 00000004 | CRC",
	}, memory: []placed{{0x100, "'goo'"}}},
	{name: "Write over 2^32", refused: segment.OffsetWraps, wire: []string{
		"01 0d 0024 | CID | 00000010 | 0000 00 00 | KEY | fffffffe | 00000004 | 'evil' | CRC",
	}},
	{name: "Read over 2^32", refused: segment.OffsetWraps, wire: []string{
		"01 0e 0020 | CID | 00000010 | 0000 00 00 | KEY | 00000002 | ffffffff | CRC",
	}},
	// RFC 5042 §6: rights and bounds are checked for the whole range, before a byte is placed.
	{name: "Write over the end of the region", says: "range is not within the region (RFC 5042 §6", wire: []string{
		"01 09 0022 | CID | 00000010 | 0000 00 00 | KEY | 0003fffd | 00000004 | 'ev' 0000 | CRC",
	}},
	{name: "Write one byte after the region", says: "range is not within the region (RFC 5042 §6", wire: []string{
		"01 0d 0021 | CID | 00000010 | 0000 00 00 | KEY | 00040000 | 00000001 | 'e' 000000 | CRC",
	}},
	{name: "Write of 2^32-1 bytes", says: "range is not within the region (RFC 5042 §6", wire: []string{
		"01 09 0024 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | ffffffff | 'evil' | CRC",
	}},
	{name: "Read over the end of the region", says: "range is not within the region (RFC 5042 §6", wire: []string{
		"01 0e 0020 | CID | 00000010 | 0000 00 00 | KEY | 0003ffff | 00000002 | CRC",
	}},
	{name: "Write through a key for reading", says: "no remote-write right (RFC 5042 §6", wire: []string{
		"01 0d 0024 | CID | 00000010 | 0000 00 00 | RO | 00000000 | 00000004 | 'evil' | CRC",
	}},
	{name: "Read through a key for writing", says: "no remote-read right (RFC 5042 §6", wire: []string{
		"01 0e 0020 | CID | 00000010 | 0000 00 00 | WO | 00000000 | 00000004 | CRC",
	}},
	{name: "Write to buffer 0", says: "key names no region (RFC 5042 §6", wire: []string{
		"01 0d 0024 | CID | 00000010 | 0000 00 00 | 00000000 | 00000000 | 00000004 | 'evil' | CRC",
	}},
	{name: "Write to a region without a key", says: "key names no region (RFC 5042 §6", wire: []string{
		"01 0d 0024 | CID | 00000010 | 0000 00 00 | LO | 00000000 | 00000004 | 'evil' | CRC",
	}},
	// Receives.
	{name: "Send longer than its Receive", recvs: []int{3}, says: "has room for 3", wire: []string{
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'evil' | CRC",
	}},
	{name: "one Read more than agreed", says: "RFC 5042 §6.4.3.3", noisy: true, wire: manyReads()},
	{name: "Send without Receive", says: "Send found no Receive posted", wire: []string{
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'evil' | CRC",
	}},
	// Read_Responses.
	{name: "response without request", refused: segment.NoReadOutstanding, says: "§3.4 Message Number", wire: []string{
		"01 0f 001c | CID | 00000010 | ffff 00 00 | 00000000 | 'evil' | CRC",
	}},
	{name: "answer to the second Read first", reads: []int{4, 4}, refused: segment.WrongReadNumber, says: "§4", wire: []string{
		"01 0f 001c | CID | R1 | ffff 00 00 | 00000000 | 'evil' | CRC",
	}},
	{name: "answer twice", reads: []int{4}, refused: segment.NoReadOutstanding, wire: []string{
		"01 0f 001c | CID | R0 | ffff 00 00 | 00000000 | 'good' | CRC",
		"01 0f 001c | CID | R0 | ffff 00 00 | 00000000 | 'evil' | CRC",
	}, wcs: []wc{read(4)}, memory: []placed{{readAt, "'good'"}}},
	{name: "answer too long", reads: []int{4}, refused: segment.PayloadTooLong, wire: []string{
		"01 0f 001d | CID | R0 | ffff 00 00 | 00000000 | 'evils' 000000 | CRC",
	}},
	{name: "answer too short", reads: []int{4}, refused: segment.PayloadTooShort, wire: []string{
		"01 0f 001b | CID | R0 | ffff 00 00 | 00000000 | 'evl' 00 | CRC",
	}},
	{name: "answer at offset 1", reads: []int{4}, refused: segment.DataOffsetNotZero, wire: []string{
		"01 0f 001b | CID | R0 | ffff 00 00 | 00000001 | 'evl' 00 | CRC",
	}},
	{name: "answer with a gap", reads: []int{8}, refused: segment.OffsetNotNext, wire: []string{
		"01 0b 001c | CID | R0 | ffff 00 00 | 00000000 | 'good' | CRC",
		"01 07 001b | CID | R0 | ffff 00 00 | 00000005 | 'evl' 00 | CRC",
	}, memory: []placed{{readAt, "'good'"}}},
	{name: "next answer inside", reads: []int{8, 4}, refused: segment.UnexpectedBegin, wire: []string{
		"01 0b 001c | CID | R0 | ffff 00 00 | 00000000 | 'good' | CRC",
		"01 0f 001c | CID | R1 | ffff 00 00 | 00000000 | 'evil' | CRC",
	}, memory: []placed{{readAt, "'good'"}}},
	{name: "answer without B", reads: []int{4}, refused: segment.MissingBegin, wire: []string{
		"01 07 001c | CID | R0 | ffff 00 00 | 00000000 | 'evil' | CRC",
	}},
	// §5: the positions at which the stream may end.
	{name: "end inside a header", fin: true, recvs: []int{8}, refused: io.ErrUnexpectedEOF, wire: []string{
		"01 0c 001c | CID | 00000010 | 0000 00",
	}},
	{name: "end before the CRC", fin: true, recvs: []int{8}, refused: io.ErrUnexpectedEOF, wire: []string{
		"01 0c 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data'",
	}},
	{name: "end inside a message", fin: true, recvs: []int{8}, refused: io.ErrUnexpectedEOF, wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'data' | CRC",
	}, memory: []placed{{recvAt, "'data'"}}},
	{name: "end before an answer", fin: true, reads: []int{4}, refused: io.ErrUnexpectedEOF},
	// Of two faults, the one that is checked first is reported.
	{name: "version and length", refused: segment.BadVersion, wire: []string{
		"02 0c 0000 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
	}},
	{name: "Connection ID and control data", recvs: []int{8}, refused: segment.WrongConnectionID, wire: []string{
		"01 0c 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
		"01 0c 0018 | 0000000000000000 | 00000011 | 0000 00 09 | 00000000 | CRC",
	}, wcs: []wc{recv(0)}},
	{name: "number and type", recvs: []int{8}, refused: segment.NumberChanged, wire: []string{
		"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
		"01 05 0024 | CID | 00000011 | 0000 00 00 | KEY | 00000004 | 00000008 | 'evil' | CRC",
	}, memory: []placed{{recvAt, "'good'"}}},
	{name: "number and control data that does not come", recvs: []int{8}, refused: segment.NumberNotNext, wire: []string{
		"01 0c 0018 | CID | 00000010 | 0000 00 00 | 00000000 | CRC",
		"01 0c 0118 | CID | 00000013 | 0000 00 40 | 00000000",
	}, wcs: []wc{recv(0)}},
	{name: "right and CRC", says: "no remote-write right (RFC 5042 §6", wire: []string{
		"01 0d 0024 | CID | 00000010 | 0000 00 00 | RO | 00000000 | 00000004 | 'evil' | 00000000",
	}},
	{name: "right and payload that does not come", says: "range is not within the region (RFC 5042 §6", wire: []string{
		"01 09 fffc | CID | 00000010 | 0000 00 00 | KEY | 0003ffff | 0000ffff",
	}},
	{name: "payload too long and no such buffer", refused: segment.PayloadTooLong, wire: []string{
		"01 0d 0025 | CID | 00000010 | 0000 00 00 | 00000000 | 00000100 | 00000004 | 'evils' 000000 | CRC",
	}},
}
