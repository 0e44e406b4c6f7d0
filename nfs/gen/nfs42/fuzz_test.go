package nfs42

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets begin with the vectors. A COMPOUND has every operation.

//fuzz:floor 300 the unions have all operations
func FuzzCompoundArgs(f *testing.F) { xdrtest.Fuzz[CompoundArgs](f, xdrtest.Load(f)) }

//fuzz:floor 300 the unions have all operations
func FuzzCompoundRes(f *testing.F) { xdrtest.Fuzz[CompoundRes](f, xdrtest.Load(f)) }

//fuzz:floor 300 the unions have all operations
func FuzzCBCompoundArgs(f *testing.F) { xdrtest.Fuzz[CBCompoundArgs](f, xdrtest.Load(f)) }

//fuzz:floor 300 the unions have all operations
func FuzzCBCompoundRes(f *testing.F) { xdrtest.Fuzz[CBCompoundRes](f, xdrtest.Load(f)) }
