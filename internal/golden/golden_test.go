package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a TB that keeps the errors reported.
type recorder struct{ errors, fatals []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatals = append(r.fatals, fmt.Sprintf(format, args...))
}

func TestCheckReportsDifferences(t *testing.T) {
	tests := []struct {
		name   string
		file   string // content; "-" for no file
		got    string
		update bool
		want   string // part of the one error; empty for none
		after  string // content afterwards; "-" for no file
	}{
		{name: "equal", file: "a\nb\n", got: "a\nb\n", after: "a\nb\n"},
		{name: "equal, updating", file: "a\n", got: "a\n", update: true, after: "a\n"},
		{name: "differs", file: "a\nb\n", got: "a\nc\n", want: "- b\n+ c\n", after: "a\nb\n"},
		{name: "missing", file: "-", got: "a\n", want: "does not exist; run the test with -update", after: "-"},
		{name: "differs, updating", file: "a\n", got: "b\n", update: true, want: "refreshed", after: "b\n"},
		{name: "missing, updating", file: "-", got: "b\n", update: true, want: "review and run again", after: "b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "deep", "x.golden")
			if tt.file != "-" {
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tt.file), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			env := "0"
			if tt.update {
				env = "1"
			}
			t.Setenv(updateEnv, env)
			var r recorder
			Check(&r, path, []byte(tt.got))
			switch {
			case len(r.fatals) != 0:
				t.Fatalf("fatal: %q", r.fatals)
			case tt.want == "" && len(r.errors) != 0:
				t.Fatalf("errors %q, want none", r.errors)
			case tt.want != "" && (len(r.errors) != 1 || !strings.Contains(r.errors[0], tt.want)):
				t.Fatalf("errors %q, want one with %q", r.errors, tt.want)
			}
			data, err := os.ReadFile(path)
			after := string(data)
			if err != nil {
				after = "-"
			}
			if after != tt.after {
				t.Errorf("file holds %q afterwards, want %q", after, tt.after)
			}
		})
	}
}

func TestCheckUnreadable(t *testing.T) {
	var r recorder
	CheckString(&r, t.TempDir(), "x") // a folder is no golden file
	if len(r.fatals) != 1 || len(r.errors) != 0 {
		t.Errorf("fatals %q, errors %q; want one fatal", r.fatals, r.errors)
	}
}

func TestRefreshCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "x.golden"), filepath.Dir(file)} {
		var r recorder
		refresh(&r, path, []byte("x"))
		if len(r.fatals) != 1 || len(r.errors) != 0 {
			t.Errorf("%s: fatals %q, errors %q; want one fatal", path, r.fatals, r.errors)
		}
	}
}

func TestUpdatingFollowsFlagAndEnvironment(t *testing.T) {
	f := flag.Lookup(updateFlag)
	if f == nil {
		t.Fatal("flag -update is not registered")
	}
	was := f.Value.String()
	defer func() {
		if err := f.Value.Set(was); err != nil {
			t.Error(err)
		}
	}()
	tests := []struct {
		flag, env string
		want      bool
	}{
		{"false", "", false},
		{"true", "", true},
		{"false", "1", true},
		{"true", "0", false},
		{"true", "False", false},
	}
	for _, tt := range tests {
		t.Setenv(updateEnv, tt.env)
		if err := f.Value.Set(tt.flag); err != nil {
			t.Fatal(err)
		}
		if got := Updating(); got != tt.want {
			t.Errorf("-update=%s %s=%q: Updating() = %t, want %t", tt.flag, updateEnv, tt.env, got, tt.want)
		}
	}
}
