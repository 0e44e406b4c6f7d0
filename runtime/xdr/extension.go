package xdr

// CodeSpace is an open number space of a protocol: its numbers may be
// given to types by documents written later.
type CodeSpace string

// The code spaces of RPC-over-RDMA version 2 and its extensions.
const (
	HeaderTypes     CodeSpace = "header-type"    // rdma_htype
	HeaderFlags     CodeSpace = "flag"           // bits of rdma_flags
	Properties      CodeSpace = "property"       // transport properties
	ErrorCodes      CodeSpace = "error"          // rdma_err
	Operations      CodeSpace = "operation"      // optional operations
	Characteristics CodeSpace = "characteristic" // transport characteristics (xchar)
)

// CodePoint ties a number of a code space to the type it stands for, which
// XDR itself cannot say.
type CodePoint struct {
	Space CodeSpace
	Value uint32
	Name  string       // XDR name of the constant
	Type  string       // XDR name of the type; empty where nothing follows
	New   func() Value // a new zero value of that type; nil where nothing follows
	Flags uint32       // of a header type: the bits of rdma_flags that it may have
}

// Extension describes a generated package to the transport.
type Extension struct {
	Name   string // package name
	Source string // file names it was generated from
	Codes  []CodePoint
}

// Find returns the code point for a number, or nil.
func (x *Extension) Find(space CodeSpace, value uint32) *CodePoint {
	for i := range x.Codes {
		if c := &x.Codes[i]; c.Space == space && c.Value == value {
			return c
		}
	}
	return nil
}
