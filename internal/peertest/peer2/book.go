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

// spare counts the grants beyond the credits in one direction.
type spare struct {
	left bool // the spare Receive is free: the receiver has sent a message since it was used
	held bool // a grant was sent with a credit since. It may still turn out to have used the spare.
	paid bool // the same for an earlier grant
}

// NewBook returns the book of a new connection.
func NewBook(client bool) Book {
	b := Book{client: client, in: spare{left: true}, out: spare{left: true}}
	if client {
		b.Out = 1
	} else {
		b.In = 1
	}
	return b
}

// Sent counts a message that this end sends. It returns an error if there is no credit for it.
func (b *Book) Sent(m *Message) error {
	err := spend(&b.Out, &b.out, m, "sent")
	b.In += b.grant(m, &b.begunOut, !b.client)
	b.in.renew()
	return err
}

// Received counts a message that the other end sent. It returns an error if that had no credit.
func (b *Book) Received(m *Message) error {
	err := spend(&b.In, &b.in, m, "received")
	b.Out += b.grant(m, &b.begunIn, b.client)
	b.out.renew()
	return err
}

// spend takes a credit for m.
func spend(left *int, s *spare, m *Message, how string) error {
	if m.IsGrant() && s.left {
		s.left, s.held = false, true
	}
	if *left--; *left >= 0 {
		return nil
	}
	*left = 0
	switch {
	case s.paid:
		s.paid = false
		return nil
	case s.held:
		s.held = false
		return nil
	}
	return fmt.Errorf("%s without a credit: %v", how, *m)
}

// renew records that the receiver of grants has sent a message.
func (s *spare) renew() {
	s.paid = s.paid || s.held
	s.left, s.held = true, false
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
