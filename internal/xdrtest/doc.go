// Package xdrtest holds generated codecs against vectors worked out by hand
// from the documents. Only tests import it.
//
// # Vectors
//
// A vector is a text file in testdata/vectors of the package under test. Its
// bytes never come from an encoder of this module; each stands beside the
// reasoning that leads to it, so that a reader can redo it:
//
//	title: DONE
//	type:  Message
//	from:  draft-ietf-nfsv4-rpcrdma-08 §4.1, §4.3
//
//	# Remarks stand on lines of their own.
//	1a 2b 3c 4d   # 0: rdma_xid = 0x1a2b3c4d: the XID of the call
//	00 00 00 01   # 4: rdma_vers = 1: this version (§4.1 item 2)
//
// A line of bytes says, after the sign, at which offset it stands, which field
// it is, what that field holds, and how it follows from the text. [Load]
// checks what can be checked of it: the offsets add up, and the value, a
// number (big-endian, as wide as the bytes are many) or a quoted string, is
// what the bytes say.
//
// # Checks
//
// [Run] takes the value that each vector of a type decodes to, written in Go
// by hand, and runs every check of this package over all of them. [RunBad]
// takes inputs that must be refused and the precise error. [Fuzz] is the body
// of a fuzz target. [Rpcgen] asks a second oracle: C code of rpcgen, where that
// is installed. Each check returns an error instead of failing a test, so that
// its own test can show that it refuses a faulty codec.
package xdrtest
