package xdr

// CodeSpace is an open number space of a protocol. Later documents may define types for its
// numbers.
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

// CodePoint connects a number of a code space with the type that it stands for. XDR has no way
// to express this.
type CodePoint struct {
	Space CodeSpace
	Value uint32
	Name  string       // XDR name of the constant
	Type  string       // XDR name of the type; empty if nothing follows
	New   func() Value // returns a new zero value of the type; nil if nothing follows
	Flags uint32       // of a header type: the bits of rdma_flags that may be set
}

// Extension describes a generated package to the transport.
type Extension struct {
	Name   string // package name
	Source string // file names it was generated from
	Codes  []CodePoint
}

// Find returns the code point of a number, or nil if x does not define it.
func (x *Extension) Find(space CodeSpace, value uint32) *CodePoint {
	for i := range x.Codes {
		if c := &x.Codes[i]; c.Space == space && c.Value == value {
			return c
		}
	}
	return nil
}
