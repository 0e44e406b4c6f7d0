// Package xdrtest compares generated codecs with vectors worked out by hand from the documents.
// Only tests import it.
//
// # Vectors
//
// A vector is a text file in testdata/vectors of the package under test. Its bytes never come from
// an encoder of this module. Beside each line of bytes is the reasoning that leads to it, so that a
// reader can check it:
//
//	title: DONE
//	type:  Message
//	from:  draft-ietf-nfsv4-rpcrdma-08 §4.1, §4.3
//
//	# Remarks are on lines of their own.
//	1a 2b 3c 4d   # 0: rdma_xid = 0x1a2b3c4d: the XID of the call
//	00 00 00 01   # 4: rdma_vers = 1: this version (§4.1 item 2)
//
// After the sign a line has its offset, its field, the value of the field, and the reason. [Load]
// checks that the offsets add up, and that the bytes equal the value: a number (big-endian, as wide
// as the number of bytes) or a quoted string.
//
// # Checks
//
// [Run] takes the value of each vector of a type, written in Go by hand, and runs every check of
// this package on all of them. [RunBad] takes inputs that must be refused, and the precise errors.
// [Fuzz] is the body of a fuzz target. [Rpcgen] compares with a second oracle, C code of rpcgen, if
// rpcgen is installed. Each check returns an error instead of failing a test, so that a test of its
// own can prove that it refuses a faulty codec.
package xdrtest
