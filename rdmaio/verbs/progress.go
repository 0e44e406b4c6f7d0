package verbs

// Progresser is a QueuePair whose input a caller can handle on its own goroutine. It is optional.
//
// A caller that waits for one short message can poll for it in place of waiting for a
// notification. A provider that has a goroutine for input saves one change of goroutines that way.
type Progresser interface {
	// Progress handles what the peer sends, until done returns true. Everything that the provider
	// would do on its own goroutine happens on the caller's, notifications included. done is called
	// while the provider holds no lock, must not wait, and is called again after each message.
	//
	// Progress may return before, at any time and at once: the provider then handles further input
	// by itself, and the caller waits for a notification. It returns within milliseconds, or after
	// a notification that takes longer.
	//
	// After Progress has returned, the provider may leave further input for some milliseconds,
	// because a next call of Progress is likely.
	Progress(done func() bool)

	// Wake makes a call of Progress in progress call done again. A goroutine that changes the
	// result of done calls it, unless Progress runs on the same one.
	Wake()

	// Resume makes the provider handle input by itself at once, unless a call of Progress does. A
	// caller calls it before it waits for a notification, if others have called Progress.
	Resume()
}

// ProgresserOf returns qp as a Progresser. If qp does not implement it, ProgresserOf returns one
// whose methods return at once.
func ProgresserOf(qp QueuePair) Progresser {
	if p, ok := qp.(Progresser); ok {
		return p
	}
	return noProgress{}
}

type noProgress struct{}

func (noProgress) Progress(func() bool) {}
func (noProgress) Wake()                {}
func (noProgress) Resume()              {}
