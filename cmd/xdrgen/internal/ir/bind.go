package ir

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"

// Bind is the sidecar of a unit. It states what XDR cannot express. The zero value stands for a
// unit without a sidecar.
type Bind struct {
	File     string       // for messages
	Package  string       // "package": Go import path of the generated package
	Prefixes []Prefix     // "prefix": removed from names, longest first
	Renames  []Rename     // "rename": the Go name of an XDR name, used as it is
	Imports  []string     // "import": includes that the document does not have: "rpcrdma2/common.x"
	Codes    []CodePoint  // "code": the type that a code point selects
	DDP      []DDPBinding // "ddp": items that may be reduced
}

// Prefix is a prefix of XDR names that Go names do not have.
type Prefix struct {
	Pos  source.Span
	Text string
}

// Rename is the Go name of an XDR name, or of a field "struct.field".
type Rename struct {
	Pos    source.Span
	XDR    string
	GoName string
}

// CodePoint is a number of an open code space with the type of its data.
type CodePoint struct {
	Pos   source.Span
	Space string // "header-type", "flag", "property", "characteristic", "error", "operation"
	Const string // XDR name of the constant that holds the number
	Value uint32 // resolved by sema
	Type  string // XDR name; empty for void
	Decl  *Decl  // resolved by sema; nil for void

	Flags []string // for a header type: XDR names of the flags that it may have
	Mask  uint32   // the bits of Flags, resolved by sema
}

// DDPBinding is a data item that an upper-layer binding makes eligible for direct data
// placement (RFC 8166 §6.1).
type DDPBinding struct {
	Pos     source.Span
	Program string
	Version string
	Proc    string
	Reply   bool     // the item is in the result, not in the arguments
	Path    []string // field names from the argument or result to the item
	// Resolved by sema:
	Prog, Vers, Number uint32
	Owner              *Decl  // struct or union that has the item
	Field              *Field // the item: an opaque or array, possibly by typedefs
}
