package cases

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// verbsSuiteCases run the acceptance suite of package verbs on each device, connected to itself.
func verbsSuiteCases() []Case {
	var all []Case
	for _, d := range verbsDevices() {
		all = append(all, Case{Name: "verbstest/" + d.kind, Timeout: 15 * time.Minute, Run: func(t *T) {
			t.leavesNothing(d)
			(&verbsSuite{T: t, device: d, skipped: map[string][]string{}}).run()
		}})
	}
	return all
}

// verbsSuiteTest is the test that has the cases of the suite.
const verbsSuiteTest = "TestAcceptanceOnDevice"

// verbsKnown has the cases that fail on a device, always or sometimes, with the reason.
var verbsKnown = map[string]map[string]string{
	"siw": {
		"memory/rights":               "siw does not check rights for a Read",
		"connect/read_depth":          "siw raises the depth that the server set to the client's",
		"disconnect/under_load":       "it hangs at times",
		"invalidate/race_with_writes": "at times siw still places a segment of a Write after the deregistration",
		"revoke/race_with_writes":     "at times siw still places a segment of a Write after the deregistration",
	},
	"rxe": {
		"connect/ended_context":                "a request that was given up is reported as rejected",
		"connect/listener_close_while_dialing": "a listener that has closed is reported as one that rejects",
		"invalidate/race_with_reads":           "at times a Read that is refused does not end the connection",
	},
}

// verbsSuite is a run of the suite on a device.
type verbsSuite struct {
	*T
	device   verbsDevice
	passed   int
	skipped  map[string][]string // cases, by the reason
	failing  []string            // known to fail, and did
	repeated []string
}

// The outcomes of one case in the suite.
const (
	suitePass  = "PASS"
	suiteFail  = "FAIL"
	suiteSkip  = "SKIP"
	suiteHangs = "hangs"
)

// suiteOutcome is a case's outcome, with its reason and its output.
type suiteOutcome struct{ status, reason, out string }

var (
	suiteLine   = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL|SKIP): ` + verbsSuiteTest + `/(\S+) `)
	suiteReason = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (.*)$`)
)

// suiteResult reads the output of a case that ended by itself, or at the time limit of its tests.
func suiteResult(name, out string) suiteOutcome {
	o := suiteOutcome{status: suiteFail, out: out}
	if m := suiteReason.FindStringSubmatch(out); m != nil {
		o.reason = m[1]
	}
	if strings.Contains(out, "panic: test timed out") {
		o.status, o.reason = suiteHangs, "it hangs"
		return o
	}
	for _, m := range suiteLine.FindAllStringSubmatch(out, -1) {
		if m[2] == name {
			o.status = m[1]
		}
	}
	return o
}

// run runs each case in its own process, so that one that hangs does not stop the others.
func (s *verbsSuite) run() {
	names := s.names()
	known := verbsKnown[s.device.kind]
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !slices.Contains(names, name) {
			s.Errorf("the suite has no case %s, which is known to fail", name)
		}
	}
	for _, name := range names {
		_, expected := known[name]
		start := time.Now()
		o := s.judged(name)
		s.Logf("%s %s in %.1f s", o.status, name, time.Since(start).Seconds())
		if !expected && s.device.kind == "siw" && (o.status == suiteFail || o.status == suiteHangs) {
			s.repeated = append(s.repeated, name) // faults of siw come and go
			s.Logf("%s %s, once more:\n%s", o.status, name, o.out)
			o = s.judged(name)
		}
		switch {
		case o.status == suitePass:
			s.passed++
		case o.status == suiteSkip:
			s.skipped[o.reason] = append(s.skipped[o.reason], name)
		case expected:
			s.failing = append(s.failing, name)
			s.Logf("%s is known to fail: %s", name, o.reason)
		default:
			s.Errorf("%s %s: %s\n%s", o.status, name, o.reason, o.out)
		}
	}
	s.report(len(names))
}

// names asks the program for the cases.
func (s *verbsSuite) names() []string {
	list := s.Run(s.device.test(0, "env", "RPCRDMA_IBVERBS_LIST=1", "ibverbs.test", "-test.v", "-test.run", "^"+verbsSuiteTest+"$")...)
	var names []string
	for _, m := range suiteLine.FindAllStringSubmatch(list, -1) {
		names = append(names, m[2])
	}
	if len(names) < 50 {
		s.Fatalf("the suite lists %d cases, expected more:\n%s", len(names), list)
	}
	return names
}

// judged runs a case. A problem in the kernel's log fails it.
func (s *verbsSuite) judged(name string) suiteOutcome {
	mark := len(s.KernelLog())
	o := s.one(name)
	for _, p := range guest.JudgeLog(s.KernelLog()[mark:]) {
		o.status, o.reason, o.out = suiteFail, p.String(), o.out+"\n"+p.String()
	}
	return o
}

// one runs a case.
func (s *verbsSuite) one(name string) suiteOutcome {
	limit := time.Minute
	if _, known := verbsKnown[s.device.kind][name]; known {
		limit = 20 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(s.Context(), limit+10*time.Second, fmt.Errorf("no end within %v", limit))
	defer cancel()
	argv := s.device.test(0, "ibverbs.test", "-test.v", "-test.timeout", limit.String(), "-test.run", suitePattern(name))
	res, err := s.Guest().Run(ctx, argv...)
	o := suiteResult(name, res.Stdout+res.Stderr)
	switch {
	case ctx.Err() != nil:
		o.status, o.reason = suiteHangs, context.Cause(ctx).Error()
	case err != nil && o.status != suiteHangs:
		o.status = suiteFail // also if it passed, and what followed did not
	}
	return o
}

// suitePattern returns the expression that selects a case.
func suitePattern(name string) string {
	run := "^" + verbsSuiteTest + "$"
	for part := range strings.SplitSeq(name, "/") {
		run += "/^" + regexp.QuoteMeta(part) + "$"
	}
	return run
}

// report reports the known failures and the cases that do not apply.
func (s *verbsSuite) report(all int) {
	what := "acceptance suite of package verbs on " + s.device.name + ", connected to itself"
	known := verbsKnown[s.device.kind]
	skipped := 0
	for _, reason := range slices.Sorted(maps.Keys(s.skipped)) {
		list := s.skipped[reason]
		skipped += len(list)
		s.Report(Finding{What: what + ": cases that do not apply: " + reason, Saw: strings.Join(list, ", ")})
	}
	s.Report(Finding{What: what, Saw: fmt.Sprintf("%d cases, %d pass", all, s.passed)})
	for _, name := range s.failing {
		s.Report(Finding{What: what + ": " + name, Expected: "it passes", Saw: known[name], Deviation: true})
	}
	text := fmt.Sprintf("%d cases: %d pass, %d do not apply", all, s.passed, skipped)
	if len(s.failing) > 0 {
		text += fmt.Sprintf(", %d fail as known: %s", len(s.failing), strings.Join(s.failing, " "))
	}
	if len(s.repeated) > 0 {
		text += "; repeated: " + strings.Join(s.repeated, " ")
	}
	s.Say("%s", text)
}
