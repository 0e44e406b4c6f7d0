package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// campaign tries mutants.
type campaign struct {
	root  string
	list  []mutant
	limit time.Duration // of the tests of a package with a mutant
	jobs  int           // mutants tried at the same time
	alone bool          // build each mutant alone

	room  *room                // nil if alone
	tests map[string]*baseline // by package

	mu   sync.Mutex // guards the rest
	w    io.Writer
	done int
	sum  map[result]int
	live []string
}

// baseline is a package's tests without a mutant. They run when the first mutant needs them.
type baseline struct {
	once   sync.Once
	binary *binary // nil if the tests need a build alone
	err    error
}

// errUnsound is the error of tests that fail without a mutant.
var errUnsound = errors.New("every mutant would count as killed: mend the tests first")

// run runs the tests without mutants and then with each, prints the results, and returns the exit
// code.
func (c *campaign) run(ctx context.Context) int {
	if len(c.list) == 0 {
		fmt.Fprintln(c.w, "no mutant is chosen: -list prints them all")
		return 2
	}
	start := time.Now()
	c.sum, c.tests = make(map[result]int), make(map[string]*baseline)
	for _, m := range c.list {
		for _, pkg := range m.tests {
			c.tests[pkg] = new(baseline)
		}
	}
	if err := c.prepare(ctx); err != nil {
		fmt.Fprintln(c.w, err)
		return 2
	}
	if c.room != nil {
		defer c.room.remove()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.parallel(len(c.list), func(i int) {
		if ctx.Err() == nil {
			if err := c.attempt(ctx, i+1); err != nil {
				stop(err)
			}
		}
	})
	if err := context.Cause(ctx); errors.Is(err, errUnsound) {
		fmt.Fprintln(c.w, err)
		return 2
	}
	for _, line := range c.live {
		fmt.Fprintln(c.w, "LIVES:", line)
	}
	fmt.Fprintf(c.w, "%d mutants killed, %d more hang, %d live, %d too slow for a verdict, %d could not be tried (%v)\n",
		c.sum[fails], c.sum[hangs], c.sum[passes], c.sum[slow], c.sum[unbuilt], since(start))
	if ctx.Err() != nil || c.sum[passes]+c.sum[slow]+c.sum[unbuilt] > 0 {
		return 1
	}
	return 0
}

// prepare builds the mutants that fit in one build.
func (c *campaign) prepare(ctx context.Context) (err error) {
	if c.alone {
		fmt.Fprintf(c.w, "%d mutants, each built alone\n", len(c.list))
		return nil
	}
	if c.room, err = newRoom(ctx, c.root, c.list); err != nil {
		return err
	}
	fmt.Fprintf(c.w, "%d mutants, %d of them in one build\n", len(c.list), len(c.list)-len(c.room.alone))
	return nil
}

// parallel calls f for 0 to n-1, jobs of them at a time.
func (c *campaign) parallel(n int, f func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, c.jobs) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// base returns the built tests of a package, or nil if they need a build alone. The first call
// requires that they pass without a mutant.
func (c *campaign) base(ctx context.Context, pkg string) (*binary, error) {
	b := c.tests[pkg]
	b.once.Do(func() { b.binary, b.err = c.baseline(ctx, pkg) })
	return b.binary, b.err
}

func (c *campaign) baseline(ctx context.Context, pkg string) (*binary, error) {
	start := time.Now()
	unsound := func(r run) error {
		return fmt.Errorf("%s\nthe tests of %s fail without a mutant (%v): %w", r.out, pkg, r.result, errUnsound)
	}
	if c.alone {
		if r := goTest(ctx, c.root, "", pkg, 4*c.limit); r.result != passes {
			return nil, unsound(r)
		}
		c.print("%-60s pass without a mutant (%v)", pkg, since(start))
		return nil, nil
	}
	b, err := c.room.build(ctx, pkg)
	if err != nil {
		return nil, err
	}
	built := since(start)
	start = time.Now()
	if r := b.run(ctx, 0, 4*c.limit); r.result != passes {
		if plain := goTest(ctx, c.root, "", pkg, 4*c.limit, "-failfast=false"); plain.result != passes {
			return nil, unsound(plain)
		}
		b.skip = r.tests
		start = time.Now()
		if again := b.run(ctx, 0, 4*c.limit); len(b.skip) == 0 || again.result != passes {
			c.print("%-60s fails in the common build without a mutant (%v): its mutants are built alone\n%s", pkg, again.result, again.out)
			return nil, nil
		}
		c.print("%-60s runs these tests only with mutants built alone, since they fail in the common build: %v", pkg, b.skip)
	}
	// A run that takes far longer than that without a mutant is hung.
	b.limit = min(c.limit, 20*time.Second+8*time.Since(start))
	c.print("%-60s pass without a mutant (built in %v, ran in %v)", pkg, built, since(start))
	return b, nil
}

func (c *campaign) print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.w, format+"\n", args...)
}

