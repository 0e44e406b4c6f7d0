package sim

// loan is memory that the provider of an end lends for a message.
type loan struct {
	m     *memory
	bytes []byte
}

// lend returns a loan of n bytes, with the message b.
func (m *memory) lend(b []byte) *loan {
	m.loans++
	return &loan{m, append([]byte(nil), b...)}
}

func (l *loan) Bytes() []byte { return l.bytes }

func (l *loan) Return() {
	copy(l.bytes, poisoned(len(l.bytes))) // a later use is found
	if l.m.loans--; l.bytes == nil {
		l.m.w.fail("%s returns a loan twice", l.m.name)
	}
	l.bytes = nil
}
