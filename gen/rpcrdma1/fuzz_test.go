package rpcrdma1

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// FuzzMessage proves R28, R29, R30, R31, R32 and R324 beyond the vectors.
func FuzzMessage(f *testing.F) { xdrtest.Fuzz[Message](f, xdrtest.Load(f)) }
