package v1

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// account implements protocol.Account: credits limit Calls, in each direction apart (R266).
type account struct {
	end    *protocol.End
	calls  credit.Requester
	serves credit.Responder
	given  int // the last grant
}

// Account implements protocol.Version.
func (*Version) Account(cfg protocol.AccountConfig) protocol.Account {
	return &account{
		end:    cfg.End,
		calls:  credit.NewRequester(cfg.Calls),
		serves: credit.NewResponder(cfg.Serves, cfg.Receives-cfg.Serves),
	}
}

// Posted implements protocol.Account.
func (a *account) Posted(n int) { a.serves.Posted(n) }

// Received implements protocol.Account. The credit value of a message is a grant only if the
// message surely is an answer (R267, T17).
func (a *account) Received(m *header.Message, f *header.Fault, p protocol.Purpose) *header.Fault {
	a.serves.Taken()
	if f == nil && p == protocol.Answer && a.grants(m) {
		a.calls.Grant(m.Credit)
	}
	return nil
}

// grants reports whether an answer has a grant.
func (a *account) grants(m *header.Message) bool {
	switch m.Kind {
	case header.KindError:
		return true
	case header.KindMsg:
		_, typ, ok := header.RPC(m.Payload)
		return ok && typ == header.Reply
	case header.KindNomsg:
		if len(m.Reads) > 0 {
			return a.end.LongReplies && a.end.Calls.Outstanding(m.XID)
		}
		return m.HasReply && a.end.Calls.Outstanding(m.XID)
	}
	return false
}

// Accept implements protocol.Account.
func (a *account) Accept() bool { return a.serves.Accept() }

// Answered implements protocol.Account.
func (a *account) Answered() { a.serves.Answered() }

// Keeps implements protocol.Account: a credit is a Call, whose Receive nothing else needs.
func (a *account) Keeps() bool { return true }

// Free implements protocol.Account: answers need no credit.
func (a *account) Free(c protocol.Class) bool { return c != protocol.ClassCall || a.calls.Free() }

// Available implements protocol.Account.
func (a *account) Available() int { return a.calls.Granted() - a.calls.InFlight() }

// Sent implements protocol.Account.
func (a *account) Sent(c protocol.Class, want uint32) uint32 {
	switch c {
	case protocol.ClassCall:
		a.calls.Sent()
		return a.calls.Want()
	case protocol.ClassAnswer, protocol.ClassError:
		grant := a.serves.Grant(want) // RFC 8166 §4.2.3: in an ERROR, too; R34
		a.given = int(grant)
		return grant
	}
	return a.calls.Want()
}

// Ended implements protocol.Account.
func (a *account) Ended() { a.calls.Ended() }

// Sequence implements protocol.Account: version 1 has no continued messages.
func (a *account) Sequence(bool) {}

// Due implements protocol.Account: version 1 has no messages that only grant credits.
func (a *account) Due() bool { return false }

// Counts implements protocol.Account.
func (a *account) Counts() protocol.Counts {
	return protocol.Counts{
		Calls: a.calls.InFlight(), Busy: a.serves.Busy(),
		Granted: a.calls.Granted(), Free: a.Available(), Given: a.given,
		ZeroGrants: a.calls.ZeroGrants(), OverGrants: a.calls.OverGrants(),
	}
}
