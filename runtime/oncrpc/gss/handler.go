package gss

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// HandlerConfig configures NewHandler. A nil *HandlerConfig has the default in every field.
type HandlerConfig struct {
	// Required is the least protection of calls. Calls with less, or with another flavour, are
	// refused with AUTH_TOOWEAK, except for calls of the null procedure. The next Handler knows
	// which one that is if it is an oncrpc.NullKnower, as rpc.Handler is; otherwise there is no
	// exception. If zero, no protection is required: calls of other flavours go to the next Handler
	// as they are.
	Required Service

	// Window is the number of sequence numbers that the server remembers for each context, and the
	// largest number of calls that a client may have in progress with it. If zero, the default is
	// 128. The largest is 65,536. A context takes one byte for eight numbers.
	Window int

	// MaxContexts is the largest number of contexts. If zero, the default is 4096. If negative,
	// there is no limit. Beyond it, the source with the most contexts loses the one that was unused
	// longest. The client makes a new context with the next call. A source is an IPv4 address or an
	// IPv6 network of 64 bits.
	MaxContexts int

	// MaxPerSource is the largest number of contexts that one source may have. If zero, the default
	// is 512. If negative, there is no limit. Beyond it, the source loses the context that was
	// unused longest.
	MaxPerSource int

	// IdleTimeout is the time after which an unused context is deleted. If zero, the default is
	// 1 h. If negative, there is no limit.
	IdleTimeout time.Duration

	// MaxIncomplete and MaxIncompletePerSource are the same limits for contexts whose client has
	// not been authenticated. If zero, the defaults are 256 and 32. If negative, there is no limit.
	MaxIncomplete, MaxIncompletePerSource int

	// IncompleteTimeout is the time that a client has for each step of making a context. If zero,
	// the default is 30 s. If negative, there is no limit.
	IncompleteTimeout time.Duration

	// Refused is called for each call that the Handler refuses or drops, with the reason, before it
	// is answered. It must not block. If nil, nothing is called. Every host that reaches the server
	// can cause such calls, so a function that logs them must limit itself.
	Refused func(r *oncrpc.Request, why error)
}

// settled returns the configuration with its defaults.
func (cfg *HandlerConfig) settled() HandlerConfig {
	var s HandlerConfig
	if cfg != nil {
		s = *cfg
	}
	limit := func(f *int, def int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = math.MaxInt
		}
	}
	duration := func(f *time.Duration, def time.Duration) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = 0
		}
	}
	limit(&s.MaxContexts, 4096)
	limit(&s.MaxPerSource, 512)
	limit(&s.MaxIncomplete, 256)
	limit(&s.MaxIncompletePerSource, 32)
	duration(&s.IdleTimeout, time.Hour)
	duration(&s.IncompleteTimeout, 30*time.Second)
	if s.Window <= 0 {
		s.Window = 128
	}
	s.Window = min(s.Window, 1<<16)
	return s
}

// Handler is the server's side of RPCSEC_GSS. It implements oncrpc.Handler.
type Handler struct {
	cfg        HandlerConfig
	next       oncrpc.Handler
	mech       Acceptor
	secret     [32]byte // for identities
	complete   *table
	incomplete *table

	badMICs, replays atomic.Uint64
}

// HandlerStats holds the counts of a Handler. Those above Contexts only grow.
type HandlerStats struct {
	BadChecksums uint64 // calls refused because the header's checksum was wrong
	Replays      uint64 // calls dropped because of the sequence number
	Evicted      uint64 // contexts deleted because of MaxContexts and MaxPerSource
	EvictedEarly uint64 // the same of incomplete contexts

	Contexts   int // contexts now
	Incomplete int // incomplete contexts now
}

// NewHandler returns a Handler that makes contexts with clients, checks calls of the flavour
// RPCSEC_GSS, and passes them to next without their protection. The protection of the replies is
// added when next answers. cfg may be nil. It blocks as next and mech do.
//
// A reply cache goes inside it, so that the cache sees calls without their sequence numbers:
//
//	handler := gss.NewHandler(replycache.New(rpc.NewHandler(nil, svc), nil), mech, nil)
//
// To that cache, a user's call is the same one when it is sent again with another sequence number,
// as a client has to do (RFC 2203 §5.3.3.1), or with another context. Calls of different users are
// never equal.
func NewHandler(next oncrpc.Handler, mech Acceptor, cfg *HandlerConfig) *Handler {
	h := &Handler{cfg: cfg.settled(), next: next, mech: mech}
	_, _ = rand.Read(h.secret[:]) // never fails
	h.complete = newTable(h.cfg.MaxContexts, h.cfg.MaxPerSource, h.cfg.IdleTimeout)
	h.incomplete = newTable(h.cfg.MaxIncomplete, h.cfg.MaxIncompletePerSource, h.cfg.IncompleteTimeout)
	return h
}

// Stats returns the counts.
func (h *Handler) Stats() HandlerStats {
	s := HandlerStats{BadChecksums: h.badMICs.Load(), Replays: h.replays.Load()}
	s.Contexts, s.Evicted = h.complete.count()
	s.Incomplete, s.EvictedEarly = h.incomplete.count()
	return s
}

// incoming is a call of the flavour RPCSEC_GSS.
type incoming struct {
	*oncrpc.Request
	head oncrpc.Header
	cred CredV1
	body int // offset of the arguments
}

// protection is a number of bytes by which the protection of a reply makes it longer at most, and
// which a token does not exceed either.
const protection = 8 << 10

// ReplyBound implements oncrpc.Bounder. Tokens of a mechanism can be longer.
func (h *Handler) ReplyBound(program, version, procedure uint32) int {
	n := oncrpc.BoundOf(h.next, program, version, procedure)
	if n < 0 {
		return n
	}
	return min(n, math.MaxInt32-protection) + protection
}

