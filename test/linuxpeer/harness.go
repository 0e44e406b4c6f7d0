package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/cases"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/image"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/page"
)

// harness is one run.
type harness struct {
	settings
	stdout, stderr io.Writer
	start          time.Time
	dir            string // of this run: logs and captures
	image          *image.Image
	guests         *guests
	last           string // the last line of the output
}

// progress reports a step of long work.
func (h *harness) progress(format string, args ...any) {
	fmt.Fprintf(h.stderr, "linuxpeer: %5.1f s  %s\n", time.Since(h.start).Seconds(), fmt.Sprintf(format, args...))
}

// main reports whether no case failed.
func (h *harness) main(ctx context.Context) (ok bool, err error) {
	list := selected(h.set, h.run)
	if h.list {
		for _, c := range list {
			fmt.Fprintln(h.stdout, c.Name)
		}
		return true, nil
	}
	if len(list) == 0 {
		return false, fmt.Errorf("no case of the set %s matches %q: -list lists them", h.set, h.run)
	}
	if why := unable(); why != "" {
		if h.required {
			return false, errors.New(why)
		}
		fmt.Fprintln(h.stdout, "SKIP  linuxpeer:", why)
		return true, nil
	}
	recipe, err := image.NewRecipe(h.kernel)
	if err != nil {
		return false, err
	}
	h.image, err = image.Build(ctx, image.Options{
		Cache: h.cache, Recipe: recipe, Mirror: h.mirror, Rebuild: h.rebuild,
		Progress: func(m string) { h.progress("%s", m) },
	})
	if err != nil {
		return false, fmt.Errorf("build the guest: %w", err)
	}
	// A short path: the name of a Unix socket in it has at most 107 bytes.
	if h.dir, err = os.MkdirTemp("", "linuxpeer-"); err != nil {
		return false, err
	}
	defer func() {
		if ok && err == nil && !h.keep {
			err = os.RemoveAll(h.dir)
		} else {
			fmt.Fprintf(h.stderr, "linuxpeer: logs and captures are in %s\n", h.dir)
		}
		fmt.Fprint(h.stdout, h.last)
	}()
	if h.guests, err = h.prepare(ctx); err != nil {
		return false, err
	}
	g, err := h.guests.start(ctx)
	if err != nil {
		return false, err
	}
	h.progress("the guest is ready")
	if h.shell {
		return true, errors.Join(h.runShell(ctx, g), g.Close())
	}
	return h.cases(ctx, g, list)
}

// unable says why this machine cannot run guests, and how it could.
func unable() string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "guests run on Linux on amd64 only, this is " + runtime.GOOS + " on " + runtime.GOARCH
	}
	missing := append(image.Missing(), witness.Missing(guest.QEMU)...)
	if len(missing) == 0 {
		return ""
	}
	slices.Sort(missing)
	return "programs are not installed: apt-get install --no-install-recommends " + strings.Join(slices.Compact(missing), " ")
}

// errCut says that -timeout ended the run, and that no case had failed.
var errCut = errors.New("the time limit of the cases")

// cases runs the cases, within the limit of -timeout, and prints a line for each. It reports
// whether none failed.
func (h *harness) cases(ctx context.Context, g *guest.Guest, list []cases.Case) (bool, error) {
	all := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("%w, %v (-timeout)", errCut, h.timeout))
	defer cancel()
	env := &cases.Env{Kernel: h.image.Release, Dir: h.dir, Keep: h.keep, Size: h.size, Start: h.guests.start}
	env.Use(g)
	count := map[cases.Status]int{}
	var results []cases.Result
	var problems []guest.Problem
	for _, c := range list {
		if ctx.Err() != nil {
			break
		}
		res := env.Do(ctx, c)
		for try := 0; try < h.retries && res.Status == cases.Fail && ctx.Err() == nil; try++ {
			h.print("AGAIN", res)
			problems = append(problems, env.Close()...)
			res = env.Do(ctx, c)
		}
		results = append(results, res)
		count[res.Status]++
		h.print(string(res.Status), res)
	}
	problems = append(problems, env.Close()...)
	for _, p := range problems {
		fmt.Fprintf(h.stdout, "FAIL  between the cases: %s\n", p)
	}
	out := outcome{count: count, problems: len(problems), left: len(list) - len(results)}
	h.last = fmt.Sprintf("linuxpeer: %s: Linux %s: %s, %.0f s", out.verdict(), h.image.Release, out, time.Since(h.start).Seconds())
	if all.Err() == nil && out.cut() {
		h.last += fmt.Sprintf("; the limit for the cases is %v: -timeout %v gives them more (make interop INTEROPFLAGS='-timeout %[2]v')",
			h.timeout, 2*h.timeout)
	}
	h.last += "\n"
	switch {
	case all.Err() != nil:
		return false, context.Cause(all)
	case out.failed():
		return false, nil
	case out.cut():
		return false, errCut
	}
	return true, h.interop(all, results, out.String(), len(results) == len(cases.All()))
}

// print prints the line of a result and, if it failed, its log.
func (h *harness) print(status string, res cases.Result) {
	fmt.Fprintf(h.stdout, "%-4s  %-28s %6.2f s  %s\n", status, res.Name, res.Time.Seconds(), res.Text)
	if res.Status == cases.Fail || res.Status == cases.Cut || h.verbose {
		for _, line := range res.Log {
			fmt.Fprintln(h.stdout, "      "+strings.ReplaceAll(line, "\n", "\n      "))
		}
	}
}

// interop writes the page, or says where the run differs from it.
func (h *harness) interop(ctx context.Context, results []cases.Result, counts string, all bool) error {
	old, err := os.ReadFile(h.interopPage)
	if err != nil && !(h.write && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if !h.write {
		if diff := page.Compare(string(old), h.kernel, results, all); len(diff) > 0 {
			fmt.Fprintf(h.stdout, "NOTE  %s differs from this run; if the run is right: go run ./test/linuxpeer -write -kernel %s\n      %s\n",
				h.interopPage, h.kernel, strings.Join(diff, "\n      "))
		}
		return nil
	}
	commit, err := commit(ctx)
	if err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, guest.QEMU, "--version").Output()
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(version), "\n")
	series := strings.Join(strings.SplitN(h.image.Version, ".", 3)[:2], ".")
	s := page.Section{
		Kernel: h.kernel, Results: results, All: all,
		Run:      fmt.Sprintf("%s, %s: %s", time.Now().UTC().Format(time.DateOnly), commit, counts),
		Title:    "Linux " + series + " (`-kernel " + h.kernel + "`)",
		Versions: [][2]string{{"kernel", h.image.Release + ", Debian package " + h.image.Version}},
	}
	for _, c := range cases.All() {
		s.Cases = append(s.Cases, c.Name)
	}
	for _, name := range []string{"rdma-core", "librdmacm1", "nfs-kernel-server", "perftest"} {
		s.Versions = append(s.Versions, [2]string{name, h.image.Packages[name]})
	}
	for _, name := range []string{"ktls-utils", "libgnutls30t64", "nfs-kernel-server"} {
		if version, ok := h.image.Later[name]; ok {
			s.Versions = append(s.Versions, [2]string{name + " for TLS", version})
		}
	}
	s.Versions = append(s.Versions, [2]string{"emulator", strings.TrimPrefix(first, "QEMU emulator version ")})
	return os.WriteFile(h.interopPage, []byte(page.Write(string(old), s)), 0o644)
}
