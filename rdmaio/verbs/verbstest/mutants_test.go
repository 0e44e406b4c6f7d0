package verbstest_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// mutants are providers with one fault each, with the case that must detect it.
var mutants = map[string]struct {
	caught string
	faults faults
}{
	"sends reordered":              {"messages/order", faults{batch: reverse}},
	"write late":                   {"memory/write then send", faults{batch: writesLast}},
	"fence ignored":                {"memory/read then fenced send", faults{batch: late(verbs.RDMARead)}},
	"completion lost":              {"messages/order", faults{wc: every(7, func(verbs.WC) []verbs.WC { return nil })}},
	"completion doubled":           {"messages/order", faults{wc: every(7, func(wc verbs.WC) []verbs.WC { return []verbs.WC{wc, wc} })}},
	"completions swapped":          {"queues/completion order", faults{poll: swap}},
	"flush lost":                   {"disconnect/flush", faults{wc: status(verbs.StatusFlushed, func(verbs.WC) []verbs.WC { return nil })}},
	"flush doubled":                {"disconnect/flush", faults{wc: status(verbs.StatusFlushed, func(wc verbs.WC) []verbs.WC { return []verbs.WC{wc, wc} })}},
	"flush as success":             {"disconnect/flush", faults{wc: status(verbs.StatusFlushed, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"truncation as success":        {"messages/receive too small", faults{wc: status(verbs.StatusLocalLength, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"refused access as success":    {"memory/rights", faults{wc: status(verbs.StatusRemoteAccess, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"wrong ByteLen":                {"messages/lengths", faults{wc: opcode(verbs.WCRecv, func(wc *verbs.WC) { wc.ByteLen++ })}},
	"no ByteLen of Reads":          {"memory/read", faults{wc: opcode(verbs.WCRDMARead, func(wc *verbs.WC) { wc.ByteLen = 0 })}},
	"wrong queue pair":             {"queues/shared by two", faults{wc: opcode(verbs.WCRecv, func(wc *verbs.WC) { wc.QPNum ^= 1 })}},
	"invalidated key not reported": {"invalidate/by peer", faults{wc: opcode(verbs.WCRecv, func(wc *verbs.WC) { wc.InvalidatedRKey = 0 })}},
	"peer's invalidate dropped":    {"invalidate/by peer", faults{wr: func(wr *verbs.SendWR) { wr.Opcode &^= verbs.SendWithInvalidate }}},
	"unsignaled completes":         {"queues/unsignaled", faults{wr: func(wr *verbs.SendWR) { wr.Flags |= verbs.SendSignaled }}},
	"solicited dropped":            {"queues/solicited", faults{wr: func(wr *verbs.SendWR) { wr.Flags &^= verbs.SendSolicited }}},
	"last byte dropped":            {"messages/lengths", faults{wr: shorten}},
	"second element ignored":       {"messages/scatter-gather", faults{wr: func(wr *verbs.SendWR) { wr.SGL = wr.SGL[:min(len(wr.SGL), 1)] }}},
	"batch goes on behind bad":     {"queues/bad request in a batch", faults{goesOn: true}},
	"rights not checked":           {"memory/rights", faults{access: func(verbs.Access) verbs.Access { return 7 }}},
	"remote invalidate unchecked":  {"invalidate/refused to peer", faults{access: func(a verbs.Access) verbs.Access { return a | verbs.AccessRemoteInvalidate }}},
	"bounds rounded":               {"memory/bounds", faults{slack: 64}},
	"domains not separate":         {"memory/foreign domain", faults{onePD: true}},
	"invalidate forgotten":         {"invalidate/by call", faults{keepValid: true}},
	"invalidate too late":          {"invalidate/race with writes", faults{lateInvalid: true}},
	"key kept":                     {"memory/handles", faults{oneKey: true}},
	"queue longer":                 {"queues/full", faults{room: 1}},
	"notification missed":          {"queues/arm misses nothing", faults{missNotify: 50}},
	"post under a lock":            {"queues/post from a notification", faults{lockPosts: true}},
	"disconnect ignored":           {"disconnect/every state", faults{stays: true}},
	"queue pair leaked":            {"disconnect/flush", faults{leak: true}},
	"dirty memory":                 {"memory/alloc", faults{dirty: true}},
	"no address of the kind said":  {"connect/addresses", faults{misnamed: true}},
	"private data cut":             {"connect/private data", faults{private: -1}},
	"read depth wrong":             {"connect/read depth", faults{depth: 1}},
	"one binding for all":          {"connect/channel binding", faults{oneBinding: true}},
	"dial error of no kind":        {"connect/refused", faults{dialErr: errors.New("it did not work")}},
	"limits unsaid":                {"attributes", faults{noLimits: true}},
	"one way only":                 {"messages/both directions", faults{wc: every(2, func(verbs.WC) []verbs.WC { return nil })}},
	"early message lost":           {"messages/before accept returns", faults{wc: every(2, func(verbs.WC) []verbs.WC { return nil })}},
	"Lend ignored":                 {"messages/lent", faults{forgetful: true}},
	"no Receive, no matter":        {"messages/none posted", faults{wc: status(verbs.StatusRNRRetryExceeded, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"long list cut":                {"messages/long lists", faults{wr: func(wr *verbs.SendWR) { wr.SGL = wr.SGL[:min(len(wr.SGL), 8)] }}},
	"empty message dropped":        {"messages/empty", faults{batch: dropEmpty}},
	"errors swallowed: length":     {"messages/too long", faults{swallow: true}},
	"errors swallowed":             {"queues/errors at post", faults{swallow: true}},
	"bytes from nowhere":           {"memory/zero length", faults{wc: opcode(verbs.WCRDMAWrite, func(wc *verbs.WC) { wc.ByteLen = 1 })}},
	"Read into first element":      {"memory/read into a list", faults{wr: firstOfRead}},
	"long Write cut":               {"memory/bulk both ways", faults{wr: shorten}},
	"any key opens":                {"memory/guessed keys", faults{anyKey: true}},
	"any right accepted":           {"memory/registration errors", faults{anyAccess: true}},
	"memory not aligned":           {"memory/alloc", faults{crooked: true}},
	"invalidate too late to hide":  {"invalidate/race with reads", faults{lateInvalid: true}},
	"local invalidate overtakes":   {"invalidate/by request in order", faults{batch: late(verbs.RDMARead)}},
	"local invalidate of any key":  {"invalidate/by request", faults{wc: status(verbs.StatusLocalProtection, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"key kept at reregister":       {"invalidate/reregister", faults{oneKey: true}},
	"behind a failure as done":     {"queues/failure in a batch", faults{wc: status(verbs.StatusFlushed, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"one element more":             {"queues/element limits", faults{elements: 1}},
	"caller's list kept":           {"queues/slices are the caller's", faults{keeps: true}},
	"unsignaled failure unsaid":    {"queues/unsignaled failure", faults{wc: status(verbs.StatusLocalProtection, func(verbs.WC) []verbs.WC { return nil })}},
	"queue promised twice":         {"queues/reservation", faults{room: 1}},
	"arm does not widen":           {"queues/arm widens", faults{narrow: true}},
	"polled out of order":          {"queues/poll in pieces", faults{poll: swap}},
	"one queue for both":           {"queues/two for one pair", faults{oneCQ: true}},
	"batches torn":                 {"queues/many posters", faults{torn: true}},
	"reason cut":                   {"connect/reject", faults{private: -1}},
	"long reason cut":              {"connect/reject lengths", faults{private: -1}},
	"address taken, no matter":     {"connect/address in use", faults{listenErr: errors.New("it did not work")}},
	"cancel of no kind":            {"connect/cancel", faults{dialErr: errors.New("it did not work")}},
	"ended context of no kind":     {"connect/ended context", faults{dialErr: errors.New("it did not work")}},
	"misuse of no kind":            {"connect/misuse", faults{dialErr: errors.New("it did not work")}},
	"foreigner of no kind":         {"connect/foreign objects", faults{dialErr: errors.New("it did not work")}},
	"listener stays":               {"connect/listener close", faults{listens: true}},
	"waiting dialer is forgotten":  {"connect/listener close while dialing", faults{listens: true}},
	"numbers cut":                  {"queues/any number", faults{wc: opcode(verbs.WCSend, func(wc *verbs.WC) { wc.WRID &= 1<<32 - 1 })}},
	"answers mixed up":             {"connect/many at once", faults{mixed: true}},
	"fence of a Write ignored":     {"memory/read then fenced send", faults{batch: late(verbs.RDMARead)}},
	"region busy for a while":      {"invalidate/race and reregister", faults{lateInvalid: true}},
	"second part lost":             {"memory/random requests", faults{wr: func(wr *verbs.SendWR) { wr.SGL = wr.SGL[:min(len(wr.SGL), 1)] }}},
	"polled twice":                 {"queues/many pollers", faults{wc: every(7, func(wc verbs.WC) []verbs.WC { return []verbs.WC{wc, wc} })}},
	"reason forgotten":             {"disconnect/with a reason", faults{mute: true}},
	"success behind a flush":       {"disconnect/flush behind a Read", faults{wc: opcode(verbs.WCRDMARead, func(wc *verbs.WC) { wc.Status = verbs.StatusFlushed })}},
	"notified twice":               {"disconnect/notified once", faults{twice: true}},
	"flush under load lost":        {"disconnect/under load", faults{wc: every(40, func(verbs.WC) []verbs.WC { return nil })}},
	"dangling Receive unsaid":      {"disconnect/close order", faults{wc: status(verbs.StatusLocalProtection, func(verbs.WC) []verbs.WC { return nil })}},
	"flush while posting lost":     {"disconnect/close while posting", faults{wc: every(40, func(verbs.WC) []verbs.WC { return nil })}},
	"revocation forgotten":         {"revoke/several", faults{keepValid: true}},
	"any region revoked":           {"revoke/refused", faults{anyRegion: true}},
	"no report after the end":      {"revoke/every state", faults{unreported: true}},
	"reported twice":               {"revoke/end of the connection", faults{repeats: true}},
	"revoked too late":             {"revoke/race with writes", faults{lateInvalid: true}},
	"removal unnoticed":            {"disconnect/removal", faults{stays: true}},
	"listener outlives device":     {"disconnect/removal of listeners", faults{stays: true}},
	"regions not counted":          {"objects/counted", faults{blind: true}},
	"closed domain allocates":      {"objects/use after close", faults{reopens: true}},
	"goroutine leaked":             {"objects/use after close", faults{goroutine: true}},
	"memory kept":                  {"objects/use after close", faults{hoards: true}},

	// Manners of RDMA devices that the attributes and the Fabric do not admit, or that no device
	// may show.
	"padded, unsaid":            {"connect/private data", faults{manners: fault.PaddedPrivateData}},
	"request padded, unsaid":    {"connect/reject", faults{manners: fault.PaddedPrivateData}},
	"keys counted, unsaid":      {"memory/handles", faults{manners: fault.GuessableKeys}},
	"no window, unsaid":         {"invalidate/by request", faults{manners: fault.WindowsOnly}},
	"right unchecked, unsaid":   {"invalidate/refused to peer", faults{manners: fault.WindowsOnly}},
	"cause unknown, unsaid":     {"disconnect/with a reason", faults{manners: fault.UnknownCause}},
	"Send unnoticed, unsaid":    {"messages/none posted", faults{manners: fault.UnnoticedSend}},
	"no heap, unsaid":           {"memory/registration errors", faults{manners: fault.Plain}},
	"Sends pass Reads":          {"queues/completion order", faults{manners: fault.SendsBeforeReads}},
	"solicited event lost":      {"queues/solicited", faults{manners: fault.LostSolicited}},
	"invalidation not reported": {"invalidate/by peer", faults{manners: fault.UnreportedInvalidate}},
}

// faults are the faults of a provider.
type faults struct {
	wr     func(*verbs.SendWR)
	batch  func(q *queuePair, wrs []verbs.SendWR) []verbs.SendWR
	wc     func() func(verbs.WC) []verbs.WC
	poll   func([]verbs.WC)
	access func(verbs.Access) verbs.Access

	slack, room, elements, missNotify, private, depth       int
	onePD, oneCQ, keepValid, lateInvalid, oneKey, lockPosts bool
	stays, leak, dirty, crooked, goesOn, swallow, keeps     bool
	torn, narrow, anyKey, anyAccess, noLimits, blind, twice bool
	listens, reopens, goroutine, mixed, misnamed, mute      bool
	hoards                                                  bool
	oneBinding, forgetful, anyRegion, unreported, repeats   bool
	dialErr, listenErr                                      error

	manners fault.Manners // of a device that does not admit them
}

// unsaid is a device that does not admit its manners.
type unsaid struct {
	verbs.Device
	inner *mem.Device
}

func (d unsaid) Attributes() verbs.DeviceAttributes { return d.inner.Attributes() }

const chosen = "VERBSTEST_MUTANT"

// The case that is written for a mutant detects it.
func TestMutantsAreCaught(t *testing.T) {
	if os.Getenv(chosen) != "" || testing.Short() {
		t.Skip("only at the top, and takes seconds")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(mutant, pattern, limit string) (string, error) {
		cmd := exec.Command(exe, "-test.v", "-test.timeout="+limit, "-test.run=^TestOneMutantRunsTheSuite$"+pattern)
		cmd.Env = append(os.Environ(), chosen+"="+mutant)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	sound, err := run("none", "", "1m")
	if err != nil {
		t.Fatalf("without a fault: %v\n%s", err, sound)
	}
	caught := make(map[string]bool)
	for name, m := range mutants {
		caught["TestOneMutantRunsTheSuite/"+strings.ReplaceAll(m.caught, " ", "_")] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(name, "/^"+strings.ReplaceAll(strings.ReplaceAll(m.caught, " ", "_"), "/", "$/^")+"$", "4s")
			test := "TestOneMutantRunsTheSuite/" + strings.ReplaceAll(m.caught, " ", "_")
			if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(out, "--- FAIL: "+test) && !strings.Contains(out, "test timed out") {
				t.Errorf("case %q does not see it: %v\n%s", m.caught, err, out)
			}
		})
	}
	for _, m := range regexp.MustCompile(`(?m)^    --- PASS: (\S+)`).FindAllStringSubmatch(sound, -1) {
		if !caught[m[1]] {
			t.Errorf("no mutant is there for case %s", m[1])
		}
	}
}

// TestOneMutantRunsTheSuite runs the suite on one mutant, in its own process.
func TestOneMutantRunsTheSuite(t *testing.T) {
	name := os.Getenv(chosen)
	if name == "" {
		t.Skip("run by TestMutantsAreCaught")
	}
	f, patience := mutants[name].faults, 400*time.Millisecond
	if name == "none" {
		patience = 10 * time.Second
	}
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		n, inj := mem.New(nil), fault.New(fault.Config{Manners: f.manners})
		open := func(name string) verbs.Device {
			d, err := n.Open(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.manners != 0 {
				return unsaid{inj.Device(d), d}
			}
			return &device{Device: d, f: f}
		}
		return verbstest.Fabric{
			Client: open("client"), Server: open("server"), Addr: "here", Precise: true, Timeout: patience,
			Remove: func(d verbs.Device) {
				if u, ok := d.(unsaid); ok {
					u.inner.Remove()
				} else {
					d.(*device).remove()
				}
			},
		}
	})
}
