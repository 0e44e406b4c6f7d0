package mrpool

import (
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// peak is the largest number of bytes in use in this period and the one before.
type peak struct{ now, before uint64 }

// use records that this many bytes are in use.
func (k *peak) use(used uint64) { k.now = max(k.now, used) }

// next begins a period.
func (k *peak) next(used uint64) { k.before, k.now = k.now, used }

// most returns the peak.
func (k *peak) most() uint64 { return max(k.now, k.before) }

// The periods of Pool.burst and Pool.restMost.
const (
	burstPeriod = time.Second
	restPeriod  = 30 * time.Second
)

// use counts n more bytes in use. mu must be held.
func (p *Pool) use(n uint64) {
	p.used += n
	p.burst.use(p.used)
	p.restMost = max(p.restMost, p.used)
}

// mayKeep returns how many bytes of buffers may be kept: KeepBytes, or with KeepPeak so many that
// those in use and kept together are as many as were in use at the peak. mu must be held.
func (p *Pool) mayKeep() uint64 {
	if !p.cfg.KeepPeak {
		return p.cfg.KeepBytes
	}
	return max(p.cfg.KeepBytes, p.burst.most()-p.used)
}

// watch starts the timers if something is kept. mu must be held.
func (p *Pool) watch() {
	if p.bursts == nil && p.keptBytes > p.cfg.KeepBytes {
		p.bursts = time.AfterFunc(burstPeriod, p.endBurst)
	}
	if p.rests == nil && (p.keptBytes > 0 || len(p.regions)+len(p.demands) > 0) {
		p.rests = time.AfterFunc(restPeriod, p.endRest)
	}
}

// endBurst begins a period of burst and frees the buffers that may not be kept in it.
func (p *Pool) endBurst() {
	p.shrink(func() ([]verbs.MemoryRegion, []*Buffer) {
		p.bursts = nil
		p.burst.next(p.used)
		return nil, p.evict(p.mayKeep())
	})
}

// endRest begins a period of restMost. It frees the buffers that were not needed in the last one,
// and the regions if there was no registration.
func (p *Pool) endRest() {
	p.shrink(func() (regions []verbs.MemoryRegion, _ []*Buffer) {
		p.rests = nil
		needed := p.restMost - p.used
		p.restMost = p.used
		if p.seen == p.stats.Registrations {
			regions = p.takeRegions()
		}
		p.seen = p.stats.Registrations
		return regions, p.evict(needed)
	})
}

// shrink frees what take has removed. take is called with mu held.
func (p *Pool) shrink(take func() ([]verbs.MemoryRegion, []*Buffer)) {
	p.trimming.Lock()
	defer p.trimming.Unlock()
	p.mu.Lock()
	regions, buffers := take()
	p.watch()
	p.mu.Unlock()
	if err := p.freeAll(regions, buffers); err != nil {
		p.mu.Lock()
		p.lateErr = errors.Join(p.lateErr, err)
		p.mu.Unlock()
	}
}

// evict removes and returns kept buffers, the largest first, until at most this many bytes are
// kept. mu must be held.
func (p *Pool) evict(most uint64) (surplus []*Buffer) {
	for class := classes; class > 0; class-- {
		for p.keptBytes > most && p.kept(class) > 0 {
			last := len(p.buffers[class]) - 1
			b := p.buffers[class][last]
			p.buffers[class][last], p.buffers[class] = nil, p.buffers[class][:last]
			p.keptBytes -= uint64(len(b.mem))
			p.stats.Buffers--
			p.stats.BufferBytes -= uint64(len(b.mem))
			p.stats.Pinned -= uint64(len(b.mem))
			surplus = append(surplus, b)
		}
	}
	if p.keptBytes == 0 {
		p.buffers = nil
	}
	return surplus
}
