package liveness_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
	"github.com/rpcrdma/rpcrdma/internal/isolated"
)

// apart is a Column's Apart, over a link between two networks.
func apart(carrier func(carriers.Limits) carriers.Carrier) func(*testing.T, carriers.Limits) (carriers.Carrier, carriers.Place, func()) {
	return func(t *testing.T, l carriers.Limits) (carriers.Carrier, carriers.Place, func()) {
		link := isolated.NewLink(t)
		return carrier(l), carriers.Place{Addr: isolated.FarAddr + ":20049", Near: link.Near.Do, Far: link.Far.Do}, link.Cut
	}
}
