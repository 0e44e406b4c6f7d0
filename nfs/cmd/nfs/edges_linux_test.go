package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A directory whose mode lets no one add files is completed, also by another user than root.
func TestReadOnlyDirectoryAgain(t *testing.T) {
	if os.Geteuid() == 0 {
		check(t, syscall.Setreuid(-1, 65534))
		t.Cleanup(func() { check(t, syscall.Setreuid(-1, 0)) })
	}
	f := serve(t, "tcp")
	d, dest := filepath.Join(f.dir, "d"), filepath.Join(f.base, "dest")
	check(t, os.Mkdir(d, 0o755))
	write(t, filepath.Join(d, "a"), 10)
	check(t, os.Chmod(d, 0o555))
	f.done(t, "get", "-r", target, dest)
	check(t, os.Chmod(d, 0o755))
	data := write(t, filepath.Join(d, "b"), 10)
	check(t, os.Chmod(d, 0o555))
	_, errs, code := f.run(t.Context(), "get", "-r", "-resume", target, dest)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	same(t, filepath.Join(dest, "d", "b"), data)
	_ = os.Chmod(d, 0o755)
	_ = os.Chmod(filepath.Join(dest, "d"), 0o755)
}
