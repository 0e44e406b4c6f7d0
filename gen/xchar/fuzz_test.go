package xchar

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets prove R231, R232 and R324 beyond the vectors.

func FuzzInit(f *testing.F)     { xdrtest.Fuzz[Init](f, xdrtest.Load(f)) }
func FuzzReq(f *testing.F)      { xdrtest.Fuzz[Req](f, xdrtest.Load(f)) }
func FuzzResp(f *testing.F)     { xdrtest.Fuzz[Resp](f, xdrtest.Load(f)) }
func FuzzUpd(f *testing.F)      { xdrtest.Fuzz[Upd](f, xdrtest.Load(f)) }
func FuzzRbsiz(f *testing.F)    { xdrtest.Fuzz[Rbsiz](f, xdrtest.Load(f)) }
func FuzzRqRemInv(f *testing.F) { xdrtest.Fuzz[RqRemInv](f, xdrtest.Load(f)) }
func FuzzBrs(f *testing.F)      { xdrtest.Fuzz[Brs](f, xdrtest.Load(f)) }
