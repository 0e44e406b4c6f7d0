package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// builder builds the test binaries of packages, each once, and runs them.
type builder struct {
	root     string // absolute
	module   string // the root module; paths of the others begin with it
	cache    string // of the go command, for inputs
	temp     string
	binaries map[string]*binary // by kind and folder
}

// binary is the result of building one.
type binary struct {
	path string
	out  []byte
	err  error
}

func newBuilder(root string) (*builder, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	b := &builder{root: root, binaries: make(map[string]*binary)}
	for _, q := range []struct {
		value *string
		args  []string
	}{{&b.module, []string{"list", "-m"}}, {&b.cache, []string{"env", "GOCACHE"}}} {
		cmd := exec.Command("go", q.args...)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "GOWORK=off") // go list -m prints all modules of go.work
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go %s: %w", strings.Join(q.args, " "), err)
		}
		*q.value = strings.TrimSpace(string(out))
	}
	b.temp, err = os.MkdirTemp("", "fuzzrun-")
	return b, err
}

func (b *builder) close() { _ = os.RemoveAll(b.temp) }

// build builds a package's test binary with flags, or returns the binary that it built before with
// the same flags.
func (b *builder) build(ctx context.Context, kind, dir string, flags ...string) *binary {
	key := kind + " " + dir
	if b.binaries[key] == nil {
		made := &binary{path: filepath.Join(b.temp, fmt.Sprintf("%d.test", len(b.binaries)))}
		cmd := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c", "-o", made.path}, flags...), "./"+dir)...)
		cmd.Dir = b.root
		if made.out, made.err = cmd.CombinedOutput(); made.err != nil {
			made.err = fmt.Errorf("go test -c: %w", made.err)
		}
		b.binaries[key] = made
	}
	return b.binaries[key]
}

// fuzzing returns the test binary of a package with the instrumentation for fuzzing.
func (b *builder) fuzzing(ctx context.Context, dir string) *binary {
	return b.build(ctx, "fuzz", dir, "-fuzz=^Fuzz")
}

// result is the result of running a target.
type result struct {
	out        []byte
	executions int
	cpu        time.Duration // of the engine and the target
	kept       string        // the corpus that was kept, for people
}

// rate returns the executions in each second of a time.
func (r *result) rate(d time.Duration) int {
	if d <= 0 {
		return 0
	}
	return int(float64(r.executions) / d.Seconds())
}

// cached returns the folder of the cache with the inputs of a target.
func (b *builder) cached(t target) string {
	return filepath.Join(b.cache, "fuzz", path.Join(b.module, t.dir), t.name)
}

// fuzz runs a target for a time.
func (b *builder) fuzz(ctx context.Context, t target, s settings) (r result, err error) {
	if s.time == 0 {
		return result{}, nil
	}
	cache := filepath.Dir(b.cached(t))
	r.out, r.cpu, err = b.engine(ctx, t, cache, nil, "-test.fuzztime="+s.time.String(), "-test.fuzzminimizetime="+s.minimize, "-test.parallel="+strconv.Itoa(s.parallel))
	if timeOver.Match(r.out) {
		err = nil
	}
	r.executions = executions(r.out)
	return r, err
}

// timeOver matches the output of a target that failed only because its time ended while its workers
// were busy: the engine sometimes reports its own deadline as a failure
// (https://go.dev/issue/75804). No input failed in this case.
var timeOver = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL$`)

// endWait is the time that an interrupted target has to end.
const endWait = 10 * time.Second

// engine runs the engine on a target, with the cache of inputs in a folder, and returns its output
// and the processor time that it took.
func (b *builder) engine(ctx context.Context, t target, cache string, env []string, args ...string) ([]byte, time.Duration, error) {
	bin := b.fuzzing(ctx, t.dir)
	if bin.err != nil {
		return bin.out, 0, bin.err
	}
	cmd := exec.CommandContext(ctx, bin.path, append([]string{
		"-test.run=^$", "-test.fuzz=^" + t.name + "$", "-test.fuzzcachedir=" + cache,
	}, args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(t.dir))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endWait
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(out) == 0 {
		err = fmt.Errorf("%w, without output", err)
	}
	cpu := time.Duration(0)
	if cmd.ProcessState != nil {
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return out, cpu, err
}

var progress = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, execs: (\d+) `)

// executions returns the last count of executions that the engine printed, or 0.
func executions(out []byte) int {
	all := progress.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.Atoi(string(all[len(all)-1][1]))
	if err != nil {
		return 0
	}
	return n
}
