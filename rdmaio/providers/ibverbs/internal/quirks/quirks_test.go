package quirks

import (
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

func TestNamesOfDriversModulesAndDevicesAreFound(t *testing.T) {
	for name, driver := range map[string]string{
		"mlx5": "mlx5", "mlx5_core": "mlx5", "mlx5_0": "mlx5", "siw0": "siw", "rxe12": "rxe", "bnxt_re0": "bnxt_re",
		"cxgb4_0": "cxgb4", "iw_cxgb4": "cxgb4", "rxe_eth0": "rxe",
	} {
		found := false
		for _, e := range Entries() {
			if e.Driver == driver {
				found = true
				if got := For(name, e.Transport); got != e.Quirks {
					t.Errorf("For(%q) = %+v, want the quirks of %s", name, got, driver)
				}
			}
		}
		if !found || !Known(name) {
			t.Errorf("%s is not known as %s", name, driver)
		}
	}
	for _, name := range []string{"", "mlx", "siwx", "enp1s0", "roceP1"} {
		if Known(name) {
			t.Errorf("%q is known", name)
		}
	}
}

// TestUnknownDeviceGetsTheCautiousAnswers: whatever a device of the table does, apart from
// features that it has not, an unknown one is expected to do.
func TestUnknownDeviceGetsTheCautiousAnswers(t *testing.T) {
	for _, e := range Entries() {
		entry, safe := reflect.ValueOf(e.Quirks), reflect.ValueOf(For("unknown", e.Transport))
		for i := range entry.NumField() {
			switch name := entry.Type().Field(i).Name; name {
			case "KernelWithInv", "InvalidateInRKey", "OddStatuses", "WindowsAbsent", "NoConnections", "CauseAfterEnd", "KernelTCP", "RefusedPage", "BrittleReply":
				// A device without windows never has the first two. The provider asks no question
				// about the others, or finds the answer when it tries. The kernel knows
				// nothing about the connections of hardware, and one library refuses a page. Other
				// devices wait for the initiator themselves, as MPA requires.
			case "MaxUnflushed":
				if entry.Field(i).Int() > safe.Field(i).Int() {
					t.Errorf("%s %v: %s is larger than that of an unknown device", e.Driver, e.Transport, name)
				}
			default:
				if entry.Field(i).Bool() && !safe.Field(i).Bool() {
					t.Errorf("%s: %s is set, and not for an unknown device", e.Driver, name)
				}
			}
		}
	}
}

func TestEntriesAreConsistent(t *testing.T) {
	type key struct {
		driver string
		tr     abi.Transport
	}
	seen := map[key]bool{}
	for _, e := range Entries() {
		if k := (key{e.Driver, e.Transport}); seen[k] {
			t.Errorf("%v twice", k)
		} else {
			seen[k] = true
		}
		q := e.Quirks
		if e.Source == "" {
			t.Errorf("%s: no source", e.Driver)
		}
		if q.NoWindows && q.WindowsAbsent {
			t.Errorf("%s: both without windows and with windows that are absent", e.Driver)
		}
		if (q.CauseAfterEnd || q.CauseDelayed || q.CauseNever) && !q.LateCause {
			t.Errorf("%s: the cause is late, but LateCause is not set", e.Driver)
		}
		if ib := e.Transport == abi.TransportIB; q.PaddedPrivateData != ib || q.PeersDepths == ib || q.StatusRejects == ib {
			t.Errorf("%s: what the connection manager does belongs to the other transport", e.Driver)
		}
	}
}

func TestOddStatusesAreTranslated(t *testing.T) {
	odd := For("rxe0", abi.TransportIB)
	for _, c := range []struct {
		q    Quirks
		s    abi.Status
		recv bool
		want abi.Status
	}{
		{odd, abi.StatusGeneral, true, abi.StatusLocLen},
		{odd, abi.StatusGeneral, false, abi.StatusGeneral},
		{odd, abi.StatusRemOp, false, abi.StatusRemInvReq},
		{odd, abi.StatusRemOp, true, abi.StatusRemOp},
		{odd, abi.StatusSuccess, true, abi.StatusSuccess},
		{Quirks{}, abi.StatusGeneral, true, abi.StatusGeneral},
		{Quirks{}, abi.StatusRemOp, false, abi.StatusRemOp},
	} {
		if got := c.q.Status(c.s, c.recv); got != c.want {
			t.Errorf("Status(%d, %v) = %d, want %d", c.s, c.recv, got, c.want)
		}
	}
}
