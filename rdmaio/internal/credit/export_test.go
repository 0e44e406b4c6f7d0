package credit

// Uncounted returns the account without its statistics, which only grow.
func (a V2) Uncounted() V2 {
	a.zero, a.over = 0, 0
	return a
}

// Doubtful reports whether a Grant counted as free that may have used the peer's last credit.
func (a V2) Doubtful() bool { return a.doubt > 0 }

// Strict reports whether the account counts as a peer does that pays for each Grant.
func (a V2) Strict() bool { return a.strict }
