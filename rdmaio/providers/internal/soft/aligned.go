//go:build !(memguard && linux)

package soft

// aligned returns the first size bytes of whole from at on that begin at a multiple of
// align. whole has align-1 bytes to spare.
func aligned(whole []byte, at, size int) []byte {
	at += int(-address(whole[at:]) & (align - 1))
	return whole[at : at+size : at+size]
}
