//go:build !purego

package crc

// folds returns the ways of this processor, which take the register itself.
func folds() []variant {
	if !canFold {
		return nil
	}
	return []variant{{"PMULL", fold}}
}
