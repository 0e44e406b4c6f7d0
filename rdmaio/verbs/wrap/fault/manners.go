package fault

import (
	"fmt"
	"strings"
	"time"
)

// Manners is a set of ways in which RDMA devices differ from providers in software. Unlike a fault,
// which happens at an occasion, a manner holds all the time. The zero value has no manners.
type Manners uint16

// The manners that package verbs allows. Where it requires an attribute for one, the device's
// attributes say so.
const (
	// PaddedPrivateData delivers private data padded with zeros, as InfiniBand's messages are: 56
	// bytes in a request, 196 in a reply, 148 in a rejection. At most 56 bytes are accepted.
	PaddedPrivateData Manners = 1 << iota

	// GuessableKeys replaces keys by a number of the region and a byte that counts its
	// registrations. Both ends of a connection must be devices of the same Injector.
	GuessableKeys

	// WindowsOnly refuses a LocalInvalidate for a region without AccessRemoteInvalidate, and lets
	// the peer invalidate such a region, too.
	WindowsOnly

	// UnknownCause replaces the reason for a disconnect by another one, picked by the seed:
	// ErrPeerDisconnected, or ErrConnectionBroken with or without a status. If this side
	// disconnects, the reason stays.
	UnknownCause

	// LateCause calls QPConfig.Notify after Config.NotifyDelay. Until then QueuePair.Err returns
	// nil.
	LateCause

	// UnnoticedSend completes a Send that found no Receive with success, before the connection
	// breaks, as over iWARP.
	UnnoticedSend

	// ShuffledWrites carries out the Writes of a post in another order, picked by the seed, where
	// one completion covers several Writes. If the provider refuses one of these Writes, the ones
	// posted are not the ones before it.
	ShuffledWrites

	// SlowRegister makes each registration take Config.RegisterDelay longer.
	SlowRegister

	// Plain hides abilities that only providers in software have: HeapMemory, LendReceives,
	// ReaderNotifies, and the interfaces Redirector, OnDemand and Progresser.
	Plain

	// Allowed has all of the above.
	Allowed = 1<<iota - 1
)

// The manners of devices that a provider has to hide: package verbs does not allow them.
const (
	// SendsBeforeReads lets a Send's completion overtake the completions of earlier Reads.
	SendsBeforeReads Manners = 1 << (iota + 9)

	// LostSolicited ignores Arm for solicited completions.
	LostSolicited

	// UnreportedInvalidate does not report keys that the peer has invalidated. A provider of such
	// a device has DeviceAttributes.RemoteInvalidate false. The region says that it is valid until
	// its Invalidate.
	UnreportedInvalidate

	// LateReads lets a peer's Read that is in progress continue after Invalidate, for a region that
	// the peer may only read. Both ends must be devices of the same Injector. No provider can hide
	// this: a caller must not change the memory before the peer's answer has shown that its Reads
	// are over, or Disconnect has returned.
	LateReads

	mannersEnd
)

// String lists the manners, as in "guessable-keys|plain".
func (m Manners) String() string {
	if m == 0 {
		return "none"
	}
	var parts []string
	for i, name := range [...]string{
		"padded-private-data", "guessable-keys", "windows-only", "unknown-cause", "late-cause", "unnoticed-send", "shuffled-writes",
		"slow-register", "plain", "sends-before-reads", "lost-solicited", "unreported-invalidate", "late-reads",
	} {
		if m&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if rest := m &^ (mannersEnd - 1); rest != 0 {
		parts = append(parts, fmt.Sprintf("%#x", uint16(rest)))
	}
	return strings.Join(parts, "|")
}

// SomeManners returns a subset of Allowed that the seed picks.
func SomeManners(seed uint64) Manners {
	return Manners(draw(seed, kinds, 0) * (Allowed + 1))
}

// defaultRegisterDelay is the default of Config.RegisterDelay: the time for some MiB.
const defaultRegisterDelay = time.Millisecond

// has reports whether the devices have a manner.
func (i *Injector) has(m Manners) bool { return i.cfg.Manners&m != 0 }

// happened counts an effect of a manner, and returns the number of earlier ones.
func (i *Injector) happened(m Manners) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.effects[m]
	i.effects[m] = n + 1
	return n
}

// pick returns a number below n, which seed, manner and the number of its effects determine. It
// counts an effect.
func (i *Injector) pick(m Manners, n int) int {
	return int(draw(i.cfg.Seed, kinds+Kind(m.index()), i.happened(m)) * float64(n))
}

// index returns the number of the lowest manner.
func (m Manners) index() (n int) {
	for m&1 == 0 && m != 0 {
		m, n = m>>1, n+1
	}
	return n
}

// Happened returns how often one manner has had an effect.
func (i *Injector) Happened(m Manners) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.effects[m]
}
