package rdmaio

import (
	"slices"
	"testing"
)

// progresser records calls. during runs inside Progress.
type progresser struct {
	calls  []string
	during func()
	done   func() bool // of Progress
}

func (p *progresser) Progress(done func() bool) {
	p.calls, p.done = append(p.calls, "Progress"), done
	if p.during != nil {
		p.during()
	}
	if done() {
		p.calls = append(p.calls, "done")
	}
}

// Wake makes a caller look at done once: the answer must be there.
func (p *progresser) Wake() {
	p.calls = append(p.calls, "Wake")
	if !p.done() {
		p.calls = append(p.calls, "too early")
	}
}

func (p *progresser) Resume() { p.calls = append(p.calls, "Resume") }

// Only the caller of a Call that is alone and has no chunks of data handles messages. All others
// make sure that the provider does.
func TestLoneRules(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(l *lone, p *progresser)
		want []string
	}{
		{"alone", func(l *lone, p *progresser) {
			s := newSlot()
			p.during = func() { l.answer(s) }
			l.begin(s)
			l.end()
		}, []string{"Progress", "Wake", "done"}},
		{"one after the other", func(l *lone, p *progresser) {
			for range 2 {
				l.begin(newSlot())
				l.end()
			}
		}, []string{"Progress", "Progress"}},
		{"a second", func(l *lone, p *progresser) {
			l.begin(newSlot())
			l.begin(newSlot())
		}, []string{"Progress", "Resume"}},
		{"a second comes meanwhile", func(l *lone, p *progresser) {
			p.during = func() { l.begin(newSlot()) }
			l.begin(newSlot())
		}, []string{"Progress", "Resume", "Resume"}},
		{"a second comes and goes meanwhile", func(l *lone, p *progresser) {
			p.during = func() {
				l.begin(newSlot())
				l.end()
			}
			l.begin(newSlot())
		}, []string{"Progress", "Resume"}},
		{"chunks", func(l *lone, p *progresser) {
			s := newSlot()
			s.withOffered().regions = []callRegion{{chunk: ownReplyChunk}, {chunk: 0}}
			l.begin(s)
		}, []string{"Resume"}},
		{"a read chunk", func(l *lone, p *progresser) {
			s := newSlot()
			s.withOffered().regions = []callRegion{{chunk: readChunk}}
			l.begin(s)
		}, []string{"Resume"}},
		{"a chunk for a long reply", func(l *lone, p *progresser) {
			for _, chunk := range []int{replyChunk, ownReplyChunk} {
				s := newSlot()
				s.withOffered().regions = []callRegion{{chunk: chunk}}
				l.begin(s)
				l.end()
			}
		}, []string{"Progress", "Progress"}},
		{"answered before, and no caller polls", func(l *lone, p *progresser) {
			s := newSlot()
			l.answer(s)
			l.begin(s)
		}, []string{"Progress", "done"}},
		{"answered when its caller no longer polls", func(l *lone, p *progresser) {
			s := newSlot()
			l.begin(s)
			l.answer(s)
		}, []string{"Progress"}},
	} {
		p := &progresser{}
		l := &lone{qp: p}
		c.run(l, p)
		if !slices.Equal(p.calls, c.want) {
			t.Errorf("%s: %v, want %v", c.name, p.calls, c.want)
		}
	}
	none := &lone{}
	none.begin(newSlot())
	none.end()
}

// While a caller is in Progress, the functions of submitted Calls must run elsewhere.
func TestACallerPolls(t *testing.T) {
	p, during := &progresser{}, false
	l := &lone{qp: p}
	p.during = func() { during = l.polling.Load() }
	l.begin(newSlot())
	if after := l.polling.Load(); !during || after {
		t.Errorf("polling in Progress %t, want true, and after it %t, want false", during, after)
	}
}