// NonBlocking implements oncrpc.NonBlocker. Procedure 0 may make a context, for which the mechanism
// may wait. Checking and protecting messages is computing.
func (h *Handler) NonBlocking(program, version, procedure uint32) bool {
	return procedure != 0 && oncrpc.NonBlocking(h.next, program, version, procedure)
}

// IsNull implements oncrpc.NullKnower.
func (h *Handler) IsNull(program, version uint32) bool {
	return oncrpc.IsNull(h.next, program, version)
}

// isNull reports whether a call is of the null procedure, which needs no protection.
func (h *Handler) isNull(in *incoming) bool {
	call := &in.head.Body.Call
	return call.Proc == 0 && oncrpc.IsNull(h.next, call.Prog, call.Vers)
}

// ServeRPC implements oncrpc.Handler.
func (h *Handler) ServeRPC(r *oncrpc.Request) {
	in := &incoming{Request: r}
	size, err := decode(r.Message, &in.head)
	call := &in.head.Body.Call
	if err != nil || call.RPCVers != oncrpc.Version || call.Cred.Flavor != oncrpc.RPCSecGSS {
		h.other(in, err)
		return
	}
	in.body = size
	if refusal, err := in.parse(); err != nil {
		h.refuse(in, refusal, err)
		return
	}
	switch {
	case in.cred.Proc == ProcData:
		h.data(in)
	case call.Proc != 0:
		h.refuse(in, oncrpc.Refused(oncrpc.AuthStatBadCred), fmt.Errorf("gss: %v in a call of procedure %d, must be 0 (RFC 2203 §5.2.2, §5.4)", in.cred.Proc, call.Proc))
	case in.cred.Proc == ProcDestroy:
		h.destroy(in)
	default:
		h.establish(in)
	}
}

// other passes on a call of another flavour, or a message that is not an RPC version 2 call, unless
// Required forbids it.
func (h *Handler) other(in *incoming, err error) {
	call := &in.head.Body.Call
	switch {
	case h.cfg.Required == 0 || err == nil && h.isNull(in):
		h.next.ServeRPC(in.Request)
	case err == nil && call.RPCVers != oncrpc.Version:
		h.refuse(in, &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: oncrpc.VersionRange{Low: oncrpc.Version, High: oncrpc.Version}},
			fmt.Errorf("gss: RPC version %d, expected %d (RFC 5531 §9)", call.RPCVers, oncrpc.Version))
	case err == nil:
		h.refuse(in, oncrpc.Refused(oncrpc.AuthStatTooWeak), fmt.Errorf("gss: flavour %v, this server requires %v with %v", call.Cred.Flavor, oncrpc.RPCSecGSS, h.cfg.Required))
	default:
		h.refuse(in, &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, fmt.Errorf("gss: header of the call: %w", err))
	}
}

// parse decodes the credential. If it fails, it returns the refusal for it.
func (in *incoming) parse() (*oncrpc.ReplyError, error) {
	body := in.head.Body.Call.Cred.Body
	if len(body) >= 4 {
		if v := binary.BigEndian.Uint32(body); v != Version1 {
			why := oncrpc.AuthStatBadCred // RFC 2203 §5.3.3.3
			if len(body) >= 8 {
				if p := Proc(binary.BigEndian.Uint32(body[4:])); p == ProcInit || p == ProcContinueInit {
					why = oncrpc.AuthStatRejectedCred // RFC 2203 §5.1, §5.2.3.2
				}
			}
			return oncrpc.Refused(why), fmt.Errorf("gss: version %d of RPCSEC_GSS, expected %d (RFC 2203 §5.1)", v, Version1)
		}
	}
	var cred Cred
	if err := decodeAll(body, &cred); err != nil {
		return oncrpc.Refused(oncrpc.AuthStatBadCred), fmt.Errorf("gss: credential (RFC 2203 §5): %w", err)
	}
	in.cred = cred.V1
	control := in.cred.Proc == ProcInit || in.cred.Proc == ProcContinueInit
	if !control && !in.cred.Service.Valid() {
		return oncrpc.Refused(oncrpc.AuthStatBadCred), fmt.Errorf("gss: service %d in the credential, expected 1 to 3 (RFC 2203 §5.3.3.3)", in.cred.Service)
	}
	return nil, nil
}

// refuse answers a call with an error.
func (h *Handler) refuse(in *incoming, refusal *oncrpc.ReplyError, why error) {
	if h.cfg.Refused != nil {
		h.cfg.Refused(in.Request, why)
	}
	b, err := refusal.Header(xidOf(in.Message)).AppendBinary(nil)
	if err != nil {
		in.Drop(nil)
		return
	}
	in.Reply(oncrpc.Message{Inline: b}, nil)
}

// drop discards a call: it gets no answer.
func (h *Handler) drop(in *incoming, why error) {
	if h.cfg.Refused != nil {
		h.cfg.Refused(in.Request, why)
	}
	in.Drop(nil)
}

// xidOf returns a message's XID. A carrier has checked that the message is long enough.
func xidOf(message []byte) uint32 {
	xid, _, _ := oncrpc.Peek(message)
	return xid
}

// identify returns a number that stands for a principal, in the messages for the next Handler. It
// is a keyed hash, so a client cannot search for two names with the same number.
func (h *Handler) identify(info *Info) (id [16]byte) {
	mac := hmac.New(sha256.New, h.secret[:])
	mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(info.Mechanism))))
	mac.Write([]byte(info.Mechanism))
	mac.Write([]byte(info.Initiator))
	copy(id[:], mac.Sum(nil))
	return id
}
