// Package golden compares the output of a test with a file that was reviewed and committed. A run
// with -update (or GOLDEN_UPDATE=1) rewrites the files and fails: the change has to be reviewed.
// The next run without it compares with the rewritten files.
//
//	golden.Check(t, "testdata/ok/list.go.golden", out)
package golden

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// updateFlag is the name of the test flag, and updateEnv of the environment
// variable for runs over packages that do not know the flag.
const (
	updateFlag = "update"
	updateEnv  = "GOLDEN_UPDATE"
)

// The flag has to exist before the test binary parses its arguments, so it is
// registered here and read through flag.Lookup. Nothing else is global.
var _ = flag.Bool(updateFlag, false, "rewrite golden files and fail, so that they are reviewed")

// TB is the part of testing.TB that Check uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Check reports an error unless the file at path, relative to the test's
// folder, holds exactly got. The error shows the lines that differ. In an
// update run it writes the file if needed, makes missing folders, and reports
// an error for each file that it wrote.
func Check(t TB, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		t.Fatalf("golden: %v", err)
	case !missing && bytes.Equal(want, got):
	case Updating():
		refresh(t, path, got)
	case missing:
		t.Errorf("golden: %s does not exist; run the test with -%s to write it, review it, and run again", path, updateFlag)
	default:
		t.Errorf("golden: output differs from %s (- file, + output); if the output is right, run with -%s, review and run again\n%s",
			path, updateFlag, Diff(want, got))
	}
}

// CheckString is Check for text.
func CheckString(t TB, path, got string) {
	t.Helper()
	Check(t, path, []byte(got))
}

// Updating reports whether this run rewrites golden files: by the environment variable if it is set
// (0 and false mean no), else by the flag. Tests with a folder of golden files use it to remove
// those that are no longer produced.
func Updating() bool {
	if on := os.Getenv(updateEnv); on != "" {
		return on != "0" && !strings.EqualFold(on, "false")
	}
	f := flag.Lookup(updateFlag)
	return f != nil && f.Value.String() == "true"
}

// refresh writes got to path and fails the test.
func refresh(t TB, path string, got []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatalf("golden: %v", err)
		return
	}
	if err := os.WriteFile(path, got, 0o666); err != nil {
		t.Fatalf("golden: %v", err)
		return
	}
	t.Errorf("golden: refreshed %s: review and run again without -%s", path, updateFlag)
}
