package v2

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// account implements protocol.Account, by credit.V2: credits limit messages (§4.3.1; R169).
type account struct {
	credit.V2
	given uint64 // credits granted in all
}

// Account implements protocol.Version.
func (v *Version) Account(cfg protocol.AccountConfig) protocol.Account {
	a := &account{V2: credit.NewV2(v.cfg.Dialed, cfg.Serves, cfg.Calls)}
	a.given = uint64(a.Outstanding()) // one at the end that accepted: for the first message (R178)
	return a
}

// Received implements protocol.Account. The credit word of a message is taken even if the rest of
// the message is invalid: the peer counts what it granted. Only the word of a message that is too
// short, or of another version, is ignored, like that of an ERROR.
func (a *account) Received(m *header.Message, f *header.Fault, _ protocol.Purpose) *header.Fault {
	class := credit.Call // answers are counted in the same way
	switch m.Kind {
	case header.KindProps, header.KindOther:
		class = credit.Other
	case header.KindGrant:
		class = credit.Grant
	case header.KindError:
		class = credit.Error
	}
	if !a.Taken(class) { // R170; T1, T12, T15
		return &header.Fault{Code: header.FaultCredit, Found: a.given}
	}
	if f != nil && (f.Code == header.FaultShort || f.Code == header.FaultVersion) {
		class = credit.Error
	}
	a.V2.Received(m.Credit, class)
	return nil
}

// Free implements protocol.Account.
func (a *account) Free(c protocol.Class) bool { return a.V2.Free(classes[c]) }

// Sent implements protocol.Account. No message asks for credits: want is not used.
func (a *account) Sent(c protocol.Class, _ uint32) uint32 {
	before := a.Outstanding()
	word := a.V2.Sent(classes[c])
	a.given += uint64(a.Outstanding() - before)
	return word
}

// classes are the classes of messages in package credit.
var classes = [...]credit.Class{
	protocol.ClassCall:   credit.Call,
	protocol.ClassPart:   credit.Part,
	protocol.ClassAnswer: credit.Answer,
	protocol.ClassError:  credit.Error,
	protocol.ClassProps:  credit.Other,
	protocol.ClassOther:  credit.Other,
	protocol.ClassGrant:  credit.Grant,
}

// Counts implements protocol.Account.
func (a *account) Counts() protocol.Counts {
	return protocol.Counts{
		Calls: a.InFlight(), Busy: a.Busy(),
		Granted: a.Granted(), Free: a.Available(), Given: a.Outstanding(),
		ZeroGrants: a.ZeroGrants(), OverGrants: a.OverGrants(),
	}
}
