package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// A signal between two files stops the copy of a tree as a signal during a file does, even if the
// files are there already, because a tree without the rest must not look complete.
func TestSignalBetweenFiles(t *testing.T) {
	f := serve(t, "tcp")
	dest := filepath.Join(f.base, "dest")
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(f.dir, name), 10)
	}
	f.done(t, "get", "-r", target, dest)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	out := &trigger{at: `"unchanged"`, do: func() { cancel(&interrupted{syscall.SIGTERM}) }}
	p := &program{stdout: out, stderr: new(bytes.Buffer)}
	args := append(append([]string{"get"}, f.flags...), "-r", "-resume", "-json", target, dest)
	if code := p.report(p.run(ctx, args)); code != 143 || !strings.Contains(out.String(), "-resume goes on") {
		t.Errorf("exit code %d, expected 143: %s", code, &out.Buffer)
	}
}

// trigger calls do when a text is written.
type trigger struct {
	bytes.Buffer
	at string
	do func()
}

func (w *trigger) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.at)) {
		w.do()
	}
	return w.Buffer.Write(b)
}

// Names of the greatest length can be copied, whatever characters they have.
func TestLongNames(t *testing.T) {
	f := serve(t, "tcp")
	for _, name := range []string{strings.Repeat("x", 255), strings.Repeat("é", 127), strings.Repeat("😀", 63), strings.Repeat("\xff", 255)} {
		data := write(t, filepath.Join(f.dir, name), 100)
		f.done(t, "get", "-r", "-window", "10", target, filepath.Join(f.base, "dest"))
		same(t, filepath.Join(f.base, "dest", name), data)
		check(t, os.Remove(filepath.Join(f.dir, name)))
	}
}

// The text of an error has no character of a server's name that a terminal obeys, also if the error
// is one of the system.
func TestErrorText(t *testing.T) {
	f := serve(t, "tcp")
	dest, name := filepath.Join(f.base, "dest"), "a\x1b]0;b\ac\x9b2J\nnfs3: d"
	check(t, os.Mkdir(dest, 0o755))
	write(t, filepath.Join(dest, name), 1)
	check(t, os.Symlink("e", filepath.Join(f.dir, name)))
	_, errs, code := f.run(t.Context(), "get", "-r", target, dest)
	if code != 3 || !strings.Contains(errs, `a\x1b]0;b\ac`) || strings.ContainsAny(errs, "\x1b\a") || strings.Contains(errs, "\x9b") || strings.Contains(errs, "\nnfs3: d") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// A copy to a destination that takes nothing ends with the first file: 1,000 more would fail, too.
func TestFullDestination(t *testing.T) {
	f := serve(t, "tcp")
	s, err := nfsd.New(nfsd.Config{Dir: f.dir, State: filepath.Join(f.base, "second"), ReadOnly: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	f.listen(t, "tcp", s.Handler())
	source := filepath.Join(f.base, "source")
	for _, dir := range []string{source, filepath.Join(f.dir, "copy")} {
		check(t, os.Mkdir(dir, 0o755))
	}
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(source, name), 10)
	}
	_, errs, code := f.run(t.Context(), "put", "-r", source, target+"/copy")
	if code != 4 || strings.Count(errs, "NFS3ERR_ROFS") != 1 {
		t.Errorf("exit code %d, expected 4 and one error: %s", code, errs)
	}
}

// A name that is not UTF-8 is in JSON, too, in base64.
func TestNamesInJSON(t *testing.T) {
	f := serve(t, "tcp")
	write(t, filepath.Join(f.dir, "a\xff"), 1)
	out := f.done(t, "ls", "-json", target)
	var entry struct {
		Bytes []byte `json:"name_base64"`
	}
	if err := json.Unmarshal([]byte(out), &entry); err != nil || string(entry.Bytes) != "a\xff" {
		t.Errorf("%s: %v, %q", out, err, entry.Bytes)
	}
	write(t, filepath.Join(f.dir, "plain"), 1)
	check(t, os.Remove(filepath.Join(f.dir, "a\xff")))
	if out := f.done(t, "ls", "-json", target); strings.Contains(out, "base64") {
		t.Error(out)
	}
}
