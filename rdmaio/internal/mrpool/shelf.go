package mrpool

// shelf has the buffers that a Pool keeps for reuse.
type shelf struct {
	buffers *[classes + 1][]*Buffer // by class; nil if the shelf is empty
	bytes   uint64                  // in them
	may     func(n int) bool        // Config.Keep
}

// count returns how many buffers of this class are kept.
func (s *shelf) count(class int) int {
	if s.buffers == nil {
		return 0
	}
	return len(s.buffers[class])
}

// mayHold is Config.Keep for n bytes of a caller.
func (s *shelf) mayHold(n int) bool { return s.may == nil || n == 0 || s.may(n) }

// put adds a buffer, unless Config.Keep does not let it, and reports whether it did.
func (s *shelf) put(b *Buffer) bool {
	if s.may != nil && !s.may(len(b.mem)) {
		return false
	}
	if s.buffers == nil {
		s.buffers = new([classes + 1][]*Buffer)
	}
	s.buffers[b.class] = append(s.buffers[b.class], b)
	s.bytes += uint64(len(b.mem))
	return true
}

// take removes and returns the buffer of a class that was put last, or nil.
func (s *shelf) take(class int) *Buffer {
	k := s.count(class)
	if k == 0 {
		return nil
	}
	b := s.buffers[class][k-1]
	s.buffers[class][k-1] = nil
	s.buffers[class] = s.buffers[class][:k-1]
	s.bytes -= uint64(len(b.mem))
	if s.may != nil {
		s.may(-len(b.mem))
	}
	return b
}

// evict removes and returns buffers, the largest first, until at most this many bytes remain.
func (s *shelf) evict(most uint64) (surplus []*Buffer) {
	for class := classes; class > 0; class-- {
		for s.bytes > most && s.count(class) > 0 {
			surplus = append(surplus, s.take(class))
		}
	}
	if s.bytes == 0 {
		s.buffers = nil
	}
	return surplus
}
