//go:build purego || !(amd64 || arm64)

package crc

func folds() []variant { return nil }
