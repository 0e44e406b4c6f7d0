package mem_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// R288, T131: a Call whose connection is lost for the client alone is executed once, however much
// later the server learns of the loss, although the client calls again at once.
func TestLostCallIsExecutedOnce(t *testing.T) {
	for _, late := range []time.Duration{
		100 * time.Millisecond, 500 * time.Millisecond, 900 * time.Millisecond, 1100 * time.Millisecond, 5 * time.Second, 29 * time.Second,
		31 * time.Second, time.Minute, 89 * time.Second, 91 * time.Second, 2 * time.Minute, 10 * time.Minute,
	} {
		for _, kind := range []mem.Kind{mem.LoseAfter, mem.Lose} {
			for _, reply := range []bool{false, true} {
				t.Run(fmt.Sprint(kind, late, reply), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						a := new(account)
						n, c, end := open(t, replycache.New(a.handler(), nil), at(reply, 1, mem.Fault{Kind: kind, Delay: late}))
						add(t, c, 2)
						start := time.Now()
						if sum := add(t, c, 3); sum != 5 || a.adds != 2 {
							t.Errorf("%d additions make %d, want 2, 5", a.adds, sum)
						}
						if took := time.Since(start); took > 31*time.Second {
							t.Errorf("the Call took %v; the lost connection should be closed after Config.PeerTimeout", took)
						}
						if n.Fired(kind) != 1 {
							t.Error("no fault")
						}
						end()
					})
				})
			}
		}
	}
}
