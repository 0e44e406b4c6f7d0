package version2

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/v2test"
)

// A server takes as much as it says, and refuses one more as it says (R37, R167, R170, R202, R205,
// R217, T1).
func TestAdvertisedValuesAreTaken(t *testing.T) { v2test.TakesAdvertised(t, v2test.Each) }

// A message more than the server's credits, or a word longer than its Receives, costs the
// connection (R170, R172, R215; T1).
func TestMoreThanAdvertisedIsRefused(t *testing.T) { v2test.RefusesMore(t, v2test.Each) }

// A client takes as many messages as it grants, as long as it says, and refuses one more (R167,
// R170, R215, R218).
func TestAdvertisedValuesOfClientsAreTaken(t *testing.T) {
	v2test.TakesAdvertisedBack(t, v2test.Each)
}
