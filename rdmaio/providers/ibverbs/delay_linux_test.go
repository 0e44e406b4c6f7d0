package ibverbs

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Over iWARP Dial returns no sooner than siw can take the first message.
func TestDialWaitsBeforeTheFirstMessageOverIWARP(t *testing.T) {
	f := openFake(t, abi.TransportIWARP, noQuirks, Config{})
	c, s := newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
	start := time.Now()
	connectSides(c, s)
	if took := time.Since(start); took < firstDelay {
		t.Errorf("connected after %v, before %v have passed", took, firstDelay)
	}
}
