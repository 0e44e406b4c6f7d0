package header

// Keys appends the handle of every segment to to.
func (l *Lists) Keys(to []uint32) []uint32 {
	for i := range l.Reads {
		to = append(to, l.Reads[i].Handle)
	}
	for _, c := range l.Writes {
		for i := range c {
			to = append(to, c[i].Handle)
		}
	}
	for i := range l.Reply {
		to = append(to, l.Reply[i].Handle)
	}
	return to
}

// HasKey reports whether a segment has the handle key.
func (l *Lists) HasKey(key uint32) bool {
	return l.find(func(s *Segment) bool { return s.Handle == key }) != 0
}

// FirstKey returns the handle of the first segment that is not empty, or 0 if all are empty.
func (l *Lists) FirstKey() uint32 { return l.find(func(s *Segment) bool { return s.Length > 0 }) }

// find returns the handle of the first segment that match accepts, or 0.
func (l *Lists) find(match func(*Segment) bool) uint32 {
	for i := range l.Reads {
		if s := &l.Reads[i].Segment; match(s) {
			return s.Handle
		}
	}
	for _, c := range l.Writes {
		for i := range c {
			if match(&c[i]) {
				return c[i].Handle
			}
		}
	}
	for i := range l.Reply {
		if match(&l.Reply[i]) {
			return l.Reply[i].Handle
		}
	}
	return 0
}
