package xchar

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestConfigRefused proves that a Config without a usable value is refused, with the field's name.
func TestConfigRefused(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		text string
	}{
		{Config{HeaderType: 1}, "xchar: Config.HeaderType is 1, which belongs to version 2: use a number above 13, or 0 for 4294967040"},
		{Config{HeaderType: 13}, "xchar: Config.HeaderType is 13, which belongs to version 2: use a number above 13, or 0 for 4294967040"},
		{Config{Local: Characteristics{Backward: 4}}, "xchar: backward support is 4, expected 0 to 3 (section 3.3), in Config.Local"},
		{Config{Fixed: []wire.ID{1, 4}}, "xchar: Config.Fixed[1] is 4, expected the id of a characteristic, 1 to 3"},
	} {
		_, err := New(&c.cfg)
		if err == nil || err.Error() != c.text {
			t.Errorf("%v, want %s", err, c.text)
		}
		if _, again := c.cfg.Extension(); again == nil || again.Error() != c.text {
			t.Errorf("Extension: %v, want %s", again, c.text)
		}
	}
}

// TestExtensionHasTheConfiguredNumber proves R242 and R257 for the numbers: the header type has the
// configured number, by default one of those for experiments, and no number of the extension is one
// of version 2 (A12).
func TestExtensionHasTheConfiguredNumber(t *testing.T) {
	base := rpcrdma2.Extension()
	for cfg, want := range map[*Config]uint32{nil: 4294967040, {}: 4294967040, {HeaderType: 14}: 14, {HeaderType: 4294967295}: 4294967295} {
		ext, err := cfg.Extension()
		if err != nil {
			t.Fatal(err)
		}
		code := ext.Find(xdr.HeaderTypes, want)
		if code == nil {
			t.Fatalf("no header type %d in %+v", want, ext.Codes)
		}
		if _, ok := code.New().(*xcharcarrier.Optional); !ok {
			t.Errorf("header type %d carries %T", want, code.New())
		}
		types := 0
		for _, c := range ext.Codes {
			if c.Space == xdr.HeaderTypes {
				types++
			}
			if base.Find(c.Space, c.Value) != nil {
				t.Errorf("%s is %s %d, which version 2 has", c.Name, c.Space, c.Value)
			}
		}
		same(t, "header types", types, 1)
		for n := uint32(1); n <= 4; n++ {
			if ext.Find(xdr.Operations, n) == nil {
				t.Errorf("no operation %d", n)
			}
		}
	}
}

// TestStringsAreFixed pins the texts of values, states and results, which are in errors and logs.
func TestStringsAreFixed(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ReceiveSize(1).String(), "receive size 1"},
		{RemoteInvalidation(true).String(), "remote invalidation true"},
		{Backward(wire.BackwardNone).String(), "backward support BKRQSUP_NONE"},
		{Value{ID: 77}.String(), "characteristic 77"},
		{StateSettled.String() + " " + StateFixed.String() + " " + StateRequested.String() + " " + StatePending.String(), "settled fixed requested pending"},
		{Done.String() + " " + Rejected.String() + " " + Pending.String() + " " + Result(0).String(), "done rejected pending no result"},
	} {
		same(t, "text", c.got, c.want)
	}
}
