//go:build purego || !(amd64 || arm64)

package crc

const canFold = false

func fold(r uint32, p []byte) uint32 { return slicing(r, p) }
