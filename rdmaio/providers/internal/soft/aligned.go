//go:build !(memguard && linux)

package soft

// aligned gives size bytes of whole, which has align-1 more, and where they begin.
func aligned(whole []byte, at, size int) []byte {
	at += int(-address(whole[at:]) & (align - 1))
	return whole[at : at+size : at+size]
}
