package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// keptPrefix begins the names of the files that -keep writes and deletes.
const keptPrefix = "kept-"

// input is a file of a corpus.
type input struct {
	data []byte
	file string // that it was read from
	kept bool   // it is in the repository
	bits int    // of coverage that it adds to the inputs before it
}

// name returns the name of the file: the same input always has the same.
func (in input) name() string {
	return fmt.Sprintf("%s%.8x", keptPrefix, sha256.Sum256(in.data))
}

// folder returns the folder of the target's inputs in the repository.
func (t target) folder(root string) string {
	return filepath.Join(root, filepath.FromSlash(t.dir), "testdata", "fuzz", t.name)
}

// corpus returns the number and the size of the kept inputs of a target.
func (t target) corpus(root string) (files int, size int64) {
	names, _ := filepath.Glob(filepath.Join(t.folder(root), keptPrefix+"*"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			files, size = files+1, size+info.Size()
		}
	}
	return files, size
}

// read returns the inputs in the files that a pattern matches.
func read(pattern string, kept bool) ([]input, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var all []input
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, input{data: data, file: name, kept: kept})
	}
	return all, nil
}

// keep writes the inputs of a target that together reach most code to the repository, and deletes
// all others of its own.
func (b *builder) keep(ctx context.Context, t target, s settings, r *result) (err error) {
	dir := t.folder(b.root)
	old, err := read(filepath.Join(dir, keptPrefix+"*"), true)
	if err != nil {
		return err
	}
	cached, err := read(filepath.Join(b.cached(t), "*"), false)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	var all []input
	for _, in := range append(slices.Clone(old), cached...) {
		if name := in.name(); !seen[name] && len(in.data) <= s.bytes {
			seen[name] = true
			all = append(all, in)
		}
	}
	// The engine runs the inputs in the repository before all others, so those to choose from
	// are not there meanwhile.
	if err := replace(dir, old, nil); err != nil {
		return err
	}
	chosen := old
	defer func() { err = errors.Join(err, replace(dir, nil, chosen)) }()
	found, out, err := b.choose(ctx, t, all, s.inputs)
	if err != nil {
		r.out = out
		return err
	}
	chosen = found
	size := 0
	for _, in := range chosen {
		size += len(in.data)
	}
	r.kept = fmt.Sprintf(": kept %d of %d inputs, %d bytes", len(chosen), len(all), size)
	return nil
}

// replace deletes the files of dropped inputs and writes the files of new ones. The folder exists
// while it has files.
func replace(dir string, remove, write []input) error {
	for _, in := range remove {
		if err := os.Remove(in.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if len(write) > 0 {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	for _, in := range write {
		if err := os.WriteFile(filepath.Join(dir, in.name()), in.data, 0o666); err != nil {
			return err
		}
	}
	for range 3 { // TARGET, fuzz, testdata: fails if it has files
		_ = os.Remove(dir)
		dir = filepath.Dir(dir)
	}
	return nil
}

// choose returns at most n inputs that reach more code than the seeds of the target do, those that
// add most first. If the engine fails, it returns its output.
func (b *builder) choose(ctx context.Context, t target, all []input, n int) ([]input, []byte, error) {
	seeds, out, err := b.count(ctx, t, nil)
	if err != nil {
		return nil, out, err
	}
	if all, out, err = b.accepted(ctx, t, all, seeds); err != nil {
		return nil, out, err
	}
	// First those that are kept already, so that a corpus changes only for a gain, and then small
	// ones.
	slices.SortFunc(all, func(a, b input) int {
		if a.kept != b.kept {
			if a.kept {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(len(a.data), len(b.data)), strings.Compare(string(a.data), string(b.data)))
	})
	// Inputs with much new code make many others superfluous: they go first the second time. The
	// third time shows which were new only by chance, by the order of goroutines.
	for range 3 {
		if out, err := b.measure(ctx, t, all, seeds); err != nil {
			return nil, out, err
		}
		all = slices.DeleteFunc(all, func(in input) bool { return in.bits == 0 })
		slices.SortStableFunc(all, func(a, b input) int { return cmp.Compare(b.bits, a.bits) })
	}
	return all[:min(n, len(all))], nil, nil
}

// accepted returns the inputs that the engine takes. It ignores those that equal a seed, and those
// whose types are not the target's, as after a change of its parameters.
func (b *builder) accepted(ctx context.Context, t target, all []input, seeds int) ([]input, []byte, error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	got, out, err := b.count(ctx, t, all)
	switch {
	case err != nil:
		return nil, out, err
	case got-seeds == len(all):
		return all, nil, nil
	case got == seeds:
		return nil, nil, nil
	}
	half := len(all) / 2
	first, out, err := b.accepted(ctx, t, all[:half:half], seeds)
	if err != nil {
		return nil, out, err
	}
	second, out, err := b.accepted(ctx, t, all[half:], seeds)
	return append(first, second...), out, err
}

var (
	initial   = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, gathering baseline coverage: 0/(\d+) completed$`)
	processed = regexp.MustCompile(`(?m)^.* DEBUG processed an initial input, id: .*, new bits: (\d+), .*$`)
)

// count returns the number of inputs with which the engine begins if these are in its cache: the
// seeds of the target too.
func (b *builder) count(ctx context.Context, t target, all []input) (int, []byte, error) {
	out, err := b.initial(ctx, t, all, 1)
	if err != nil {
		return 0, out, err
	}
	m := initial.FindSubmatch(out)
	if m == nil {
		return 0, out, errors.New("the engine does not print the number of initial inputs: expected the form of Go 1.26")
	}
	n, err := strconv.Atoi(string(m[1]))
	return n, out, err
}

// measure sets the coverage bits of inputs, each by what the seeds and the inputs before it do not
// have. These bits are the engine's own: a bit for each edge and order of magnitude of its count.
func (b *builder) measure(ctx context.Context, t target, all []input, seeds int) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	out, err := b.initial(ctx, t, all, seeds+len(all))
	if err != nil {
		return out, err
	}
	lines := processed.FindAllSubmatch(out, -1)
	if len(lines) != seeds+len(all) {
		return out, fmt.Errorf("the engine printed the coverage of %d inputs, expected %d", len(lines), seeds+len(all))
	}
	for i := range all {
		if all[i].bits, err = strconv.Atoi(string(lines[seeds+i][1])); err != nil {
			return out, err
		}
	}
	return nil, nil
}

// initial runs the engine on the seeds and these inputs, in their order, and ends it after a number
// of executions.
func (b *builder) initial(ctx context.Context, t target, all []input, executions int) ([]byte, error) {
	cache := filepath.Join(b.temp, "cache")
	dir := filepath.Join(cache, t.name)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for i, in := range all {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d", i)), in.data, 0o666); err != nil {
			return nil, err
		}
	}
	out, _, err := b.engine(ctx, t, cache, []string{"GODEBUG=fuzzdebug=1"}, "-test.fuzztime="+strconv.Itoa(executions)+"x", "-test.parallel=1")
	return out, err
}
