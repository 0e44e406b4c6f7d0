package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/cases"
)

func section(kernel, saw string) Section {
	return Section{
		Kernel: kernel, Title: "Linux " + kernel, Versions: [][2]string{{"kernel", "1"}}, Run: "2026-01-02, commit c1: 2 passed", All: true, Cases: []string{"a/one", "a/two", "a/three"},
		Results: []cases.Result{
			{Name: "a/one", Status: cases.Pass, Findings: []cases.Finding{
				{What: "x | y", Rule: "RFC 1 §2", Expected: "z", Saw: saw, Deviation: true},
				{What: "v", Saw: "w"},
			}},
			{Name: "a/two", Status: cases.Pass},
		},
	}
}

// A section is replaced without changing the others.
func TestWrite(t *testing.T) {
	first := Write("", section("stock", "old"))
	both := Write(first, section("backports", "other"))
	if !strings.HasPrefix(both, first) {
		t.Errorf("adding a section changed the rest:\n%s", cmp.Diff(first, both))
	}
	again := Write(both, section("stock", "new"))
	if want := strings.Replace(both, "| old |", "| new |", 1); again != want {
		t.Errorf("replacing a section (-want +got):\n%s", cmp.Diff(want, again))
	}
	if same := Write(again, section("stock", "new")); same != again {
		t.Errorf("writing the same section again (-want +got):\n%s", cmp.Diff(again, same))
	}
	part := section("stock", "")
	part.Run, part.All = "2026-02-03, commit c2: 1 passed", false
	part.Results = []cases.Result{{Name: "a/three", Status: cases.Pass, Findings: []cases.Finding{{What: "n"}}}}
	const last = "| `a/one` | v |  |  | w |  |\n"
	const run = "| last run of all cases | 2026-01-02, commit c1: 2 passed |\n"
	want := strings.Replace(again, last, last+"| `a/three` | n |  |  |  |  |\n", 1)
	want = strings.Replace(want, run, run+"| run of some cases since | 2026-02-03, commit c2: 1 passed |\n", 1)
	if got := Write(again, part); got != want {
		t.Errorf("writing one case (-want +got):\n%s", cmp.Diff(want, got))
	}
	if got := Write(want, section("stock", "new")); strings.Contains(got, some) || !strings.Contains(got, run) {
		t.Errorf("writing all cases after some does not replace the row of the latter:\n%s", got)
	}
	gone := section("stock", "")
	gone.Results, gone.Cases = nil, gone.Cases[1:]
	if got := Write(first, gone); strings.Contains(got, "a/one") {
		t.Errorf("the rows of a case that is gone stay:\n%s", got)
	}
	const row = "| `a/one` | x \\| y | RFC 1 §2 | z | new | **yes** |\n"
	if !strings.Contains(again, row) {
		t.Errorf("no row %q in:\n%s", row, again)
	}
}

func TestCompare(t *testing.T) {
	page := Write(Write("", section("stock", "old")), section("backports", "other"))
	const row = "| `a/one` | x \\| y | RFC 1 §2 | z | "
	results := func(edit func(*Section)) []cases.Result {
		s := section("stock", "old")
		edit(&s)
		return s.Results
	}
	for _, tt := range []struct {
		name, kernel string
		results      []cases.Result
		all          bool
		want         []string
	}{
		{"same", "stock", results(func(*Section) {}), true, nil},
		{"no section", "none", results(func(*Section) {}), true, []string{"the page has no section for the kernel none"}},
		{"another answer", "stock", section("stock", "new").Results, true, []string{
			"page: " + row + "old | **yes** |", "run:  " + row + "new | **yes** |",
		}},
		{"a failed case counts not", "stock", results(func(s *Section) {
			s.Results[0].Status, s.Results[0].Findings = cases.Fail, nil
		}), true, nil},
		{"a part of the cases", "stock", results(func(s *Section) { s.Results = s.Results[1:] }), false, nil},
		{"a case is gone", "stock", results(func(s *Section) { s.Results = s.Results[1:] }), true, []string{
			"page: rows of a/one, which is no case",
		}},
		{"a case is new", "stock", results(func(s *Section) {
			s.Results[1].Findings = []cases.Finding{{What: "n"}}
		}), true, []string{"run:  | `a/two` | n |  |  |  |  |"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Compare(page, tt.kernel, tt.results, tt.all)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
