package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// marked returns the lines of a document that begin with three slashes.
func marked(t *testing.T, document string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../spec", document))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range strings.Split(string(text), "\n") {
		if l, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "///"); ok {
			b.WriteString(strings.TrimPrefix(l, " ") + "\n")
		}
	}
	return b.String()
}

// TestDraftFaults checks that the findings in the XDR of the drafts are exactly the faults that
// spec/errata corrects, each at its position and with its name (D4).
func TestDraftFaults(t *testing.T) {
	for document, want := range map[string][]string{
		"draft-ietf-nfsv4-rpcrdma-version-two-00.txt": {
			"missing-equals const RPCRDMA2_F_RESPONSE           0x00000001;",
			"missing-equals const RPCRDMA2_F_MORE               0x00000002;",
			"missing-brace struct rpcrdma2_hdr_prefix",
			"reversed-typedef typedef rpcrdma2_propid uint32;",
			"undefined-type union rpcrdma2_error switch (rpcrdma2_errcode rdma_err) {",
			"duplicate-arm-name uint32 rdma_max_chunks;",
		},
		"draft-ietf-nfsv4-rpcrdma-version-two-07.txt": {
			"reversed-typedef typedef rpcrdma2_propid uint32;",
			"undefined-type union rpcrdma2_hdr_error switch (rpcrdma2_errcode rdma_err) {",
			"duplicate-arm-name uint32 rdma_max_chunks;",
		},
		"draft-dnoveck-nfsv4-rpcrdma-xcharext-01.txt": {
			"reversed-typedef typedef xcharid uint32;",
			"reversed-typedef typedef xcharspec xcharval<>;",
			"reversed-typedef typedef xcharsubset uint32<>;",
		},
	} {
		text := marked(t, document)
		file := filepath.Join(writeFiles(t, map[string]string{"u.x": text}), "u.x")
		stdout, _, code := runCommand(t, "check", "-format", "json", file)
		if code != exitFindings {
			t.Errorf("%s: exit code %d", document, code)
		}
		lines := strings.Split(text, "\n")
		var got []string
		warned := map[string]int{}
		for _, f := range parseFindings(t, stdout) {
			switch f.Severity {
			case "error":
				got = append(got, f.Rule+" "+strings.TrimSpace(lines[f.Where.Line-1]))
			case "warning":
				warned[f.Rule]++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", document, diff)
		}
		if n := strings.Count(text, "\nconst uint32 ") + strings.Count(text, "\nconst rpcrdma2_proc "); warned["typed-const"] != n {
			t.Errorf("%s: %d typed constants, expected %d", document, warned["typed-const"], n)
		}
	}
}