// attempt tries a mutant and prints the result. It returns an error if the tests fail without a
// mutant.
func (c *campaign) attempt(ctx context.Context, number int) error {
	m, start := &c.list[number-1], time.Now()
	v, err := c.try(ctx, number)
	if err != nil || ctx.Err() != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.sum[v.result]++
	fmt.Fprintf(c.w, "%3d/%d %-60s ", c.done, len(c.list), m.name)
	switch {
	case v.err != nil:
		fmt.Fprint(c.w, v.err)
	case v.result == passes:
		fmt.Fprint(c.w, "LIVES")
		c.live = append(c.live, m.file+": "+m.name)
	case v.over.test != "":
		fmt.Fprintf(c.w, "%v in %s in %s", v.result, v.over.test, v.pkg)
	case len(v.tests) > 0:
		fmt.Fprintf(c.w, "%v by %s in %s", v.result, v.tests[0], v.pkg)
	default:
		fmt.Fprintf(c.w, "%v in %s", v.result, v.pkg)
	}
	if v.alone != "" {
		fmt.Fprintf(c.w, " (built alone: %s)", v.alone)
	}
	fmt.Fprintf(c.w, " (%v)\n", since(start))
	return nil
}

// verdict is the result of all tests of a mutant.
type verdict struct {
	run
	pkg   string // whose tests failed
	alone string // why the mutant was built alone
	err   error
}

// try runs a mutant's tests until the first fails. It returns an error if they fail without a
// mutant.
func (c *campaign) try(ctx context.Context, number int) (v verdict, _ error) {
	m := &c.list[number-1]
	why := ""
	if c.room != nil {
		why = c.room.alone[number]
	}
	overlay, remove, err := m.overlay(c.root)
	if err != nil {
		return verdict{run: run{result: unbuilt}, err: err}, nil
	}
	defer remove()
	v.alone = why
	var skipped []*binary
	for _, pkg := range m.tests {
		b, err := c.base(ctx, pkg)
		switch {
		case err != nil:
			return v, err
		case b == nil || why != "":
			v.run = patiently(c.limit, func(limit time.Duration) run { return goTest(ctx, c.root, overlay, pkg, limit) })
		default:
			v.run = patiently(b.limit, func(limit time.Duration) run { return b.run(ctx, number, limit, "-test.failfast") })
			if len(b.skip) > 0 {
				skipped = append(skipped, b)
			}
		}
		if v.result != passes {
			return v.in(pkg), nil
		}
	}
	for _, b := range skipped {
		v.run = patiently(c.limit, func(limit time.Duration) run {
			return goTest(ctx, c.root, overlay, b.pkg, limit, "-run", exactly(b.skip))
		})
		if v.result != passes {
			return v.in(b.pkg), nil
		}
	}
	return v, nil
}

// in returns the verdict of tests of pkg that do not pass.
func (v verdict) in(pkg string) verdict {
	v.pkg = pkg
	if v.result == unbuilt {
		v.err = fmt.Errorf("does not compile: %s", v.out)
	}
	return v
}

func since(start time.Time) time.Duration { return time.Since(start).Round(100 * time.Millisecond) }
