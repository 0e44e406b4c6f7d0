package credit_test

import (
	"strings"
	"testing"
)

// All interleavings keep the rules, with ceilings of 1 to 3 in all combinations: no message without
// a credit or a Receive, both ends count the same credits, work always ends, and an idle connection
// leaves each end a credit (R167 to R172, R174 to R178, R181; T13, T15, T91, T92).
//
// After the first messages, with which the walk begins, client and server have the same rules. So
// ceilings of 1 and 2 stand for 2 and 1, too, unless only the client makes Calls.
func TestV2Interleavings(t *testing.T) {
	all := 99 // no limit
	models := []model{
		{ceilings: [2]int{1, 1}, parts: 3, grants: true, nests: [2]int{all, 0}},
		{ceilings: [2]int{1, 1}, parts: 3, copies: true, nests: [2]int{0, all}},
		{ceilings: [2]int{1, 2}, parts: 3, grants: true, nests: [2]int{all, 0}},
		{ceilings: [2]int{1, 2}, parts: 3, nests: [2]int{1, 1}},
		{ceilings: [2]int{1, 3}, parts: 2, nests: [2]int{0, all}},
		{ceilings: [2]int{2, 2}, parts: 1, nests: [2]int{1, all}},
		{ceilings: [2]int{1, 1}, parts: 3, oneWay: true},
		{ceilings: [2]int{1, 2}, parts: 3, oneWay: true},
		{ceilings: [2]int{2, 1}, parts: 3, oneWay: true},
		{ceilings: [2]int{2, 2}, parts: 2, oneWay: true},
	}
	due := 400_000
	if !testing.Short() {
		due = 1_000_000
		models = append(models,
			model{ceilings: [2]int{2, 2}, parts: 2, nests: [2]int{all, 1}},
			model{ceilings: [2]int{2, 2}, parts: 2, copies: true, grants: true},
			model{ceilings: [2]int{2, 3}, parts: 2},
			model{ceilings: [2]int{3, 3}, parts: 1},
		)
	}
	total := 0
	for _, m := range models {
		n, found := m.explore()
		if t.Logf("%v, nests %v: %d states", m.ceilings, m.nests, n); found != "" {
			t.Errorf("%v, nests %v: %s", m.ceilings, m.nests, found)
		}
		total += n
	}
	if t.Logf("%d states in all", total); total < due {
		t.Errorf("%d states, want at least %d", total, due)
	}
}

// Handlers of both ends may call each other at once, as long as one end has fewer such Calls in
// flight than the other's ceiling: see the models above. If they take all that both ends serve,
// each waits for another.
func TestV2NestedCalls(t *testing.T) {
	for _, ceilings := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
		m := model{ceilings: ceilings, parts: 1, nests: [2]int{ceilings[1], ceilings[0]}}
		if n, found := m.explore(); !strings.HasPrefix(found, "no step is possible, and work is left") {
			t.Errorf("%v: %q after %d states", ceilings, found, n)
		}
	}
}

// The canary: the search finds faults of the ends.
func TestV2ModelSees(t *testing.T) {
	for broken, want := range map[string]string{
		"sends without credit":       "an end",
		"grants more than it counts": "an end",
		"sends no Grant":             "no credit for a Call, and none will come",
		"answers Grants":             "messages without work",
		"posts too few Receives":     "no Receive for a Grant without credit",
	} {
		m := model{ceilings: [2]int{2, 2}, parts: 1, broken: broken}
		if n, found := m.explore(); !strings.HasPrefix(found, want) {
			t.Errorf("an end that %s: %q after %d states, want %q", broken, found, n, want)
		}
	}
}
