//go:build !purego

package crc

// folds returns the variants of this processor, which work on the register itself.
func folds() []variant {
	if !canFold {
		return nil
	}
	return []variant{{"PMULL", fold}}
}
