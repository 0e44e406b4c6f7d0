package main

import (
	"strings"
	"testing"
)

// found is a tree in which -find has something to answer.
func findable(t *testing.T) string {
	t.Helper()
	return tree(t, map[string]string{
		"a/a.go": "package a\n\n// obeys R1 and R2 (RFC 8166 §4.5)\nvar x = 0\n\n// y: R4 (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3, §6.4)\n// as RFC 5044 §4.2.\nvar y = 0\n",
		"rdmaio/a_test.go": "package a\n\n// R4, R6\nfunc TestPeer() {}\n\n" +
			"// draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3\nfunc TestError() {}\n",
	})
}

// An answer begins with the document and the section, whatever the name that was asked for.
func TestFindNamesTheDocument(t *testing.T) {
	root := findable(t)
	const fourth = "R4 fourth\n  code a/a.go:6: y\n  test rdmaio/a_test.go:4: TestPeer\n"
	const errors = v2 + " §6.4.3 RDMA2_ERROR: Report Transport Error\n" + fourth +
		"citations of the section\n  code a/a.go:6: y\n  test rdmaio/a_test.go:7: TestError\n"
	for what, want := range map[string]string{
		"version-two 6.4.3":               errors,
		"version-two-00 §6.4.3":           errors,
		"v2§6.4.3":                        errors,
		v2 + " section 6.4.3.":            errors,
		"spec/" + v2 + ".txt, Sec. 6.4.3": errors,
		"Version 2 6.4.3":                 errors,
		"version-two appendix c.3":        v2 + " §C.3 Credit Management Changes\n" + fourth,
		"R4":                              fourth + "  from RFC 8166 §4.5 Error Handling\n  from RFC 5666 §3.8 RPC Call and Reply\n  from " + v2 + " §6.4.3 RDMA2_ERROR: Report Transport Error\n  from " + v2 + " §C.3 Credit Management Changes\n  from " + v1 + " §3.3 Flow Control\n",
		"RFC 5666 §3.8":                   "RFC 5666 §3.8 RPC Call and Reply\n" + fourth,
		"8167 5.3":                        "RFC 8167 §5.3 Using Chunks in Reverse-Direction Operations\nR6 sixth\n  test rdmaio/a_test.go:4: TestPeer\n",
		"rdmatcp 3.4":                     rdmatcp + " §3.4 Segment Field Definitions\nR7 seventh\n",
		"xchar 7":                         xchar + " §7 Security Considerations\n  no duty comes from this section, and nothing cites it\n",
		"RFC 5044 4.2":                    "RFC 5044 §4.2\ncitations of the section\n  code a/a.go:7: y\n",
		"version-two 6.4":                 v2 + " §6.4 Header Types Defined in RPC-over-RDMA version 2\ncitations of the section\n  code a/a.go:6: y\nsections below\n  §6.4.3 RDMA2_ERROR: Report Transport Error: R4, cited 2 times\n",
		"xchar":                           xchar + ": sections with duties or citations; docs/drafts.md has them in full\n  §2.1 Characteristics Model: R6\n",
		"rfc8166":                         "RFC 8166: sections with duties or citations; docs/rfc8166.md has them in full\n  §3.4.6 Write Chunks: R1\n  §4.5 Error Handling: R1, R4, cited once\n",
		"8.1.3":                           "RFC 8166 §8.1.3 Memory Protection\n  no duty comes from this section, and nothing cites it\n",
		"3.4.6":                           "RFC 8166 §3.4.6 Write Chunks\nR1 first\n  code a/a.go:3: x\n",
	} {
		if code, out := command(t, "-root", root, "-find", what); code != 0 || out != want {
			t.Errorf("-find %q: exit %d: found\n%s\nexpected\n%s", what, code, out, want)
		}
	}
}

// A number alone is a section of RFC 8166, and the answer says where else that number exists.
func TestFindOfANumberNamesOtherDocuments(t *testing.T) {
	root := findable(t)
	for what, want := range map[string]string{
		"4.5": "RFC 8166 §4.5 Error Handling\n",
		"4.6": "other documents have a section 4.6, too: -find \"version-two-07 4.6\"\n",
	} {
		if code, out := command(t, "-root", root, "-find", what); code != 0 || !strings.Contains(out, want) {
			t.Errorf("-find %q: exit %d: found\n%s\nexpected %q", what, code, out, want)
		}
	}
}

// Wrong names, sections and duties are answered with those that exist.
func TestFindSaysWhatExists(t *testing.T) {
	root := findable(t)
	for what, want := range map[string]string{
		"R8":              "found R8, expected a duty of docs/requirements.md, R1 to R7",
		"version-two 4.9": v2 + " has no section 4.9; it has 4, 4.1, 4.2, 4.3, 4.4, 4.5",
		"rdmatcp 3.9":     rdmatcp + " has no section 3.9; it has 3, 3.1, 3.2, 3.3, 3.4",
		"5.2.6":           `RFC 8166 has no section 5.2.6; it has 5; other documents have a section 5.2.6, too: -find "version-two 5.2.6", "version-two-07 5.2.6"`,
		"version-one 4.2": `found the document "version-one", expected one of these: RFC 8166, RFC 8167, `,
		"version-one":     `found "version-one", expected a duty, as R79, a section, as "version-two 4.2", or a document: RFC 8166, `,
		"RFC 5044 9":      "nothing cites RFC 5044 §9; cited are its sections 4.2",
		"RFC 5041 4":      `found the document "RFC 5041", expected one of these: `,
		"99":              "RFC 8166 has no section 99; it has 1, 2, 3, 4, 5, 6, 7, 8, 9\n",
	} {
		if code, out := command(t, "-root", root, "-find", what); code != 2 || !strings.HasPrefix(out, "speccheck: -find: "+want) {
			t.Errorf("-find %q: exit %d: found\n%s\nexpected %q", what, code, out, want)
		}
	}
}
