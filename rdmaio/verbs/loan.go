package verbs

// Loan is memory of a provider that holds the message of one Receive (RecvWR.Lend). The provider
// lends it when the message arrives, so that a posted Receive needs no memory.
type Loan interface {
	// Bytes returns the message. The borrower may change its bytes, and register them.
	Bytes() []byte

	// Return gives the memory back: the provider uses it for other messages. It is called once at
	// most, and the bytes must not be used afterwards. A borrower may also forget the loan, to
	// leave it to the garbage collector.
	Return()
}
