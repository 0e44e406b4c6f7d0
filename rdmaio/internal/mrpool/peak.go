package mrpool

import (
	"errors"
	"time"
)

// peak is the largest number of bytes in use in this period and the one before.
type peak struct{ used, now, before uint64 }

// period is the time for which a peak counts: this period and the next.
const period = time.Second

// use counts n more bytes in use.
func (k *peak) use(n uint64) {
	k.used += n
	k.now = max(k.now, k.used)
}

// next begins a period.
func (k *peak) next() { k.before, k.now = k.now, k.used }

// mayKeep returns how many bytes of buffers may be kept: KeepBytes, or with KeepPeak so many that
// those in use and kept together are as many as were in use at the peak. mu is locked.
func (p *Pool) mayKeep() uint64 {
	if !p.cfg.KeepPeak {
		return p.cfg.KeepBytes
	}
	return max(p.cfg.KeepBytes, max(p.peak.now, p.peak.before)-p.peak.used)
}

// watch starts the timer if more than KeepBytes are kept. mu is locked.
func (p *Pool) watch() {
	if p.timer == nil && p.keptBytes > p.cfg.KeepBytes {
		p.timer = time.AfterFunc(period, p.shrink)
	}
}

// shrink begins a period and frees the buffers that may not be kept in it.
func (p *Pool) shrink() {
	p.trimming.Lock()
	defer p.trimming.Unlock()
	p.mu.Lock()
	p.timer = nil
	p.peak.next()
	surplus := p.evict(p.mayKeep())
	p.watch()
	p.mu.Unlock()
	if err := p.freeAll(nil, surplus); err != nil {
		p.mu.Lock()
		p.lateErr = errors.Join(p.lateErr, err)
		p.mu.Unlock()
	}
}

// evict removes and returns kept buffers, the largest first, until at most this many bytes are
// kept. mu is locked.
func (p *Pool) evict(most uint64) (surplus []*Buffer) {
	for class := classes; class > 0; class-- {
		for p.keptBytes > most && p.kept(class) > 0 {
			last := len(p.buffers[class]) - 1
			b := p.buffers[class][last]
			p.buffers[class][last], p.buffers[class] = nil, p.buffers[class][:last]
			p.keptBytes -= uint64(len(b.mem))
			p.stats.Buffers--
			p.stats.BufferBytes -= uint64(len(b.mem))
			surplus = append(surplus, b)
		}
	}
	return surplus
}
