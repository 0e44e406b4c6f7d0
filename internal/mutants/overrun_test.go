package main

import (
	"errors"
	"testing"
	"time"
)

// Tests at their limit hang if the one that runs for most of the time waits. They are slow if other
// tests have completed in that time, or if one computes. A test that has failed is noticed.
func TestOverrunsAreHangsOrSlow(t *testing.T) {
	const begin = "panic: test timed out after 40s\n\trunning tests:\n"
	const alarm = "\ngoroutine 88 [running]:\ntesting.(*M).startAlarm.func1()\n\n"
	const waits = alarm + "goroutine 1 [chan receive, 1 minutes]:\nmain.main()\n\ngoroutine 7 gp=0x1 m=nil [select]:\np.f()\n"
	for _, tt := range []struct {
		what, out string
		want      result
		test      string
	}{
		{"one waits", begin + "\t\tTestA (38s)\n" + waits, hangs, "TestA"},
		{"one began recently", begin + "\t\tTestA (20s)\n" + waits, slow, "TestA"},
		{"one of two waits", begin + "\t\tTestA (1s)\n\t\tTestB (1m0s)\n" + waits, hangs, "TestB"},
		{"a subtest waits", begin + "\t\tTestA (39s)\n\t\tTestA/x (1s)\n\t\tTestA/x/y_z (30s)\n" + waits, hangs, "TestA"},
		{"one subtest after the other", begin + "\t\tTestA (39s)\n\t\tTestA/x (20s)\n\t\tTestAB (2s)\n" + waits, slow, "TestA"},
		{"one computes", begin + "\t\tTestA (38s)\n" + waits + "\ngoroutine 9 [running]:\np.g()\n", slow, "TestA"},
		{"one could compute", begin + "\t\tTestA (38s)\n" + waits + "\ngoroutine 9 gp=0x2 m=nil [runnable, locked to thread]:\np.g()\n", slow, "TestA"},
		{"no test runs", "panic: test timed out after 40s\n" + waits, slow, ""},
		{"one has failed", "--- FAIL: TestC (0.1s)\n" + begin + "\t\tTestA (38s)\n" + waits, fails, ""},
	} {
		if r := newRun([]byte(tt.out), errors.New("exit status 2"), 40*time.Second); r.result != tt.want || r.over.test != tt.test {
			t.Errorf("%s: %v, in %q, want %v in %q", tt.what, r.result, r.over.test, tt.want, tt.test)
		}
	}
}

// A test that panics because it hangs has failed and is named.
func TestPanicNamesTheTestThatHangs(t *testing.T) {
	out := "panic: TestA/version_1 still runs 5s after its devices were removed\n\ngoroutine 7 [running]:\np.f()\n"
	if r := newRun([]byte(out), errors.New("exit status 2"), 40*time.Second); r.result != fails || len(r.tests) != 1 || r.tests[0] != "TestA" {
		t.Errorf("%v by %q, want killed by TestA", r.result, r.tests)
	}
}

// Tests that are slow get twice the limit, once. A test that has run for most of that time
// hangs.
func TestSlowTestsGetMoreTime(t *testing.T) {
	for _, tt := range []struct {
		what string
		runs []run
		want result
	}{
		{"noticed", []run{{result: fails}}, fails},
		{"waits", []run{{result: hangs}}, hangs},
		{"noticed with more time", []run{{result: slow}, {result: fails}}, fails},
		{"passes with more time", []run{{result: slow}, {result: passes}}, passes},
		{"slow again", []run{{result: slow, over: overrun{long: true}}, {result: slow}}, slow},
		{"computes without end", []run{{result: slow}, {result: slow, over: overrun{long: true, busy: true}}}, hangs},
	} {
		n, limit := 0, time.Second
		got := patiently(limit, func(l time.Duration) run {
			if l != limit {
				t.Errorf("%s: run %d has %v, want %v", tt.what, n+1, l, limit)
			}
			n, limit = n+1, 2*limit
			return tt.runs[n-1]
		})
		if got.result != tt.want || n != len(tt.runs) {
			t.Errorf("%s: %v after %d runs, want %v after %d", tt.what, got.result, n, tt.want, len(tt.runs))
		}
	}
}
