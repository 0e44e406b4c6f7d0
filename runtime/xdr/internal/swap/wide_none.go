//go:build !(amd64 || arm64) || purego || race || msan || asan

package swap

const wide = false

func wideWords(dst, src []byte)  { words(dst, src) }
func wideHypers(dst, src []byte) { hypers(dst, src) }
