package xcharcarrier

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The target proves R242 and R324 beyond the vectors.

func FuzzOptional(f *testing.F) { xdrtest.Fuzz[Optional](f, xdrtest.Load(f)) }
