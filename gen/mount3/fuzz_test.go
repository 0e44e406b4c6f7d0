package mount3

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

func FuzzMountRes(f *testing.F) { xdrtest.Fuzz[MountRes](f, xdrtest.Load(f)) }
func FuzzMounts(f *testing.F)   { xdrtest.Fuzz[Mounts](f, xdrtest.Load(f)) }
func FuzzExports(f *testing.F)  { xdrtest.Fuzz[Exports](f, xdrtest.Load(f)) }
