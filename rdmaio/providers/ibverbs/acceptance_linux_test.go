package ibverbs

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

// accept runs the acceptance suite over two devices with the given quirks.
func accept(t *testing.T, tr abi.Transport, q quirks.Quirks) {
	acceptDevices(t, fakelib.DeviceOptions{Transport: tr, Quirks: q})
}

// acceptDevices runs the acceptance suite over two devices.
func acceptDevices(t *testing.T, o fakelib.DeviceOptions) {
	tr, q := o.Transport, o.Quirks
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		cfg := Config{}
		if strings.Contains(t.Name(), "removal") {
			cfg.PeerTimeout = time.Second // nothing else says that the peer's device is gone
		}
		f := openFakeDevices(t, o, cfg, itself)
		if q.MaxUnflushed > 0 { // each end waits that long
			f.c.waits.flush, f.s.waits.flush = 10*time.Millisecond, 10*time.Millisecond
		}
		to := verbstest.Fabric{
			Client: f.c, Server: f.s, Addr: "127.0.0.2:0", Timeout: 20 * time.Second,
			Precise:      tr == abi.TransportIB && !q.NoRNR && !q.LateCause && q.MaxUnflushed == 0,
			UnknownCause: true, EndsAtDeregister: true,
			AnyLengthStatus: q.OddStatuses, LateReads: q.DeregLeavesReads,
			Remove: func(d verbs.Device) {
				h := f.client
				if d == verbs.Device(f.s) {
					h = f.server
				}
				h.Device(d.Attributes().Name).Remove()
			},
		}
		if strings.HasSuffix(t.Name(), "objects/counted") {
			to.Addr = "127.0.0.1:0" // the client listens in this case
		}
		return to
	})
}

func TestAcceptanceWithoutQuirks(t *testing.T) {
	accept(t, abi.TransportIB, quirks.Quirks{})
}

func TestAcceptanceWithoutQuirksOverIWARP(t *testing.T) {
	accept(t, abi.TransportIWARP, quirks.Quirks{})
}

// quirkPairs has each quirk of a device that can connect once, with one of another kind: neither
// hides the other from the suite.
var quirkPairs = [][2]string{
	{"UnorderedReads", "LocalInvalidateBreaks"},
	{"NoSolicitedEvent", "InvalidateOnce"},
	{"NoErrorEvent", "RemoteInvalidateBreaks"},
	{"LateCause", "UnreportedInvalidate"},
	{"CauseAfterEnd", "KernelWithInv"},
	{"CauseDelayed", "InvalidateInRKey"},
	{"CauseNever", "GuessableKeys"},
	{"NoRNR", "SinkNeedsRemoteWrite"},
	{"UnreadFirst", "DeregLeavesReads"},
	{"EmptySGE", "MaxUnflushed"},
	{"NoLocalInvalidate", "OddStatuses"},
	{"PeersDepths", "NoWindows"},
	{"StatusRejects", "WindowsAbsent"},
	{"PaddedPrivateData", "WindowsUnbounded"},
	{"NoEmptyReads", "KernelTCP"},
	{"RefusedPage", "NoWindows"},
	{"BrittleReply", "KernelTCP"},
}

// Each quirk has its pair.
func TestQuirkPairsHaveEachQuirk(t *testing.T) {
	var left []string
	for i := range reflect.TypeFor[quirks.Quirks]().NumField() {
		left = append(left, reflect.TypeFor[quirks.Quirks]().Field(i).Name)
	}
	for _, pair := range quirkPairs {
		left = slices.DeleteFunc(left, func(name string) bool { return name == pair[0] || name == pair[1] })
	}
	if want := []string{"NoConnections"}; !slices.Equal(left, want) {
		t.Errorf("quirks without a pair: %v, want %v: a device without connections has no suite", left, want)
	}
}

func setQuirk(f reflect.Value) {
	switch f.Kind() {
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Int:
		f.SetInt(64)
	}
}

func TestAcceptanceWithPairsOfQuirks(t *testing.T) {
	if testing.Short() {
		t.Skip("TestAcceptanceWithAllQuirks has them together")
	}
	for _, pair := range quirkPairs {
		var q quirks.Quirks
		for _, name := range pair {
			setQuirk(reflect.ValueOf(&q).Elem().FieldByName(name))
		}
		t.Run(pair[0]+" "+pair[1], func(t *testing.T) { accept(t, abi.TransportIB, q) })
	}
}

func TestAcceptanceWithAllQuirks(t *testing.T) {
	var q quirks.Quirks
	for i := range reflect.TypeFor[quirks.Quirks]().NumField() {
		setQuirk(reflect.ValueOf(&q).Elem().Field(i))
	}
	q.NoConnections = false
	if !testing.Short() {
		t.Run("without windows", func(t *testing.T) { accept(t, abi.TransportIWARP, q) })
	}
	q.NoWindows, q.WindowsAbsent, q.WindowsUnbounded, q.NoLocalInvalidate = false, false, false, false
	t.Run("with windows", func(t *testing.T) { accept(t, abi.TransportIB, q) })
}

// The quirks of each driver in the table, where no driver before it has the same.
func TestAcceptanceWithQuirksOfDrivers(t *testing.T) {
	done := make(map[quirks.Entry]bool)
	for _, e := range quirks.Entries() {
		same := quirks.Entry{Transport: e.Transport, Quirks: e.Quirks}
		if done[same] || e.Quirks.NoConnections || testing.Short() && e.Driver != "siw" && e.Driver != "rxe" {
			continue
		}
		done[same] = true
		t.Run(e.Driver, func(t *testing.T) { accept(t, e.Transport, e.Quirks) })
	}
}

// What a library or a device may do at any time, alone.
func TestAcceptanceWithEachManner(t *testing.T) {
	if testing.Short() {
		t.Skip("TestAcceptanceWithAllManners has them together")
	}
	kind := reflect.TypeFor[fakelib.Manners]()
	for i := range kind.NumField() {
		var m fakelib.Manners
		reflect.ValueOf(&m).Elem().Field(i).SetBool(true)
		t.Run(kind.Field(i).Name, func(t *testing.T) {
			acceptDevices(t, fakelib.DeviceOptions{Manners: m})
		})
	}
}

func TestAcceptanceWithAllManners(t *testing.T) {
	var m fakelib.Manners
	for v, i := reflect.ValueOf(&m).Elem(), 0; i < v.NumField(); i++ {
		v.Field(i).SetBool(true)
	}
	for _, tr := range []abi.Transport{abi.TransportIB, abi.TransportIWARP} {
		t.Run([]string{"InfiniBand", "iWARP"}[tr], func(t *testing.T) {
			acceptDevices(t, fakelib.DeviceOptions{Transport: tr, Manners: m, Quirks: quirks.Quirks{InvalidateOnce: true}})
		})
	}
}

// A device whose limits are as low as a provider can expect.
func TestAcceptanceWithLowLimits(t *testing.T) {
	attr := abi.DeviceAttr{
		Firmware: "fake", MaxMRSize: 16<<20 + 100, MaxQP: 64, MaxQPWR: 420, MaxSGE: 1, MaxReadSGE: 1, MaxCQ: 64, MaxCQE: 840,
		MaxMR: 64, MaxPD: 64, MaxResponder: 1, MaxInitiator: 1, MaxMW: 3, Ports: 1, Caps: abi.CapMemWindow | abi.CapMemWindow2B,
	}
	acceptDevices(t, fakelib.DeviceOptions{Attr: &attr, Quirks: quirks.Quirks{InvalidateOnce: true}})
}
