package archtest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/golden"
)

const (
	languageFile = "language.txt"
	languageHead = "# How many findings of CheckLanguage a package or page may have: wordings, wide lines, accents.\n" +
		"# The numbers only fall: go test ./internal/archtest -run TestLanguage -update lowers them.\n"
)

func wordings() []Wording { return append(Wordings(), Accents()...) }

// No package or page has more odd wordings, wide lines or accents than its line
// of language.txt allows. A place without a line may have no finding.
func TestLanguage(t *testing.T) {
	root := filepath.Join("..", "..")
	findings, err := CheckLanguage(root, wordings())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(languageFile)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := parseAllowances(string(text))
	if err != nil {
		t.Fatalf("%s: %v", languageFile, err)
	}
	excess := exceeding(findings, allowed)
	for place, group := range byPlace(excess) {
		t.Error(explain(place, group, count(findings)[place], allowed[place], changed(root, place)))
	}
	if golden.Updating() {
		if err := os.WriteFile(languageFile, []byte(format(lower(allowed, count(findings)))), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// format renders allowances, sorted by place.
func format(allowed map[string]Allowance) string {
	var b strings.Builder
	b.WriteString(languageHead)
	for _, place := range slices.Sorted(maps.Keys(allowed)) {
		a := allowed[place]
		fmt.Fprintf(&b, "%s %d %d %d\n", place, a.Wording, a.Width, a.Accent)
	}
	return b.String()
}

func byPlace(findings []Finding) map[string][]Finding {
	out := make(map[string][]Finding)
	for _, f := range findings {
		out[f.Place()] = append(out[f.Place()], f)
	}
	return out
}

// explain returns the message for a place with too many findings. It lists those
// on changed lines, and all of them if none or no changes are known.
func explain(place string, findings []Finding, have, may Allowance, recent map[string]bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d odd wordings, %d wide lines and %d accents, and may have %d, %d and %d.\n",
		place, have.Wording, have.Width, have.Accent, may.Wording, may.Width, may.Accent)
	isNew := func(f Finding) bool { return recent[fmt.Sprintf("%s:%d", f.Path, f.Line)] }
	if slices.ContainsFunc(findings, isNew) {
		fmt.Fprintf(&b, "On lines changed since %s last had other numbers for it:\n", languageFile)
		findings = slices.DeleteFunc(findings, func(f Finding) bool { return !isNew(f) })
	}
	for _, f := range findings {
		fmt.Fprintf(&b, "\t%s\n", f)
	}
	fmt.Fprintf(&b, "If text moved here from another package, move its numbers in internal/archtest/%s too.\n"+
		"Accents alone: -update moves them, if all places together have no more than before.", languageFile)
	return b.String()
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// changed returns "path:line" for the lines of a place that git has as added or
// changed since the commit that last changed the place's line of languageFile.
// Without git it returns none.
func changed(root, place string) map[string]bool {
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return string(out)
	}
	line := "^" + regexp.QuoteMeta(place) + " [0-9]"
	commit := strings.TrimSpace(git("log", "-1", "--format=%H", "-G", line, "--", "internal/archtest/"+languageFile))
	if commit == "" {
		return nil
	}
	return hunks(git("diff", "--unified=0", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", commit, "--", place))
}

// hunks returns "path:line" for the lines that a diff adds.
func hunks(diff string) map[string]bool {
	out := make(map[string]bool)
	path := ""
	for line := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			path = strings.TrimSpace(name)
		}
		m := hunk.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		first, _ := strconv.Atoi(m[1])
		n := 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		for i := range n {
			out[fmt.Sprintf("%s:%d", path, first+i)] = true
		}
	}
	return out
}

// TestLanguageFindsWordingsAndWidths checks small modules, whose files begin with the findings
// that they must have, as those of TestBrokenModulesHaveTheirFindings do.
func TestLanguageFindsWordingsAndWidths(t *testing.T) {
	archives, err := filepath.Glob("testdata/language/*.txt")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no modules in testdata/language (%v)", err)
	}
	found := make([]bool, len(wordings()))
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txt"), func(t *testing.T) {
			root := t.TempDir()
			want := unpack(t, archive, root)
			findings, err := CheckLanguage(root, wordings())
			if err != nil {
				t.Fatal(err)
			}
			for i := range max(len(findings), len(want)) {
				switch {
				case i >= len(findings):
					t.Errorf("not found: %s", want[i])
				case i >= len(want):
					t.Errorf("not wanted: %s", findings[i])
				default:
					compare(t, findings[i].String(), want[i])
				}
			}
			for i := range wordings() {
				alone, err := CheckLanguage(root, wordings()[i:i+1])
				if err != nil {
					t.Fatal(err)
				}
				found[i] = found[i] || slices.ContainsFunc(alone, func(f Finding) bool { return f.Rule != "width" })
			}
		})
	}
	for i, w := range wordings() {
		if !found[i] {
			t.Errorf("no module in testdata/language has %s", w.match)
		}
	}
}

