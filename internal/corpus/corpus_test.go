package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type recorder struct{ skip, fatal string }

func (r *recorder) Helper()                           {}
func (r *recorder) Skipf(format string, args ...any)  { r.skip = fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.fatal = fmt.Sprintf(format, args...) }

func TestDir(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"mod/a/b", "shared/corpus", "other", "lone/mod"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"mod/go.mod", "lone/mod/go.mod", "file"} {
		if err := os.WriteFile(filepath.Join(top, f), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, wd, env     string
		want, skip, fatal string
	}{
		{name: "default", wd: "mod/a/b", want: "shared/corpus"},
		{name: "absolute", wd: "mod", env: filepath.Join(top, "other"), want: "other"},
		{name: "relative to the module", wd: "mod/a", env: "../other", want: "other"},
		{name: "absent", wd: "lone/mod", skip: "set CORPUS=DIR"},
		{name: "named and absent", wd: "mod", env: "nowhere", fatal: "CORPUS=nowhere"},
		{name: "named and a file", wd: "mod", env: "../file", fatal: "is not a folder"},
		{name: "outside a module", wd: "other", fatal: "no go.mod"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r recorder
			got := dir(&r, filepath.Join(top, tt.wd), tt.env)
			want := tt.want
			if want != "" {
				want = filepath.Join(top, want)
			}
			if got != want {
				t.Errorf("dir = %q, want %q", got, want)
			}
			if !strings.Contains(r.skip, tt.skip) || (tt.skip == "") != (r.skip == "") {
				t.Errorf("skip %q, want %q", r.skip, tt.skip)
			}
			if !strings.Contains(r.fatal, tt.fatal) || (tt.fatal == "") != (r.fatal == "") {
				t.Errorf("fatal %q, want %q", r.fatal, tt.fatal)
			}
		})
	}
}
