//go:build !purego

package crc

// folds returns the variants of this processor, which work on the register itself.
func folds() []variant {
	if !canFold {
		return nil
	}
	all := []variant{{"PCLMULQDQ", func(r uint32, p []byte) uint32 { return foldCLMUL(r, p, &folding, false) }}}
	if canFoldWide {
		all = append(all, variant{"VPCLMULQDQ", func(r uint32, p []byte) uint32 { return foldCLMUL(r, p, &folding, true) }})
	}
	return all
}
