package xchar

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets prove R231, R232 and R324 beyond the vectors.

func FuzzInit(f *testing.F)               { xdrtest.Fuzz[Init](f, xdrtest.Load(f)) }
func FuzzReq(f *testing.F)                { xdrtest.Fuzz[Req](f, xdrtest.Load(f)) }
func FuzzResp(f *testing.F)               { xdrtest.Fuzz[Resp](f, xdrtest.Load(f)) }
func FuzzUpd(f *testing.F)                { xdrtest.Fuzz[Upd](f, xdrtest.Load(f)) }
func FuzzReceiveBufferSize(f *testing.F)  { xdrtest.Fuzz[ReceiveBufferSize](f, xdrtest.Load(f)) }
func FuzzRemoteInvalidation(f *testing.F) { xdrtest.Fuzz[RemoteInvalidation](f, xdrtest.Load(f)) }
func FuzzBackwardSupport(f *testing.F)    { xdrtest.Fuzz[BackwardSupportLevel](f, xdrtest.Load(f)) }
