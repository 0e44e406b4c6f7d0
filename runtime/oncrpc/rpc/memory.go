package rpc

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// decoded counts the memory that the values of a call's arguments take. Beyond freeBytes the
// carrier has to give it, so that peers cannot fill the server's memory with arguments that are
// short on the wire.
type decoded struct {
	call    *Request
	options xdr.DecoderOptions
	taken   int
	allowed int // of freeBytes and the carrier
	refused bool
}

const (
	// freeBytes is the size of the values that a call may have without asking the carrier.
	freeBytes = 4 << 10
	// mostBytes limits one question to the carrier, unless the values need more.
	mostBytes = 64 << 10
)

// limit sets the calls whose values are counted, one at a time.
func (m *decoded) limit(call *Request) {
	m.call, m.allowed = call, freeBytes
	m.options = xdr.DecoderOptions{Alias: true, Reserve: m.reserve}
}

// decoder returns a Decoder whose values m counts.
func (m *decoded) decoder() *xdr.Decoder { return xdr.NewDecoder(nil, &m.options) }

// reserve takes n bytes more, and reports whether there are that many. To ask the carrier seldom,
// it doubles what it has.
func (m *decoded) reserve(n int) bool {
	m.taken += n
	if more := m.taken - m.allowed; more > 0 {
		if more = max(more, min(m.allowed, mostBytes)); !m.call.rpc.Reserve(more) {
			m.refused = true
			return false
		}
		m.allowed += more
	}
	return true
}

// reset forgets the call.
func (m *decoded) reset() { m.taken, m.allowed, m.refused = 0, freeBytes, false }
