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

// The periods of usage.burst and usage.restMost.
const (
	burstPeriod = time.Second
	restPeriod  = 30 * time.Second
)

// usage counts the bytes of buffers in use: now, and the most in a period.
type usage struct {
	used     uint64
	burst    peak   // of used, in seconds
	restMost uint64 // largest used in a longer period
}

// add counts n more bytes in use.
func (u *usage) add(n uint64) {
	u.used += n
	u.burst.use(u.used)
	u.restMost = max(u.restMost, u.used)
}

// mayKeep returns how many bytes of buffers may be kept: KeepBytes, or with KeepPeak so many that
// those in use and kept together are as many as were in use at the peak.
func (u *usage) mayKeep(cfg *Config) uint64 {
	if !cfg.KeepPeak {
		return cfg.KeepBytes
	}
	return max(cfg.KeepBytes, u.burst.most()-u.used)
}

// endRest begins a longer period, and returns how many of the bytes that are not in use were in use
// in the last one.
func (u *usage) endRest() (needed uint64) {
	needed, u.restMost = u.restMost-u.used, u.used
	return needed
}

// watch starts the timers if something is kept. mu must be held.
func (p *Pool) watch() {
	if p.bursts == nil && p.kept.bytes > p.cfg.KeepBytes {
		p.bursts = time.AfterFunc(burstPeriod, p.endBurst)
	}
	if p.rests == nil && (p.kept.bytes > 0 || len(p.regions)+len(p.demands) > 0) {
		p.rests = time.AfterFunc(restPeriod, p.endRest)
	}
}

// endBurst begins a period of burst and frees the buffers that may not be kept in it.
func (p *Pool) endBurst() {
	p.shrink(func() ([]verbs.MemoryRegion, []*Buffer) {
		p.bursts = nil
		p.usage.burst.next(p.usage.used)
		return nil, p.evict(p.usage.mayKeep(&p.cfg))
	})
}

// endRest begins a period of restMost. It frees the buffers that were not needed in the last one,
// and the regions if there was no registration.
func (p *Pool) endRest() {
	p.shrink(func() (regions []verbs.MemoryRegion, _ []*Buffer) {
		p.rests = nil
		needed := p.usage.endRest()
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

// evict removes and returns kept buffers until at most this many bytes are kept. mu must be held.
func (p *Pool) evict(most uint64) []*Buffer {
	surplus := p.kept.evict(most)
	for _, b := range surplus {
		p.stats.Buffers--
		p.stats.BufferBytes -= uint64(len(b.mem))
		p.stats.Pinned -= uint64(len(b.mem))
	}
	return surplus
}
