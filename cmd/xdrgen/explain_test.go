package main

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
)

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"XDR0101", exitClean, "XDR0101 undefined-type (error)\n", ""},
		{"undefined-type", exitClean, "XDR0101 undefined-type (error)\n", ""},
		{"xdr0101 XDR0702", exitClean, "\n\nXDR0702 bare-unsigned (warning)\n", ""},
		{"-list", exitClean, "XDR0702 warning  bare-unsigned            write unsigned int\n", ""},
		{"XDL0101", exitClean, "XDL0101 unbounded-data (lint)\n", ""},
		{"field-added", exitClean, "field-added (compat)\n", ""},
		{"unbounded-dat", exitUsage, "", "did you mean unbounded-data?"},
		{"", exitUsage, "", "no code: expected one such as XDR0101"},
		{"undefined-typ", exitUsage, "", "did you mean undefined-type?"},
		{"zzz", exitUsage, "", "xdrgen explain -list shows all"},
		{"-list XDR0101", exitUsage, "", "expected one of the two"},
	} {
		stdout, stderr, code := runCommand(t, append([]string{"explain"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("explain %s: exit code %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
	stdout, _, _ := runCommand(t, "explain", "-list")
	if n := strings.Count(stdout, "\n"); n != len(diag.Rules())+len(otherRules()) {
		t.Errorf("%d lines for %d rules", n, len(diag.Rules())+len(otherRules()))
	}
}
