package conform

import "strings"

// Carrier is a way to carry messages, and a bit in a set of Carriers.
type Carrier uint

// The carriers.
const (
	TCP Carrier = 1 << iota
	UDP
	RDMA

	all = TCP | UDP | RDMA
)

// String returns the names of the carriers, with commas between them.
func (c Carrier) String() string {
	var names []string
	for i, name := range []string{"tcp", "udp", "rdma"} {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Case is a test of a server: messages, and the answers that the documents allow.
type Case struct {
	Name    string
	Section string  // of the document that requires the answers
	On      Carrier // those that have the case
	Echo    bool    // whether it needs the test program

	// unusable says that the connection carries nothing after the case.
	unusable bool
	steps    func(t *Target) []step
}

// step is one or several messages that are sent together, and their answers.
type step struct {
	send [][]byte // messages, or if raw is set bytes as they are
	raw  bool
	end  bool // this side's end of the stream follows
	// build, over RDMA, returns a message as it is that refers to the memory of the connection.
	build func(r *rdma) []byte
	want  []expect
}

// expect is the answer to one message.
type expect struct {
	xid     uint32
	allowed []string
}

// allows reports whether an answer is allowed. A star at the end of an allowed one stands for any
// text.
func (e *expect) allows(answer string) bool {
	for _, a := range e.allowed {
		if head, any := strings.CutSuffix(a, "*"); a == answer || any && strings.HasPrefix(answer, head) {
			return true
		}
	}
	return false
}

// text returns the answers that are allowed.
func (e *expect) text() string {
	var list []string
	for _, a := range e.allowed {
		list = append(list, strings.TrimRight(a, " *"))
	}
	return strings.Join(list, " or ")
}

// one returns the steps of a case with one message.
func one(f func(t *Target) call, allowed ...string) func(t *Target) []step {
	return func(t *Target) []step {
		c := f(t)
		return []step{{send: [][]byte{c.bytes()}, want: []expect{{c.xid, allowed}}}}
	}
}

// Result is the result of a case.
type Result struct {
	Case     *Case
	Expected string
	Came     string
	Passed   bool
	Skipped  string // the reason; empty: it was run
}

// Cases returns all cases with servers, in order.
func Cases() []Case {
	var list []Case
	for _, table := range [][]Case{messageCases(), authCases(), gssCases(), valueCases(), recordCases(), datagramCases(), rdmaCases()} {
		list = append(list, table...)
	}
	return list
}
