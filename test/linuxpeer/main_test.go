package main

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
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

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args      string
		code      int
		out, errs string // parts
	}{
		{"-list", 0, "boot/kernel\n", ""},
		{"-list -run ^mpa/connect$", 0, "mpa/connect\n", ""},
		{"-run ^no/such$", 1, "", "no case matches"},
		{"-run (", 2, "", "-run: "},
		{"-nothing", 2, "", "-nothing"},
		{"word", 2, "", `unexpected argument "word"`},
		{"-help", 0, "", "-kernel"},
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
