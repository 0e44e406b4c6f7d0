package peer2

import "fmt"

// Book counts the credits of one end in both directions (§4.3.1). Every message costs one, of
// whatever type. The sender of a grant alone may have none left for it, once until the receiver has
// sent a message: the receiver has a Receive more for this.
//
// The client begins with one credit. Until the server grants some, each ERROR of the server gives
// it back (§4.3.3). A first grant of zero counts as one, from either end.
type Book struct {
	In  int // messages that the other end may send
	Out int // messages that this end may send

	client            bool
	begunIn, begunOut bool // a grant was received, or sent
	in, out           spare
}

// spare is the state of the one grant beyond the credits, in one direction. A grant for which a
// credit was there may still turn out to have been this one.
type spare uint8

const (
	spareLeft spare = iota
	spareHeld       // a grant was sent with a credit
	spareUsed       // until the other end has sent a message
)

// NewBook returns the book of a new connection.
func NewBook(client bool) Book {
	if client {
		return Book{client: true, Out: 1}
	}
	return Book{In: 1}
}

// Sent counts a message that this end sends. It returns an error if there is no credit for it.
func (b *Book) Sent(m *Message) error {
	err := spend(&b.Out, &b.out, m, "sent")
	b.In += b.grant(m, &b.begunOut, !b.client)
	if b.in == spareUsed {
		b.in = spareLeft
	}
	return err
}

// Received counts a message that the other end sent. It returns an error if that had no credit.
func (b *Book) Received(m *Message) error {
	err := spend(&b.In, &b.in, m, "received")
	b.Out += b.grant(m, &b.begunIn, b.client)
	if b.out == spareUsed {
		b.out = spareLeft
	}
	return err
}

// spend takes a credit for m.
func spend(left *int, s *spare, m *Message, how string) error {
	*left--
	if m.IsGrant() && *s == spareLeft {
		*s = spareHeld
	}
	if *left >= 0 {
		return nil
	}
	*left = 0
	if *s == spareHeld {
		*s = spareUsed
		return nil
	}
	return fmt.Errorf("%s without a credit: %v", how, *m)
}

// grant returns the credits that m grants. begun says whether a message in this direction granted
// some before, and fromServer whether the server sends it.
func (b *Book) grant(m *Message, begun *bool, fromServer bool) int {
	n := m.Credits()
	switch {
	case m.Type == Error && fromServer && !*begun:
		return 1
	case m.Type == Error:
		return 0
	case !*begun:
		n = max(n, 1)
	}
	*begun = true
	return n
}
