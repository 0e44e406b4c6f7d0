package stranger

// Region is memory that the peer can name by an STag.
type Region struct {
	Base        uint64 // the TO of its first byte
	Bytes       []byte
	ReadOK      bool // the peer may read
	WriteOK     bool // the peer may write
	InvalidOK   bool // the peer may invalidate
	Invalid     bool
	OtherStream bool // the STag belongs to another stream
}

// has reports whether n bytes at an offset are part of the region.
func (r *Region) has(to uint64, n int) bool {
	size := uint64(len(r.Bytes))
	return to >= r.Base && to-r.Base <= size && size-(to-r.Base) >= uint64(n)
}

// regions has the memory of an Endpoint by STag.
type regions map[uint32]*Region

// invalidate makes a region invalid, if the peer may do that.
func (all regions) invalidate(stag uint32) bool {
	r := all[stag]
	if r == nil || r.Invalid || r.OtherStream || !r.InvalidOK {
		return false
	}
	r.Invalid = true
	return true
}

// Expose makes a region valid under an STag. It is the peer's until the stream ends.
func (p *Endpoint) Expose(stag uint32, r Region) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.regions[stag] = &r
}

// Memory returns a copy of a region's bytes, and whether the region is valid.
func (p *Endpoint) Memory(stag uint32) (b []byte, valid bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.regions[stag]
	if r == nil {
		return nil, false
	}
	return append(b, r.Bytes...), !r.Invalid
}

// wrong lists the reasons that an access can fail with.
type wrong struct{ stag, foreign, access, bounds, wrap Code }

// The lists for writes, where DDP has no code for missing rights (RFC 5041 §7.2), and for reads.
var (
	wrongWrite = wrong{DDPInvalidSTag, DDPForeignSTag, DDPInvalidSTag, DDPBounds, DDPWrap}
	wrongRead  = wrong{RDMAPInvalidSTag, RDMAPForeignSTag, RDMAPAccess, RDMAPBounds, RDMAPWrap}
)

// reach returns the n bytes at an offset of a region (RFC 5041 §7.1, RFC 5040 §7.2).
func (all regions) reach(stag uint32, to uint64, n int, write bool) ([]byte, *Code) {
	reason, r := wrongRead, all[stag]
	if write {
		reason = wrongWrite
	}
	switch {
	case r == nil || r.Invalid:
		return nil, &reason.stag
	case r.OtherStream:
		return nil, &reason.foreign
	case write && !r.WriteOK, !write && !r.ReadOK:
		return nil, &reason.access
	case to+uint64(n) < to:
		return nil, &reason.wrap
	case !r.has(to, n):
		return nil, &reason.bounds
	}
	at := to - r.Base
	return r.Bytes[at : at+uint64(n)], nil
}
