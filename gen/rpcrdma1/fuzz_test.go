package rpcrdma1

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// FuzzMessage proves R28 to R32 and R324 beyond the vectors.
func FuzzMessage(f *testing.F) { xdrtest.Fuzz[Message](f, xdrtest.Load(f)) }
