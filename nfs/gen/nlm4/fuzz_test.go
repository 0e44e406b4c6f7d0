package nlm4

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

func FuzzLockArgs(f *testing.F)  { xdrtest.Fuzz[LockArgs](f, xdrtest.Load(f)) }
func FuzzTestRes(f *testing.F)   { xdrtest.Fuzz[TestRes](f, xdrtest.Load(f)) }
func FuzzShareArgs(f *testing.F) { xdrtest.Fuzz[ShareArgs](f, xdrtest.Load(f)) }
