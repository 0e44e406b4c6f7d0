package soft

import "sync"

// loanSizes are the sizes of pooled loans in bytes. One fits small Calls, and one the inline
// messages of the default size.
var loanSizes = [...]int{512, 2 << 10, 5 << 10, 16 << 10, 64 << 10, 256 << 10}

// loans are those that are not borrowed, by size. The garbage collector empties them.
var loans [len(loanSizes)]sync.Pool

// Loan implements verbs.Loan.
type Loan struct {
	mem   []byte
	n     int // bytes of the message
	class int // index in loans, or len(loans) if it is not pooled
}

// Lend returns memory for a message of n bytes, with any contents.
func Lend(n int) *Loan {
	class := 0
	for class < len(loans) && loanSizes[class] < n {
		class++
	}
	if class == len(loans) {
		return &Loan{mem: make([]byte, n), n: n, class: class}
	}
	l, _ := loans[class].Get().(*Loan)
	if l == nil {
		l = &Loan{mem: make([]byte, loanSizes[class]), class: class}
	}
	l.n = n
	return l
}

// Cut makes the message n bytes long. It is not longer than Lend was asked for.
func (l *Loan) Cut(n int) { l.n = n }

// Bytes implements verbs.Loan.
func (l *Loan) Bytes() []byte { return l.mem[:l.n:l.n] }

// Return implements verbs.Loan. A second call has no effect, unless the memory was lent again.
func (l *Loan) Return() {
	if l.n < 0 {
		return
	}
	spoil(l.mem)
	l.n = -1
	if l.class < len(loans) {
		loans[l.class].Put(l)
	}
}
