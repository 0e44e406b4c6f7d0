//go:build !linux

package liveness_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
)

// apart skips the test.
func apart(t *testing.T) (carriers.Place, func()) {
	t.Skip("needs two networks in a process, which Linux has")
	return carriers.Place{}, nil
}
