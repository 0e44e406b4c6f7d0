// Package keys tests the keys by which a peer reaches memory: each is valid on one connection,
// cannot be guessed, and is invalid before the caller has its memory back, also after a Call that
// was cancelled.
package keys
