package admission_test

import (
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// Few late connections are served at a time, in their order. 256 wait, and a further one displaces
// the oldest.
func TestLateConnectionsWait(t *testing.T) {
	var l admission.Late[int]
	var served, dropped []int
	for i := range 262 {
		serve, drop := l.Enter(i)
		if serve {
			served = append(served, i)
		}
		dropped = append(dropped, drop...)
	}
	if !slices.Equal(served, []int{0, 1, 2, 3}) || !slices.Equal(dropped, []int{4, 5}) {
		t.Errorf("served %v at once, dropped %v; want 0 to 3, and 4 and 5", served, dropped)
	}
	for want := 6; want < 10; want++ {
		if got, ok := l.Leave(); !ok || got != want {
			t.Errorf("next %d %t, want %d", got, ok, want)
		}
	}
	if serve, drop := l.Enter(300); serve || drop != nil {
		t.Errorf("served %t, dropped %v; want neither", serve, drop)
	}
	if all := l.RemoveAll(); len(all) != 253 || all[0] != 10 || all[252] != 300 {
		t.Errorf("%d waited, from %d", len(all), all[0])
	}
	for range 4 {
		if got, ok := l.Leave(); ok {
			t.Errorf("%d is next, want none", got)
		}
	}
	if serve, _ := l.Enter(301); !serve {
		t.Error("no place is free after all have left")
	}
}