func TestAllowancesOnlyFall(t *testing.T) {
	findings := []Finding{
		{"a/x.go", 1, "wording", ""},
		{"a/y.go", 2, "wording", ""},
		{"a/y.go", 3, "width", ""},
		{"docs/p.md", 4, "width", ""},
		{"docs/p.md", 5, "accent", ""},
	}
	tests := []struct {
		name, allowed string
		excess        []Finding
		lowered       string
	}{
		{"exact", "a 2 1 0\ndocs/p.md 0 1 1\n", nil, "a 2 1 0\ndocs/p.md 0 1 1\n"},
		{"fewer than allowed", "a 3 9 0\nb 1 1 0\ndocs/p.md 2 1 9 # a remark\n", nil, "a 2 1 0\ndocs/p.md 0 1 1\n"},
		{"one wording too many", "a 1 1 0\ndocs/p.md 0 1 1\n", findings[:2], "a 1 1 0\ndocs/p.md 0 1 1\n"},
		{"no line", "a 2 1 0\n", findings[3:], "a 2 1 0\n"},
		{"an accent too many", "a 2 1 0\ndocs/p.md 0 1 0\n", findings[4:], "a 2 1 0\ndocs/p.md 0 1 0\n"},
		{"an accent moved", "a 2 1 1\ndocs/p.md 0 1 0\n", findings[4:], "a 2 1 0\ndocs/p.md 0 1 1\n"},
		{"wordings and widths do not move", "a 3 3 1\n", findings[3:], "a 2 1 0\ndocs/p.md 0 0 1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			allowed, err := parseAllowances(tt.allowed)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.excess, exceeding(findings, allowed)); d != "" {
				t.Errorf("exceeding (-want +got):\n%s", d)
			}
			if d := cmp.Diff(languageHead+tt.lowered, format(lower(allowed, count(findings)))); d != "" {
				t.Errorf("lowered (-want +got):\n%s", d)
			}
		})
	}
	for _, bad := range []string{"a 1 1\n", "a x 1 1\n", "a 1 1 1\na 1 1 1\n"} {
		if _, err := parseAllowances(bad); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("parseAllowances(%q): error %v, want one with the line", bad, err)
		}
	}
}

func TestExplainListsChangedLines(t *testing.T) {
	diff := "--- a/a/x.go\n+++ b/a/x.go\n@@ -1 +2 @@\n-old\n+new\n@@ -9,0 +11,2 @@\n+one\n+two\n@@ -20,2 +22,0 @@\n-one\n-two\n"
	recent := hunks(diff)
	if d := cmp.Diff(map[string]bool{"a/x.go:2": true, "a/x.go:11": true, "a/x.go:12": true}, recent); d != "" {
		t.Errorf("hunks (-want +got):\n%s", d)
	}
	findings := func() []Finding { return []Finding{{"a/x.go", 3, "width", "old"}, {"a/x.go", 12, "width", "new"}} }
	got := explain("a", findings(), Allowance{Width: 2}, Allowance{Width: 1}, recent)
	if !strings.Contains(got, "a/x.go:12: width: new") || strings.Contains(got, "a/x.go:3") {
		t.Errorf("want the finding on a changed line alone:\n%s", got)
	}
	got = explain("a", findings(), Allowance{Width: 2}, Allowance{Width: 1}, nil)
	if !strings.Contains(got, "a/x.go:3: width: old") || !strings.Contains(got, "a/x.go:12: width: new") {
		t.Errorf("want both findings:\n%s", got)
	}
}
