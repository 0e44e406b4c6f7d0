package gocodec

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"

// function is the encoder, decoder or check-only reader that is being written.
type function struct {
	goexpr.Function
	usesErr bool // it needs a variable err

	fails []failure // of an encoder that makes room itself

	usesFault bool // it needs a variable fault
	hasFault  bool // the first use of fault declares it
}
