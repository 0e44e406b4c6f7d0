package lsp

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// lane runs one job at a time.
type lane struct {
	end context.CancelFunc // nil while no job runs
	id  string             // of the request that the job answers

	unit    *unit    // that the job checks
	changed []string // paths of files that have changed since the job began
}

// cancel lets the job end soon, if one runs.
func (l *lane) cancel() {
	if l.end != nil {
		l.end()
	}
}

// run runs a job on its own goroutine. The loop calls the function that the job returns, which has
// to empty the lane.
func (s *server) run(l *lane, job func(context.Context) (then func())) {
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	go func() {
		then := job(ctx)
		select {
		case s.done <- then:
		case <-s.quit:
		}
		cancel()
	}()
}

// start starts the jobs for which there is work, and answers the requests that waited.
func (s *server) start() {
	if s.phase != running {
		return
	}
	if s.check.end == nil {
		if u := s.next(); u != nil {
			s.startCheck(u)
		}
	}
	waiting := s.queue
	s.queue = nil
	for _, r := range waiting {
		if !s.answer(r) {
			s.queue = append(s.queue, r)
		}
	}
}

// next returns a unit whose texts have changed: the one that a request waits for, if there is one.
func (s *server) next() *unit {
	for _, r := range s.queue {
		if u := r.unit; u != nil && s.units[u.key] == u && !u.fresh() {
			return u
		}
	}
	var first *unit
	for _, u := range s.units {
		if !u.fresh() && (first == nil || u.key < first.key) {
			first = u
		}
	}
	return first
}

// startCheck checks a unit.
func (s *server) startCheck(u *unit) {
	edition := u.edition
	c := s.checker()
	s.run(&s.check, func(ctx context.Context) func() {
		a := c.check(ctx, u.files)
		return func() {
			changed := s.check.changed
			s.check = lane{}
			if u.edition != edition || s.units[u.key] != u {
				return
			}
			u.analysis, u.checked = a, edition
			if slices.ContainsFunc(changed, a.reads) { // a file that it did not read before
				u.edition++
				return
			}
			s.show(u, a)
		}
	})
	s.check.unit, s.check.changed = u, nil
}

// checker compiles units of a snapshot. A job may use it.
type checker struct {
	files   snapshot
	options sema.Options
	compile func(sema.Options) (*sema.Result, error)
}

// checker returns a checker of the texts as they are now.
func (s *state) checker() checker {
	o := s.cfg.Options
	o.Include = s.include()
	return checker{files: s.snapshot(context.Background()), options: o, compile: s.cfg.Compile}
}

// unitOptions returns the options of a unit.
func (c checker) unitOptions(ctx context.Context, files []string) sema.Options {
	o := c.options
	c.files.ctx = ctx
	o.Include = append(o.Include[:len(o.Include):len(o.Include)], c.files.above(files)...)
	o.Files, o.FS, o.Index = files, c.files, true
	return o
}

// check compiles a unit.
func (c checker) check(ctx context.Context, files []string) *analysis {
	a := &analysis{files: files, views: map[*source.File]*view{}}
	a.result, a.err = c.compile(c.unitOptions(ctx, files))
	if a.err != nil || a.result.Index == nil {
		a.result = &sema.Result{Index: &sema.Index{}}
	}
	return a
}

// analysis holds the result of a check. Only the loop uses it.
type analysis struct {
	files  []string
	result *sema.Result // with an index, also if it has errors
	err    error        // of the file system: then the result is empty
	views  map[*source.File]*view
}

// reads reports whether the unit has a file. A nil analysis may have any.
func (a *analysis) reads(path string) bool {
	return a == nil || a.err != nil || a.file(path) != nil
}

// file returns a file of the unit, or nil.
func (a *analysis) file(path string) *source.File {
	name := filepath.ToSlash(path)
	for _, f := range a.result.Files {
		if f.Name == name && !f.Synthetic {
			return f
		}
	}
	return nil
}

// view is a file with the text that the client shows: the whole document, where the compiler has
// only its XDR.
type view struct {
	file  *source.File
	text  *text
	whole *source.File // the document; nil if the file is not the XDR of one
}

// view returns the view of a file.
func (a *analysis) view(f *source.File) *view {
	v := a.views[f]
	if v == nil {
		v = newView(f)
		a.views[f] = v
	}
	return v
}

func newView(f *source.File) *view {
	v := &view{file: f, text: newText(f.Text)}
	if f.Document != nil {
		v.text, v.whole = newText(f.Document), source.NewFile(f.Name, f.Document)
	}
	return v
}

// path returns the path of the file.
func (v *view) path() string { return filepath.FromSlash(v.file.Name) }

// span returns the range between two offsets in the file.
func (v *view) span(start, end int, e encoding) span {
	return v.text.span(v.shown(start), v.shown(end), e)
}

// shown returns the offset in the client's text of an offset in the file. Both texts have the same
// lines and columns.
func (v *view) shown(offset int) int {
	if v.whole == nil {
		return offset
	}
	return moved(v.file, v.whole, offset)
}

// offset returns the offset in the file of a position in the client's text.
func (v *view) offset(p position, e encoding) int {
	at := v.text.offset(p, e)
	if v.whole == nil {
		return at
	}
	return moved(v.whole, v.file, at)
}

// moved returns the offset in one text that has the line and column of an offset in another.
func moved(from, to *source.File, offset int) int {
	p := from.Position(offset)
	line := to.LineSpan(p.Line)
	at := line.Start
	for i := range line.Text() {
		if p.Column--; p.Column == 0 {
			return line.Start + i
		}
		at = line.End
	}
	return at
}
