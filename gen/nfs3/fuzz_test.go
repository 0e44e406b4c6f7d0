package nfs3

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets begin with the vectors. They have each shape of the protocol: data, a list, unions by
// a boolean, by an enumeration, and within each other.

func FuzzSetAttrArgs(f *testing.F)    { xdrtest.Fuzz[SetAttrArgs](f, xdrtest.Load(f)) }
func FuzzWriteArgs(f *testing.F)      { xdrtest.Fuzz[WriteArgs](f, xdrtest.Load(f)) }
func FuzzReadRes(f *testing.F)        { xdrtest.Fuzz[ReadRes](f, xdrtest.Load(f)) }
func FuzzCreateArgs(f *testing.F)     { xdrtest.Fuzz[CreateArgs](f, xdrtest.Load(f)) }
func FuzzReadDirRes(f *testing.F)     { xdrtest.Fuzz[ReadDirRes](f, xdrtest.Load(f)) }
func FuzzReadDirPlusRes(f *testing.F) { xdrtest.Fuzz[ReadDirPlusRes](f, xdrtest.Load(f)) }
