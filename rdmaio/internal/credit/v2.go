package credit

// Class is the class of a message in version 2, for V2.
type Class uint8

// The classes. Every message uses one credit, whatever its class; some Grants are free (R169).
const (
	Call   Class = iota // a Call, or its first part
	Part                // a further part of a continued message
	Answer              // a Reply, or its first part
	Error               // RDMA2_ERROR: its credit word grants nothing (R177)
	Other               // RDMA2_CONNPROP, and messages of extensions
	Grant               // RDMA2_NOMSG with empty chunk lists: credits alone (R174)
)

// spare is the number of Receives beyond the ceiling: one for a Grant that costs no credit (R175),
// one in case the peer counts Grants differently.
const spare = 2

// V2 is the account of one end in version 2. It counts the credits that this end may use, and the
// credits that it granted. All messages in one direction share its credits, forward Replies and
// reverse Calls too (R167, R168; draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.1).
//
// The low half of a credit word is the number of credits newly granted, the high half the ceiling:
// the most that may be outstanding.
//
// The draft does not say whether a Grant costs a credit. Two ends with this account are kin, and
// know that: the first message of each is properties, with a ceiling that is one more than the
// credits granted. The one more is not used.
//
// Between kin a Grant costs a credit if another one is left. Otherwise it may be sent only to a
// peer without credits, and it is free: it uses the extra Receive that the peer has for it (R175),
// and no other Grant may do so before the peer has sent another message. So an end never gives its
// last credit for a Grant, and an idle connection leaves each end at least one.
//
// The receiver of a Grant knows whether it cost a credit. It was free if at most one was
// outstanding, or if a Grant of the receiver uses the extra Receive of the sender: the Grants
// crossed, or the sender had no other message to send since. In both cases neither end had a credit
// before.
//
// Any other peer is taken to be strict: it pays for each message as long as it has a credit, and so
// does this end (A4). Without a credit a Grant uses the extra Receive. The peer may send such a
// Grant while credits are on their way to it. It counts as paid then, and the peer may have one
// credit more.
//
// After Grants alone another Grant is due only if they used the peer's last credit, or if it gives
// back two credits or more. So it stands for two Grants, and two ends cannot exchange them without
// end (R176), but Grants alone never leave an end without credits (R171).
type V2 struct {
	client bool
	serves bool // Calls of the peer

	// Credits of this end.
	limit    uint32 // the peer's ceiling
	free     uint32 // credits left
	aside    uint32 // credits that the peer's lower ceiling took out of use
	heard    bool   // a message was received
	begun    bool   // a grant was received
	borrowed bool   // a Grant uses the peer's extra Receive: the peer has sent nothing else since
	named    bool   // the first message showed what this account is
	kin      bool   // so did the first message of the peer
	inFlight uint32 // Calls of this end

	// Credits granted to the peer.
	ceiling uint32
	posted  uint32 // Receives
	out     uint32 // credits granted, less those that messages used
	granted bool   // a grant was sent
	lent    bool   // a Grant used the extra Receive: this end has sent nothing else since
	slack   bool   // a strict peer may have one credit more
	due     bool   // a message was received, and no grant was sent since
	pinged  bool   // a Grant was received, and no grant was sent since
	talks   bool   // the peer's last message, Grants aside, was properties or of an extension
	open    bool   // the peer is in the middle of a continued message
	busy    uint32 // Calls received and not answered

	zero, over uint64 // grants that were raised to 1, or reduced to the ceiling
}

// NewV2 returns the account of an end that serves and makes so many Calls at a time. Their sum, at
// least 1 and at most 65534, is the ceiling of the credits that it grants. client is true at the
// end that made the connection, which may send one message before the first grant (R178).
func NewV2(client bool, serves, calls int) V2 {
	const most = 0xfffe // the first message names one more
	sum := min(max(serves, 0), most) + min(max(calls, 0), most)
	a := V2{client: client, serves: serves > 0, limit: 1, ceiling: uint32(min(max(sum, 1), most))}
	if client {
		a.free = 1
	} else {
		a.out = 1
	}
	return a
}

// Receives returns the number of Receives to post before the first message (R172, R175, R270,
// R271).
func (a *V2) Receives() int { return int(a.ceiling) + spare }

// Posted counts Receives posted.
func (a *V2) Posted(n int) { a.posted += uint32(n) }

// Taken counts a message received, and its Receive. It returns false if the peer had no credit for
// it: the connection must then end (R170; T1, T12, T15).
func (a *V2) Taken(c Class) bool {
	if a.posted > 0 {
		a.posted--
	}
	extra := c == Grant && a.granted && !a.lent
	switch {
	case a.kin && extra && (a.borrowed || a.out <= 1):
		a.lent = true
	case a.out > 0:
		a.out--
		a.slack = a.slack || c == Grant && a.granted && !a.kin
	case extra:
		a.lent = true
	case c != Grant && a.slack:
		a.slack = false
	default:
		return false
	}
	return true
}

