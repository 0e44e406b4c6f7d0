package verbs

import (
	"net"
	"sync"
	"testing"
)

// Each call over a bare echo ends, in the order of the writes, and all fail when the connection is
// closed.
func TestBareEchoAnswersEachCall(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go ServeTCP(ln)
	for _, depth := range []int{1, 32} {
		c, err := DialEcho(ln.Addr().String(), Shape{128, depth})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for slot := range depth {
			wg.Go(func() {
				for range 50 {
					if err := c.Call(slot); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Call(0); err == nil {
			t.Error("a call over a closed connection passes")
		}
	}
}
