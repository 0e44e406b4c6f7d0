package main

import (
	"bytes"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/cases"
)

// Without the programs that it needs, a run skips, or fails where it is required; either way it
// names the packages.
func TestMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const linux = "apt-get install --no-install-recommends apt binutils"
	for _, tt := range []struct {
		name, env string
		args      []string
		code      int
	}{
		{"skip", "", nil, 0},
		{"by flag", "", []string{"-required"}, 1},
		{"by environment", witness.Required, nil, 1},
		{"flag above environment", witness.Required, []string{"-required=false"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(witness.Env, tt.env)
			var out, errs bytes.Buffer
			code := command(t.Context(), append(tt.args, "-cache", t.TempDir()), &out, &errs)
			text := out.String()
			if code != 0 {
				text = errs.String()
			}
			want := "guests run on Linux on amd64 only"
			if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
				want = linux
			}
			if code != tt.code || !strings.Contains(text, want) {
				t.Errorf("exit code %d, %q; want %d, %q", code, text, tt.code, want)
			}
			if code == 0 && !strings.HasPrefix(text, "SKIP  ") {
				t.Errorf("%q, want a line with SKIP", text)
			}
		})
	}
}

// A run that its limit ended is CUT, and has failed only if a case or the kernel had.
func TestCutRunHasNotFailed(t *testing.T) {
	for _, tt := range []struct {
		out  outcome
		want string
	}{
		{outcome{count: map[cases.Status]int{cases.Pass: 2, cases.Skip: 1}}, "passed: 2 passed, 0 failed, 1 skipped"},
		{outcome{count: map[cases.Status]int{cases.Pass: 2, cases.Cut: 1}, left: 3}, "CUT: 2 passed, 0 failed, 0 skipped, 1 cut, 3 not run"},
		{outcome{count: map[cases.Status]int{cases.Pass: 2}, left: 1}, "CUT: 2 passed, 0 failed, 0 skipped, 0 cut, 1 not run"},
		{outcome{count: map[cases.Status]int{cases.Cut: 1, cases.Fail: 1}}, "FAILED: 0 passed, 1 failed, 0 skipped, 1 cut, 0 not run"},
		{outcome{problems: 1}, "FAILED: 0 passed, 0 failed, 0 skipped"},
	} {
		if got := tt.out.verdict() + ": " + tt.out.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// The flags of INTEROPFLAGS reach the program as they are, characters of the shell included.
func TestMakeInteropPassesFlags(t *testing.T) {
	witness.Program(t, "make")
	cmd := exec.Command("make", "--no-print-directory", "-C", "../..", "interop", "KERNEL=backports", "SET=ci", "INTEROPFLAGS=-list -run ^(mpa/connect|tls/p.*)")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if want := "mpa/connect\ntls/probe\n"; err != nil || string(out) != want {
		t.Errorf("%v, %q; want %q\n%s", err, out, want, &errs)
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args      string
		code      int
		out, errs string // parts
	}{
		{"-list", 0, "boot/kernel\n", ""},
		{"-list -run ^mpa/connect$", 0, "mpa/connect\n", ""},
		{"-list -set ci -run ^nfs/null|^mpa/connect$", 0, "mpa/connect\n", ""},
		{"-run ^no/such$", 1, "", "no case of the set all matches"},
		{"-set few", 2, "", `-set "few": the sets are all and ci`},
		{"-timeout 0s", 2, "", "must be positive"},
		{"-run (", 2, "", "-run: "},
		{"-nothing", 2, "", "-nothing"},
		{"word", 2, "", `unexpected argument "word"`},
		{"-help", 0, "", "-kernel"},
		{"-help", 0, "", "5  -timeout ended the run"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := command(t.Context(), strings.Fields(tt.args), &out, &errs)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.errs) {
				t.Errorf("exit code %d, %q, %q; want %d, %q, %q", code, &out, &errs, tt.code, tt.out, tt.errs)
			}
		})
	}
}
