package sim

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// mute is a version with Bugs.Mute.
type mute struct{ protocol.Version }

// Account implements protocol.Version.
func (m mute) Account(cfg protocol.AccountConfig) protocol.Account {
	return &muteAccount{Account: m.Version.Account(cfg)}
}

// muteAccount answers no Grant.
type muteAccount struct {
	protocol.Account
	alone bool // the last message was a Grant
}

// Received implements protocol.Account.
func (a *muteAccount) Received(m *header.Message, f *header.Fault, p protocol.Purpose) *header.Fault {
	a.alone = m.Kind == header.KindGrant
	return a.Account.Received(m, f, p)
}

// Due implements protocol.Account.
func (a *muteAccount) Due() bool { return !a.alone && a.Account.Due() }
