package fsx

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// Tester compares a file system with its model.
type Tester struct {
	fs     FS
	cfg    Config
	rnd    *rand.Rand
	dirs   []string
	made   bool             // the directories
	names  map[string]*node // each file has one name or more
	step   int
	last   []entry
	writes []write
	counts map[Op]int
}

// A node is a file.
type node struct {
	data   []byte
	links  int
	file   File    // nil when closed
	latest [4]span // writes, for reads
}

// A span is a part of a file.
type span struct{ off, size int }

// An entry is an operation for the report of a failure.
type entry struct {
	step int
	what string
}

func (e entry) String() string { return fmt.Sprintf("%d %s", e.step, e.what) }

// New returns a Tester of fs. fs must have no files.
func New(fs FS, cfg Config) *Tester {
	cfg = cfg.defaults()
	return &Tester{
		fs:     fs,
		cfg:    cfg,
		rnd:    rand.New(rand.NewPCG(cfg.Seed, 0)),
		dirs:   []string{"d0", "d1", "d1/d2"},
		names:  map[string]*node{},
		counts: map[Op]int{},
	}
}

// Run tests fs as New(fs, cfg).Run does.
func Run(ctx context.Context, fs FS, cfg Config) error { return New(fs, cfg).Run(ctx) }

// Run makes Config.Steps operations, compares everything at the end, and closes the files. Its
// error is a *Failure, or the cause of ctx, which it checks between operations. After success it
// may be called again and continues from there.
func (t *Tester) Run(ctx context.Context) error {
	err := t.run(ctx)
	for _, n := range t.names {
		if closed := t.close(n); closed != nil && err == nil {
			err = t.fail(closed)
		}
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (t *Tester) run(ctx context.Context) error {
	if !t.made {
		for _, dir := range t.dirs {
			if err := t.fs.Mkdir(dir); err != nil {
				return t.fail(fmt.Errorf("making the directory %s: %w", dir, err))
			}
		}
		t.made = true
	}
	for i := 0; i != t.cfg.Steps; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.step++
		if err := t.operate(); err != nil {
			return t.fail(err)
		}
	}
	t.step++
	if err := t.compare(); err != nil {
		return t.fail(err)
	}
	return nil
}

// Compare compares the files in fs, another view of the same files, with the model.
func (t *Tester) Compare(fs FS) error {
	if err := t.compareWith(fs); err != nil {
		return t.fail(err)
	}
	return nil
}

// Count returns how many operations of a kind were made.
func (t *Tester) Count(op Op) int { return t.counts[op] }

// Written returns the number of bytes that were written.
func (t *Tester) Written() (n int64) {
	for _, w := range t.writes {
		n += int64(w.size)
	}
	return n
}

// weights has the frequency of each operation in a hundred.
var weights = []struct {
	op     Op
	weight int
	do     func(*Tester) error
}{
	{Create, 6, (*Tester).create},
	{Read, 26, (*Tester).read},
	{Write, 26, (*Tester).write},
	{Append, 7, (*Tester).append},
	{Truncate, 8, (*Tester).truncate},
	{Size, 3, (*Tester).size},
	{Sync, 4, (*Tester).sync},
	{Reopen, 5, (*Tester).reopen},
	{Rename, 7, (*Tester).rename},
	{Link, 2, (*Tester).link},
	{Remove, 4, (*Tester).remove},
	{Compare, 2, (*Tester).compare},
}

// operate makes one operation, a random one of those that Config.Only and the file system allow.
func (t *Tester) operate() error {
	if len(t.names) == 0 {
		return t.create()
	}
	_, links := t.fs.(Linker)
	usable := func(op Op) bool {
		return (len(t.cfg.Only) == 0 || slices.Contains(t.cfg.Only, op)) && (op != Link || links)
	}
	total := 0
	for _, w := range weights {
		if usable(w.op) {
			total += w.weight
		}
	}
	if total == 0 {
		return errors.New("no operation that Config.Only allows")
	}
	at := t.rnd.IntN(total)
	for _, w := range weights {
		if !usable(w.op) {
			continue
		}
		if at -= w.weight; at < 0 {
			return w.do(t)
		}
	}
	return nil
}

// note records an operation.
func (t *Tester) note(op Op, format string, args ...any) string {
	what := string(op)
	if format != "" {
		what += " " + fmt.Sprintf(format, args...)
	}
	t.counts[op]++
	if t.last = append(t.last, entry{t.step, what}); len(t.last) > 4*lastOps {
		t.last = slices.Delete(t.last, 0, len(t.last)-lastOps-1)
	}
	return what
}

// existing returns the name of a random file.
func (t *Tester) existing() string {
	names := slices.Sorted(maps.Keys(t.names))
	return names[t.rnd.IntN(len(names))]
}

// any returns a random name. If Config.Files files exist, it is the name of an existing file.
func (t *Tester) any() string {
	if len(t.names) >= t.cfg.Files {
		return t.existing()
	}
	return fmt.Sprintf("%s/f%d", t.dirs[t.rnd.IntN(len(t.dirs))], t.rnd.IntN(t.cfg.Files))
}

// number returns a random number of at most limit: often a small one, or one about a multiple of
// 4096, the size of a page.
func (t *Tester) number(limit int) int {
	n := t.rnd.IntN(limit + 1)
	switch t.rnd.IntN(4) {
	case 0:
		n = t.rnd.IntN(min(limit, 64) + 1)
	case 1:
		n = n/4096*4096 + t.rnd.IntN(3) - 1
	}
	return min(max(n, 0), limit)
}

// amount returns the size of a write: of half a file at most, often less, so that it does not hide
// faults of the writes before it.
func (t *Tester) amount() int { return t.number(t.cfg.MaxFile >> (1 + t.rnd.IntN(6))) }

// handle returns the open File of a name.
func (t *Tester) handle(name string) (*node, error) {
	n := t.names[name]
	if n.file == nil {
		file, err := t.fs.Open(name)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", name, err)
		}
		n.file = file
	}
	return n, nil
}

func (t *Tester) close(n *node) error {
	if n.file == nil {
		return nil
	}
	file := n.file
	n.file = nil
	return file.Close()
}
