package nfs42

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets begin with the vectors. A COMPOUND has every operation.

func FuzzCompoundArgs(f *testing.F)   { xdrtest.Fuzz[CompoundArgs](f, xdrtest.Load(f)) }
func FuzzCompoundRes(f *testing.F)    { xdrtest.Fuzz[CompoundRes](f, xdrtest.Load(f)) }
func FuzzCBCompoundArgs(f *testing.F) { xdrtest.Fuzz[CBCompoundArgs](f, xdrtest.Load(f)) }
func FuzzCBCompoundRes(f *testing.F)  { xdrtest.Fuzz[CBCompoundRes](f, xdrtest.Load(f)) }
