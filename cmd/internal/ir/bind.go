package ir

import "github.com/rpcrdma/rpcrdma/cmd/internal/source"

// Bind is the sidecar of a unit. It states what XDR cannot express. The zero value stands for a
// unit without a sidecar.
type Bind struct {
	File        string       // for messages
	Package     string       // "package": Go import path of the generated package
	Prefixes    []Prefix     // "prefix": removed from names, longest first
	Renames     []Rename     // "rename": the Go name of an XDR name, used as it is
	Imports     []string     // "import": more includes, such as "rpcrdma2/common.x"
	Codes       []CodePoint  // "code": the type that a code point selects
	Messages    []Message    // "message": the structs that messages begin with
	Numbers     []Number     // "number" and "message": the fields that have numbers of code points
	DDP         []DDPBinding // "ddp": items that may be reduced
	Views       bool         // "views": check-only readers, views and scans
	With        []string     // "with": words for Methods.Apply, all known
	Async       bool         // "async": RPC, and methods of the clients that do not wait
	RPC         bool         // "rpc": clients and servers of the programs, besides the types
	Once        []ProcName   // "once": procedures that must not be executed twice for one call
	NonBlocking []ProcName   // "nonblocking": they never wait at the server
	Replies     []ReplyBound // "reply": procedures whose arguments bound the size of the reply
	Amends      []Amend      // "amend", "replace": changes in declarations of included units
	Attributes  []Attributes // "attributes": structs that hold numbered values
}

// Amend says that a unit adds to a declaration of a unit that it includes, or replaces it.
type Amend struct {
	Pos     source.Span
	Name    string // XDR name of the declaration
	At      source.Span
	Replace bool
	Consts  []AmendConst // constants of the unit that become members of the enum
}

// AmendConst is the name of a constant in a line "amend".
type AmendConst struct {
	Name string
	Pos  source.Span
}

// ProcName names a procedure.
type ProcName struct {
	Pos     source.Span
	Program string
	Version string
	Proc    string

	Prog, Vers, Number uint32 // resolved by sema
}

// ReplyBound says that a number among the arguments bounds what the results have of unbounded
// data and lists, in bytes.
type ReplyBound struct {
	ProcName
	Path []string // field names from the argument to the number
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

// The code spaces whose numbers have a meaning of their own.
const (
	SpaceHeaderType = "header-type" // selects the body of a message
	SpaceFlag       = "flag"        // each number has one bit
	SpaceError      = "error"       // data of an error follow the body of its message
)

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

	Payload bool // "payload", for a header type: a payload follows the body
}

// Message is a kind of message: it begins with a struct, the prefix, one of whose fields has the
// number of the header type. The body follows the prefix.
type Message struct {
	Pos    source.Span
	Struct string   // XDR name of the prefix
	Path   []string // field names from the prefix to the number
	Decl   *Decl    // the prefix, resolved by sema
}

// Number is a field whose value is the number of a code point, or flags.
type Number struct {
	Pos     source.Span
	Struct  string // XDR name of the struct or union
	Field   string
	Space   string // of the code points
	Data    string // opaque field of the struct with data of the code point's type; empty if none
	Default bool   // empty data stand for the default value
	Decl    *Decl  // the struct or union, resolved by sema
}

// DDPBinding is a data item that an upper-layer binding makes eligible for direct data
// placement (RFC 8166 §6.1).
type DDPBinding struct {
	ProcName
	Reply bool     // the item is in the result, not in the arguments
	Path  []string // field names from the argument or result to the item
	// Resolved by sema:
	Owner *Decl  // struct or union that has the item
	Field *Field // the item: an opaque or array, possibly by typedefs
}
