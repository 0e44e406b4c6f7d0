package codec

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The budget of a message is 4096 bytes of memory, plus 64 for each byte of the message. Items
// out of line are part of the message. Items that the transport has put into the input do not
// count twice.
func TestBudgetOfItems(t *testing.T) {
	input, items := make([]byte, 16), []xdr.Item{{Site: "a", Data: make([]byte, 1000)}, {Site: "a", Position: 2000, Data: make([]byte, 24)}}
	for name, tt := range map[string]struct {
		place func(*xdr.Decoder)
		bytes int
	}{
		"none":       {func(*xdr.Decoder) {}, 16},
		"in order":   {func(d *xdr.Decoder) { d.ReinsertInOrder([]xdr.Site{"a"}, items) }, 16 + 1024},
		"at places":  {func(d *xdr.Decoder) { d.ReinsertAt(0, items) }, 16 + 1024},
		"in place":   {func(d *xdr.Decoder) { d.ExpectAt(0, items) }, 16},
		"set again":  {func(d *xdr.Decoder) { d.ReinsertAt(0, items); d.ReinsertAt(0, items[1:]) }, 16 + 24},
		"and a rest": {func(d *xdr.Decoder) { d.ReinsertAt(0, items); d.Reset(input) }, 16},
	} {
		budget := 64*tt.bytes + 4096
		for _, n := range []int{budget, budget + 1} {
			d := xdr.NewDecoder(input, nil)
			tt.place(d)
			var s []byte
			err := Resize(d, &s, n, 1, 0)
			if n == budget && err != nil || n > budget && !errors.Is(err, xdr.ErrMemory) {
				t.Errorf("%s: %d bytes of a budget of %d: %v", name, n, budget, err)
			}
		}
	}
}
