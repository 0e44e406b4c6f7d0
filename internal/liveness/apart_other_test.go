//go:build !linux

package liveness_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
)

// apart is a Column's Apart, which skips the test.
func apart(func(carriers.Limits) carriers.Carrier) func(*testing.T, carriers.Limits) (carriers.Carrier, carriers.Place, func()) {
	return func(t *testing.T, _ carriers.Limits) (carriers.Carrier, carriers.Place, func()) {
		t.Skip("needs two networks in a process, which Linux has")
		return carriers.Carrier{}, carriers.Place{}, nil
	}
}
