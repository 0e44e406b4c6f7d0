package diag

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

func someFindings() []Diagnostic {
	f := source.NewFile("dir a/50%,x:y.x", []byte("const é = 1;\nstruct é {\n  int x;\n};\n"))
	return []Diagnostic{
		New(DuplicateName, source.Span{File: f, Start: 21, End: 23}, "é is declared\nalready").
			With(source.Span{File: f, Start: 6, End: 8}, "declared here").Note("100%% sure"),
		New(BareUnsigned, source.Span{File: f, Start: 0, End: 20}, "over two lines"),
		New(IncludeNotFound, source.Span{}, "nowhere"),
		New(BareUnsigned, source.Span{File: f, Start: 0, End: 5}, "again"),
	}
}

func TestGitHub(t *testing.T) {
	want := []string{
		"::error file=dir a/50%25%2Cx%3Ay.x,line=2,col=8,endColumn=9,title=XDR0103 duplicate-name::" +
			"é is declared�already%0Adeclared here: dir a/50%25,x:y.x:1:7%0Anote: 100%25 sure%0Arule: RFC 4506 §6.4 (3)%0Ahelp: rename one of the two\n",
		"::warning file=dir a/50%25%2Cx%3Ay.x,line=1,endLine=2,title=XDR0702 bare-unsigned::over two lines%0Arule: RFC 4506 §6.3%0Ahelp: write unsigned int\n",
		"::error title=XDR0601 include-not-found::nowhere%0Ahelp: check the name, or give the folder above it with -I\n",
	}
	for i, w := range want {
		var b strings.Builder
		if err := WriteGitHub(&b, someFindings()[i]); err != nil || b.String() != w {
			t.Errorf("%d: %v\n got %s\nwant %s", i, err, b.String(), w)
		}
	}
}

// TestFindingsAreSARIF checks the log against the standard: required properties, references between
// objects, ranges of values.
func TestFindingsAreSARIF(t *testing.T) {
	for _, ds := range [][]Diagnostic{nil, someFindings()} {
		var b bytes.Buffer
		if err := WriteSARIF(&b, ds); err != nil {
			t.Fatal(err)
		}
		var log map[string]any
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		if log["version"] != "2.1.0" || !strings.HasSuffix(log["$schema"].(string), "sarif-2.1.0.json") {
			t.Errorf("head %v %v", log["version"], log["$schema"])
		}
		runs := log["runs"].([]any)
		run := runs[0].(map[string]any)
		driver := run["tool"].(map[string]any)["driver"].(map[string]any)
		rules, results := driver["rules"].([]any), run["results"].([]any)
		if len(runs) != 1 || driver["name"] != "xdrgen" || run["columnKind"] != "unicodeCodePoints" || len(results) != len(ds) {
			t.Errorf("run %v", run)
		}
		seen := map[any]bool{}
		for _, r := range rules {
			id := r.(map[string]any)["id"]
			if seen[id] {
				t.Errorf("rule %v twice", id)
			}
			seen[id] = true
		}
		for i, r := range results {
			checkResult(t, ds[i], r.(map[string]any), rules)
		}
	}
}

func checkResult(t *testing.T, d Diagnostic, r map[string]any, rules []any) {
	t.Helper()
	rule := rules[int(r["ruleIndex"].(float64))].(map[string]any)
	if rule["id"] != r["ruleId"] || r["ruleId"] != d.Rule.Info().Code || r["level"] != d.Severity.String() {
		t.Errorf("rule %v of result %v", rule, r)
	}
	if text := r["message"].(map[string]any)["text"].(string); !strings.HasPrefix(text, clean(d.Message)) {
		t.Errorf("message %q", text)
	}
	locations, _ := r["locations"].([]any)
	if (len(locations) == 1) != d.Span.Valid() {
		t.Errorf("locations %v", locations)
	}
	related, _ := r["relatedLocations"].([]any)
	if len(related) != len(d.Related) {
		t.Errorf("related %v", related)
	}
	for _, l := range append(locations, related...) {
		physical := l.(map[string]any)["physicalLocation"].(map[string]any)
		if uri := physical["artifactLocation"].(map[string]any)["uri"]; uri != "dir%20a/50%25,x:y.x" {
			t.Errorf("uri %v", uri)
		}
		region := physical["region"].(map[string]any)
		n := func(k string) float64 { return region[k].(float64) }
		if n("startLine") < 1 || n("startColumn") < 1 || n("endLine") < n("startLine") || n("endLine") == n("startLine") && n("endColumn") < n("startColumn") {
			t.Errorf("region %v", region)
		}
	}
}