// Received takes the credit word of a message, after Taken.
//
// A grant beyond the ceiling is reduced (R179, R180; T9, T10). A ceiling lower than the number of
// credits left takes some out of use (R173). If a later message grants none to an end without any,
// the peer still counts them, and one of them is used.
//
// Before the first grant, each ERROR answers the one message in flight, so that the client may send
// another (§4.3.3). The word of an ERROR is ignored (R177).
func (a *V2) Received(word uint32, c Class) {
	first := !a.heard
	a.heard = true
	// The client's first message makes a Grant due in any case, since the client cannot go on
	// without one. See Due for further Grants.
	if c != Grant || !a.granted {
		a.due = true
	}
	a.pinged = a.pinged || c == Grant
	if c != Grant {
		a.talks = c == Other
	}
	if c != Grant || !a.kin { // free Grants of kin may cross
		a.borrowed = false
	}
	if c == Error {
		if a.client && !a.begun && a.free == 0 {
			a.free = 1
		}
		return
	}
	high, low := max(word>>16, 1), word&0xffff
	if !a.begun && c == Other && low > 0 && high == low+1 {
		a.kin = !a.granted || a.named
		high = low
	}
	a.begun = true
	if first && low == 0 { // T8
		a.zero++
		low = 1
	}
	a.limit = high
	if a.free > high {
		a.aside += a.free - high
		a.free = high
	}
	n := min(low, high-a.free)
	if n < low {
		a.over++
	}
	a.free += n
	switch {
	case low > 0: // a peer that counts those set aside would exceed its ceiling with more
		a.aside = min(a.aside, high-a.free)
	case a.free == 0 && a.aside > 0:
		a.aside--
		a.free = 1
	}
}

// Sequence records that the peer is, or is no longer, in the middle of a continued message.
func (a *V2) Sequence(open bool) { a.open = open }

// Free reports whether a message may be sent. The peer's ceiling also limits the Calls in flight:
// a credit that the peer grants for an answer, while it serves as many Calls as it can, must not
// bring it another Call. Nothing is reserved for answers: the peer grants a credit for each one
// that it expects.
func (a *V2) Free(c Class) bool {
	switch c {
	case Call:
		return a.free > 0 && a.inFlight < a.limit
	case Grant: // R178: before the first grant the client sends none
		return a.begun && (a.pays() || a.out == 0 && !a.borrowed && (!a.kin || a.expects()))
	default:
		return a.free > 0
	}
}

// expects reports whether this end waits for a message of the peer, or serves its Calls, or the
// peer sends other messages. If not, the peer needs no credit before the next Call, which
// grants one. A Grant that costs nothing is then left out, because some peers count a credit for
// every Grant (A4).
func (a *V2) expects() bool { return a.serves || a.talks || a.inFlight > 0 || a.open }

// pays reports whether a Grant costs a credit.
func (a *V2) pays() bool {
	if a.kin {
		return a.free > 1 && !a.lent
	}
	return a.free > 1 || a.free > 0 && !a.keeps()
}

// keeps reports whether this end keeps its last credit from a strict peer. A client keeps it for
// its next Call, unless it waits for an answer, and sends a Grant without it.
func (a *V2) keeps() bool { return a.client && a.inFlight == 0 && !a.open }

// Sent counts a message that is about to be sent, which Free must allow, and returns its credit
// word. A Call must have been Answered before its answer is Sent.
func (a *V2) Sent(c Class) uint32 {
	word := a.ceiling << 16
	switch {
	case c == Grant && !a.pays():
		a.borrowed = true
	case a.free > 0:
		a.free--
	}
	if c == Call {
		a.inFlight++
	}
	if c != Grant || !a.kin {
		a.lent = false
	}
	if c == Error {
		if !a.client && !a.granted && a.out == 0 {
			a.out = 1 // the client may send another message: see Received
		}
		return word
	}
	low := a.low()
	if a.out == 0 && a.posted > spare {
		low = max(low, 1) // R171, even if this end serves as many Calls as it can
	}
	if !a.granted {
		if a.named = c == Other && low == a.ceiling; a.named {
			word += 1 << 16
		}
		a.kin = a.kin && a.named
	}
	a.granted = true
	a.out += low
	if low > 0 {
		a.due, a.pinged = false, false
	}
	return word | low
}

// low returns the number of credits that can be granted now: the Receives are posted, and each
// credit may bring a Call (R172). A peer that is to send an answer or a further part gets at least
// one (R160, R171), and a strict peer if this end has no credit for its answers.
func (a *V2) low() uint32 {
	room := a.ceiling - min(a.busy, a.ceiling)
	if room == 0 && (a.inFlight > 0 || a.open || a.free == 0 && !a.kin) {
		room = 1
	}
	room = min(room, a.posted-min(a.posted, spare))
	return room - min(room, a.out)
}

// Due reports whether a Grant should be sent if no other message can go now: the peer sent a
// message that left it at most half of the ceiling, and there are credits to grant. An end that
// keeps no credit waits until the peer has used all of its credits. So a message that gets no
// answer gives its credit back, too (draft-ietf-nfsv4-rpcrdma-version-two-00 §C.3; R181).
//
// After Grants alone the peer must have used its last credit, or get two or more (R171, R176).
//
// To a strict peer this end sends a Grant with its last credit, or without one, only if the peer is
// without credits. If it owes the peer an answer, and waits for none, it keeps the credit for that
// unless the peer gets two. See keeps for a client.
func (a *V2) Due() bool {
	if !a.due && !a.pinged || a.out > a.ceiling/2 {
		return false
	}
	low := a.low()
	switch {
	case low == 0 || !a.Free(Grant):
		return false
	case !a.kin && a.free == 1:
		waits, owes := a.inFlight > 0 || a.open, a.busy > 0
		return a.out == 0 && (low > 1 || waits || !owes || a.keeps())
	}
	return a.due || a.out == 0 || low > 1
}
