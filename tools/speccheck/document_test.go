package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The contents agree with the documents in spec: each section with its title begins a line there,
// in order.
func TestContentsFollowTheDocuments(t *testing.T) {
	for _, d := range documents {
		if len(contents[d.name]) == 0 {
			t.Errorf("%s has no contents", d.name)
		}
		seen := map[string]bool{}
		for _, h := range contents[d.name] {
			if h.title == "" || seen[h.number] {
				t.Errorf("%s §%s has no title, or is listed twice", d.name, h.number)
			}
			if up := parent(h.number); up != "" && !seen[up] {
				t.Errorf("%s §%s comes before §%s", d.name, h.number, up)
			}
			seen[h.number] = true
		}
		file := filepath.Join("../../spec", strings.ToLower(strings.ReplaceAll(d.name, " ", ""))+".txt")
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) { // most RFCs are not in spec
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var titles []string
		for line := range strings.Lines(string(text)) {
			titles = append(titles, strings.Join(strings.Fields(line), " "))
		}
		for _, h := range contents[d.name] {
			head := regexp.MustCompile(`^(?:Appendix )?` + regexp.QuoteMeta(h.number) + `\.? ` + regexp.QuoteMeta(h.title) + `:?$`)
			for len(titles) > 0 && !head.MatchString(titles[0]) && !wrapped(titles, h) {
				titles = titles[1:]
			}
			if len(titles) == 0 {
				t.Errorf("%s: found no line with %s %s", file, h.number, h.title)
				break
			}
		}
	}
}

// wrapped reports whether the title of h takes two lines, of which the first is lines[0].
func wrapped(lines []string, h heading) bool {
	return len(lines) > 1 && strings.TrimPrefix(lines[0], h.number+". ")+" "+lines[1] == h.title
}

func TestDocumentsAreFoundByManyNames(t *testing.T) {
	for name, want := range map[string]string{
		"RFC 8166": rfc8166, "rfc8166": rfc8166, "8166": rfc8166, "RFC-8167": rfc8167, "bidir": rfc8167,
		"version-two": v2, "version-two-00": v2, "V2": v2, "Version 2": v2, v2: v2, v2 + ".txt": v2, "spec/" + v2 + ".txt": v2,
		"draft-ietf-nfsv4-rpcrdma-version-two": v2, "version-two-07": v207, v207: v207,
		"xchar": xchar, "xcharext-01": xchar, "rdmatcp": rdmatcp, rdmatcp: rdmatcp, "V1": v1, v1: v1, "rpcrdma-08": v1,
		"": "", "version-three": "", "RFC 9999": "", "4.2": "",
	} {
		got := ""
		if d := called(name); d != nil {
			got = d.name
		}
		if got != want {
			t.Errorf("%q: found %q, expected %q", name, got, want)
		}
	}
	for i := range documents {
		if d := &documents[i]; called(d.short()) != d {
			t.Errorf("%s is not found by the name %q that messages use", d.name, d.short())
		}
	}
}

func TestNearestSections(t *testing.T) {
	for number, want := range map[string][]string{
		"4.9":     {"4", "4.1", "4.2", "4.3", "4.4", "4.5"},
		"4.9.1":   {"4", "4.1", "4.2", "4.3", "4.4", "4.5"},
		"4.3.7.1": {"4.3", "4.3.1", "4.3.2", "4.3.3"},
		"A.9":     {"A", "A.1", "A.2", "A.3", "A.4"},
		"99":      {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "A", "B", "C"},
	} {
		if diff := cmp.Diff(want, lookup(v2).nearest(number)); diff != "" {
			t.Errorf("%s: %s", number, diff)
		}
	}
}
