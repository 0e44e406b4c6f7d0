package rdmaconfig

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets prove R294 beyond the vectors.

func FuzzReq(f *testing.F)   { xdrtest.Fuzz[Req](f, xdrtest.Load(f)) }
func FuzzReply(f *testing.F) { xdrtest.Fuzz[Reply](f, xdrtest.Load(f)) }
