package carriers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/carriers"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A Call whose error comes after its address was lost and came up again does not take it down.
func TestALateErrorLeavesTheAddressUp(t *testing.T) {
	bubble(t, 1, &carriers.ClientConfig{MinBackoff: time.Second}, func(t *testing.T, c *carriers.Client, list []*host) {
		release := make(chan struct{})
		list[0].answer = func(_ context.Context, call *oncrpc.Call) error {
			<-release
			return failed(call, true, errReset)
		}
		late := make(chan error, 1)
		go func() { late <- do(t.Context(), t, c) }()
		synctest.Wait()
		list[0].set(func() { list[0].answer = fails(true, errReset) })
		if do(t.Context(), t, c) == nil {
			t.Error("the lost Call has no error")
		}
		list[0].set(func() { list[0].answer = nil })
		time.Sleep(5 * time.Second) // the probe finds it up
		if got := c.Stats().Addresses[0]; !got.Up || got.Losses != 1 {
			t.Fatalf("after the probe: %+v", got)
		}
		close(release)
		if <-late == nil {
			t.Error("the late Call has no error")
		}
		if got := c.Stats().Addresses[0]; !got.Up || got.Losses != 1 {
			t.Errorf("after the late error: %+v", got)
		}
	})
}
