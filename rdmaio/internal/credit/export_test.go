package credit

// Uncounted returns the account without its statistics, which only grow.
func (a V2) Uncounted() V2 {
	a.zero, a.over = 0, 0
	return a
}

// Kin reports whether the account knows that the peer has such an account.
func (a V2) Kin() bool { return a.kin }
