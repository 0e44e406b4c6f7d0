package goexpr

// The packages that generated code imports: the one that its users see, and the one that only
// generated code calls.
const (
	XDR   = "github.com/rpcrdma/rpcrdma/runtime/xdr"
	Codec = XDR + "/codec"
	JSON  = XDR + "/xdrjson"
	Text  = XDR + "/text"
)
