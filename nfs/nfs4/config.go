package nfs4

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Config configures New. A nil *Config has the default in every field.
type Config struct {
	// Minor is the minor version, 1 or 2. If zero, the default is 2.
	Minor uint32

	// Cred is the user of all calls that name no other. If nil, the default is the user of the
	// process, with up to 16 of its groups.
	Cred *oncrpc.AuthSysParms

	// Owner names this client to the server (RFC 8881 §2.4). If a client of this name comes back,
	// the server drops the state of the former one. If empty, the default is the host, the process
	// and a random number.
	Owner string

	// Slots is the largest number of COMPOUNDs in flight. If zero, the default is 64. The server
	// may allow fewer. At most 1024.
	Slots int

	// MaxIO is the size in bytes of the largest data in a COMPOUND. If zero, the default is 1 MiB.
	// The server may allow less: see Session.Limits.
	MaxIO int

	// Callbacks handles the server's callbacks. If nil, the answer is that nothing is held.
	Callbacks Callbacks

	// Reclaim is called after the server has lost the client's state: it restarted, or the lease
	// expired. It reclaims opens, locks and delegations by do, before all other COMPOUNDs. If it
	// fails, so do the COMPOUNDs that wait, and a later one begins again. It must not call the
	// Session, which waits for it. If nil, nothing is reclaimed.
	Reclaim func(ctx context.Context, do Doer) error

	// Reopen is called after the RECLAIM_COMPLETE that follows Reclaim, before all other COMPOUNDs.
	// It opens by do what could not be reclaimed: until then a server answers other OPENs and LOCKs
	// with NFS4ERR_GRACE, even if it has no grace period (RFC 8881 §18.51.3). The rules for
	// Reclaim apply. If nil, nothing is opened.
	Reopen func(ctx context.Context, do Doer) error

	// Revoked is called when the server says that it has revoked state, with the flags of SEQUENCE
	// that begin with nfs42.SeqStatus. It must not block, and must not call the Session. The flags
	// come with each reply until the state is given up (RFC 8881 §18.46.3); it is called when they
	// change.
	Revoked func(flags uint32)

	// RetryPause is the first pause before a COMPOUND is made again that was answered with
	// NFS4ERR_DELAY or NFS4ERR_GRACE. If zero, the default is 100 ms. It doubles up to 32 times as
	// much.
	RetryPause time.Duration

	// MaxWait is the longest time that one Do waits for such answers and for lost sessions.
	// If zero, the default is 5 min. If negative, only its context limits it.
	MaxWait time.Duration

	// Logger receives what happens to the session. If nil, nothing is logged.
	Logger *slog.Logger
}

// Doer makes COMPOUNDs.
type Doer interface {
	// Do makes a COMPOUND. Session.Do describes it.
	Do(ctx context.Context, c *Compound) error
}

// settings are a Config with its defaults.
type settings struct {
	Config
	cred     oncrpc.OpaqueAuth
	owner    nfs42.ClientOwner
	program  uint32 // of callbacks
	callback oncrpc.AuthSysParms
}

const maxSlots = 1024

// settle returns cfg with the default of each field that is zero.
func (cfg *Config) settle() (*settings, error) {
	s := &settings{program: 0x40000000}
	if cfg != nil {
		s.Config = *cfg
	}
	s.Minor, s.Slots, s.MaxIO = cmp.Or(s.Minor, 2), cmp.Or(s.Slots, 64), cmp.Or(s.MaxIO, 1<<20)
	s.RetryPause, s.MaxWait = cmp.Or(s.RetryPause, 100*time.Millisecond), cmp.Or(s.MaxWait, 5*time.Minute)
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case s.Minor > 2:
		return nil, fmt.Errorf("nfs4: Config.Minor is %d, must be 1 or 2", s.Minor)
	case s.Slots < 0 || s.Slots > maxSlots || s.MaxIO < 0 || s.RetryPause < 0:
		return nil, fmt.Errorf("nfs4: Config has Slots %d (at most %d), MaxIO %d, RetryPause %v: none may be negative", s.Slots, maxSlots, s.MaxIO, s.RetryPause)
	case len(s.Owner) > nfs42.OpaqueLimit:
		return nil, fmt.Errorf("nfs4: Config.Owner has %d bytes, at most %d", len(s.Owner), nfs42.OpaqueLimit)
	}
	if s.Cred == nil {
		s.Cred = processUser()
	}
	var err error
	if s.cred, err = s.Cred.Auth(); err != nil {
		return nil, err
	}
	s.callback = *s.Cred
	_, _ = rand.Read(s.owner.Verifier[:]) // never fails
	if s.Owner == "" {
		s.Owner = fmt.Sprintf("rpcrdma %.256s %d %s", s.Cred.MachineName, os.Getpid(), rand.Text())
	}
	s.owner.OwnerID = []byte(s.Owner)
	return s, nil
}

// processUser returns the credential of the process's user. AUTH_SYS has room for 16 groups.
func processUser() *oncrpc.AuthSysParms {
	host, _ := os.Hostname()
	user := &oncrpc.AuthSysParms{MachineName: []byte(host[:min(len(host), oncrpc.MaxMachineName)]), UID: 65534, GID: 65534}
	if uid := os.Getuid(); uid >= 0 { // not on Windows, which has no user IDs
		user.UID, user.GID = uint32(uid), uint32(os.Getgid())
	}
	groups, _ := os.Getgroups()
	for _, g := range groups[:min(len(groups), oncrpc.MaxGIDs)] {
		user.GIDs = append(user.GIDs, uint32(g))
	}
	return user
}

// errTooLong is the cause of contexts after Config.MaxWait.
var errTooLong = errors.New("Config.MaxWait is over")
