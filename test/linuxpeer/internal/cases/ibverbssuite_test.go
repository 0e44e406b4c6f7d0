package cases

import "testing"

// A case of the suite has the outcome that its own line says, whatever the lines for its parts and
// for other cases say.
func TestOutcomeOfSuiteCaseIsReadFromItsLine(t *testing.T) {
	for _, tt := range []struct {
		what, out      string
		status, reason string
	}{
		{"passed", "=== RUN   TestAcceptanceOnDevice/memory/read\n--- PASS: TestAcceptanceOnDevice (0.1s)\n    --- PASS: TestAcceptanceOnDevice/memory/read (0.09s)\nPASS\n", suitePass, ""},
		{"skipped", "    tls.go:15: the provider has no TLS\n    --- SKIP: TestAcceptanceOnDevice/memory/read (0.00s)\n", suiteSkip, "the provider has no TLS"},
		{
			"a part is skipped", "        memory.go:1: no such right\n    --- PASS: TestAcceptanceOnDevice/memory/read (0.1s)\n        --- SKIP: TestAcceptanceOnDevice/memory/read/part (0.1s)\n",
			suitePass, "no such right",
		},
		{"failed", "    order.go:189: memory differs\n    order.go:190: again\n    --- FAIL: TestAcceptanceOnDevice/memory/read (0.2s)\n", suiteFail, "memory differs"},
		{"another case", "    --- PASS: TestAcceptanceOnDevice/memory/read_then_fenced_send (0.1s)\n", suiteFail, ""},
		{"no line", "fatal error: out of memory\n", suiteFail, ""},
		{"its tests' time limit", "    a.go:1: waits\npanic: test timed out after 1m0s\n", suiteHangs, "it hangs"},
	} {
		if o := suiteResult("memory/read", tt.out); o.status != tt.status || o.reason != tt.reason {
			t.Errorf("%s: found %s, %q, expected %s, %q", tt.what, o.status, o.reason, tt.status, tt.reason)
		}
	}
}

// Each level of a name selects one test only: the levels of the expression match alone.
func TestSuitePatternSelectsOneCase(t *testing.T) {
	if got, want := suitePattern("queues/slices_are_the_caller's"), `^TestAcceptanceOnDevice$/^queues$/^slices_are_the_caller's$`; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
	if got, want := suitePattern("a.b"), `^TestAcceptanceOnDevice$/^a\.b$`; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}
