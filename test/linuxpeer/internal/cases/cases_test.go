package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// Names are unique, have a family, and make folders.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.Name] {
			t.Errorf("two cases have the name %s", c.Name)
		}
		seen[c.Name] = true
		if strings.Count(c.Name, "/") != 1 || strings.ContainsAny(c.Name, " \t`|") || strings.ToLower(c.Name) != c.Name {
			t.Errorf("%q: a name has a family, a slash and the rest, in small letters", c.Name)
		}
		if c.Run == nil {
			t.Errorf("%s does nothing", c.Name)
		}
	}
}

// Each case that the set ci leaves out is represented by a case in the set.
func TestSetCIHasOneOfEachKind(t *testing.T) {
	names := map[string]bool{}
	for _, c := range All() {
		names[c.Name] = true
		if !InSet("all", c.Name) {
			t.Errorf("the set all does not have %s", c.Name)
		}
	}
	for name, other := range repeats {
		if !names[name] || !names[other] {
			t.Errorf("%s stands for %s, and one of them is not the name of a case", other, name)
		}
		if InSet("ci", name) || !InSet("ci", other) {
			t.Errorf("%s stands for %s in the set ci, which must have the former only", other, name)
		}
	}
}

// Each method that stops a case does so, and the case's clean-up runs in reverse order afterwards.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		run     func(t *T)
		failed  []string // parts of the messages
		skipped string
	}{
		{name: "pass", run: func(*T) {}},
		{name: "error", run: func(t *T) { t.Errorf("a %d", 1); t.Errorf("b") }, failed: []string{"a 1", "b"}},
		{name: "fatal", run: func(t *T) { t.Fatalf("a"); t.Errorf("b") }, failed: []string{"a"}},
		{name: "must", run: func(t *T) { t.Must(nil); t.Must(fmt.Errorf("a")); t.Errorf("b") }, failed: []string{"a"}},
		{name: "skip", run: func(t *T) { t.Skipf("c"); t.Errorf("b") }, skipped: "c"},
		{name: "panic", run: func(*T) { panic("d") }, failed: []string{"panic: d"}},
		{name: "clean-up fails", run: func(t *T) { t.Cleanup(func() { t.Fatalf("e") }) }, failed: []string{"e"}},
		{name: "time", run: func(t *T) { <-t.Context().Done() }, failed: []string{"too late"}},
		{name: "panic in clean-up", run: func(t *T) { t.Cleanup(func() { panic("g") }); t.Fatalf("f") }, failed: []string{"f", "panic: g"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limit := time.Minute
			if tt.name == "time" {
				limit = time.Millisecond
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, fmt.Errorf("too late"))
			defer cancel()
			var order []int
			c := &T{env: &Env{}, run: t.Context(), ctx: ctx, guest: &guest.Guest{}}
			c.perform(Case{Run: func(t *T) {
				for i := range 3 {
					t.Cleanup(func() { order = append(order, i) })
				}
				tt.run(t)
			}})
			if diff := cmp.Diff([]int{2, 1, 0}, order); diff != "" {
				t.Errorf("order of the clean-up (-want +got):\n%s", diff)
			}
			if len(c.failed) != len(tt.failed) || c.skipped != tt.skipped {
				t.Fatalf("failed %q, skipped %q; want %q, %q", c.failed, c.skipped, tt.failed, tt.skipped)
			}
			for i, want := range tt.failed {
				if !strings.Contains(c.failed[i], want) {
					t.Errorf("failure %q, want %q", c.failed[i], want)
				}
			}
		})
	}
}

// A case in progress when the run ends is cut. It fails only for what it reported before, and for
// problems in the kernel's log.
func TestEndOfRunCutsCaseInProgress(t *testing.T) {
	ended := errors.New("the run has ended")
	for _, tt := range []struct {
		name   string
		run    func(t *T, end func())
		cut    bool
		failed []string
		log    []string
	}{
		{"waits", func(t *T, end func()) { t.Logf("a line"); end(); <-t.Context().Done() }, true, nil, []string{"a line"}},
		{"reports the interrupted program", func(t *T, end func()) { end(); t.Fatalf("sh -c ...: %v", context.Cause(t.Context())) }, true, nil, nil},
		{"fails in its clean-up", func(t *T, end func()) { t.Cleanup(func() { t.Errorf("not unmounted") }); end() }, true, nil, nil},
		{"had failed", func(t *T, end func()) { t.Errorf("wrong bytes"); end(); <-t.Context().Done() }, true, []string{"wrong bytes"}, []string{"FAIL: wrong bytes"}},
		{"has harmed the kernel", func(t *T, end func()) { end(); t.blame("BUG") }, true, []string{"BUG"}, []string{"FAIL: BUG"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			c := &T{env: &Env{}, run: ctx, ctx: ctx, guest: &guest.Guest{}}
			c.perform(Case{Run: func(t *T) { tt.run(t, func() { cancel(ended) }) }})
			if c.cut != tt.cut || !slices.Equal(c.failed, tt.failed) || !slices.Equal(c.log, tt.log) {
				t.Errorf("cut %t, failed %q, log %q; want %t, %q, %q", c.cut, c.failed, c.log, tt.cut, tt.failed, tt.log)
			}
		})
	}
}

// A run that is over starts no guest for a case, and the case is cut.
func TestEndOfRunBeforeGuestStarts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run has ended"))
	env := &Env{Start: func(ctx context.Context) (*guest.Guest, error) { return nil, ctx.Err() }}
	if res := env.Do(ctx, Case{Name: "a/b"}); res.Status != Cut || res.Text != "the run has ended" {
		t.Errorf("%s, %q; want CUT and the reason", res.Status, res.Text)
	}
}

// Await finds output in parts, and ends with the program.
func TestAwait(t *testing.T) {
	c := &T{env: &Env{}, run: t.Context(), ctx: t.Context(), guest: &guest.Guest{}}
	p := &Process{t: c, out: newLines()}
	go func() {
		for _, s := range []string{"rea", "dy\n"} {
			_, _ = p.out.Write([]byte(s))
		}
		p.out.close()
	}()
	p.Await("ready")
	c.protect(func() { p.Await("never") })
	if len(c.failed) != 1 || !strings.Contains(c.failed[0], `without the output "never"`) {
		t.Errorf("Await of output that does not come: %q", c.failed)
	}
}

// The frame of NULL without CRC is the one that the kernel's server was seen to accept.
func TestFPDU(t *testing.T) {
	got := fpdu(append(unhex("4143 00000000 00000000 00000001 00000000"),
		append(unhex("cafe0000 00000001 00000020 00000000 00000000 00000000 00000000"), nullCall(0xcafe0000, 100003, 3)...)...), false)
	want := unhex(`0056 4143 00000000 00000000 00000001 00000000 | cafe0000 00000001 00000020 00000000 00000000 00000000 00000000
		| cafe0000 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000 | 00000000`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
