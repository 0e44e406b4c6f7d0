//go:build purego || !amd64

package crc

func folds() []variant { return nil }
