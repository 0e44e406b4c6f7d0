package v2_test

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// The longest value fits a message with the other properties, and one word more does not.
func TestHostAuthRoom(t *testing.T) {
	v := v2.New(v2.Config{Own: v2.DefaultProperties()})
	for _, set := range [][]header.Property{nil, v.Properties(), append(v.Properties(), header.Property{ID: 99, Data: make([]byte, 5)})} {
		for _, send := range []int{4096, 4097, 8192} {
			room := v2.HostAuthRoom(send, set)
			for n, fits := range map[int]bool{room - 3: true, room: true, room + 4: false} {
				m := header.Message{XID: 1, Vers: 2, Kind: header.KindProps, Props: append(set[:len(set):len(set)], v2.HostAuth(make([]byte, n)))}
				if _, err := v.Append(make([]byte, 0, send), &m); (err == nil) != fits {
					t.Errorf("a value of %d bytes in %d bytes with %d properties: %v", n, send, len(set), err)
				}
			}
		}
	}
}

// R219: both ends make the same of a set, in whatever order it comes, and of properties that they
// do not know.
func TestSplitHostAuth(t *testing.T) {
	set := []header.Property{
		{ID: 9, Data: []byte{1}},
		{ID: 2, Data: []byte{0, 0, 16, 0}},
		{ID: 6, Data: []byte{0, 0, 0, 3, 7, 8, 9, 0}},
		{ID: 4},
	}
	const want = "00000002" + "00000004" + "00001000" + "00000004" + "00000000" + "00000009" + "00000001" + "01000000"
	for range 10 {
		rand.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		value, found, rest := v2.SplitHostAuth(set)
		if got := hex.EncodeToString(rest); !found || string(value) != "\x07\x08\x09" || got != want {
			t.Errorf("%x, %v, %s, want %s", value, found, got, want)
		}
	}
	if _, found, rest := v2.SplitHostAuth(nil); found || rest != nil {
		t.Errorf("nothing: %v, %x", found, rest)
	}
	if value, found, _ := v2.SplitHostAuth([]header.Property{v2.HostAuth(nil)}); !found || len(value) != 0 {
		t.Errorf("a value of no bytes: %v, %x", found, value)
	}
}
