package ir

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"

// Bind is a unit's sidecar: what its XDR cannot say. The zero value is valid
// and means a unit without one.
type Bind struct {
	File     string       // for messages
	Package  string       // "package": Go import path of the generated package
	Prefixes []Prefix     // "prefix": dropped from names, longest first
	Renames  []Rename     // "rename": XDR name to Go name, final
	Imports  []string     // "import": includes the document leaves unsaid, "rpcrdma2/common.x"
	Codes    []CodePoint  // "code": which type a code point carries
	DDP      []DDPBinding // "ddp": what may be reduced
}

// Prefix is dropped from the XDR names that begin with it.
type Prefix struct {
	Pos  source.Span
	Text string
}

// Rename gives an XDR name, or a field "struct.field", its Go name outright.
type Rename struct {
	Pos    source.Span
	XDR    string
	GoName string
}

// CodePoint ties a number of an open code space to the type that it carries.
type CodePoint struct {
	Pos   source.Span
	Space string // "header-type", "flag", "property", "characteristic", "error", "operation"
	Const string // XDR name of the constant that holds the number
	Value uint32 // resolved by sema
	Type  string // XDR name; empty for void
	Decl  *Decl  // resolved by sema; nil for void

	Flags []string // of a header type: XDR names of the flags that it may have
	Mask  uint32   // resolved by sema: their bits
}

// DDPBinding names one item that an upper-layer binding lets travel by direct
// data placement (RFC 8166 §6.1).
type DDPBinding struct {
	Pos     source.Span
	Program string
	Version string
	Proc    string
	Reply   bool     // result, not argument
	Path    []string // field names from the argument or result to the item
	// Resolved by sema:
	Prog, Vers, Number uint32
	Owner              *Decl  // struct, or union, that holds the item
	Field              *Field // the item: opaque or array underneath
}
