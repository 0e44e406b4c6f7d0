package soft

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// keyGen generates keys: the numbers 1, 2, 3, ... enciphered by a secret permutation of the
// 32-bit numbers, a Feistel network with AES as its round function. A key is used again
// only after all others, and earlier keys do not help to guess the next (R301;
// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.2; RFC 5042 §6.1.1).
type keyGen struct {
	block   cipher.Block
	counter uint64
	in, out [aes.BlockSize]byte // fields, because the interface call makes them escape
}

// feistelRounds is twice the number that the proof of the permutation requires, because the
// halves are small.
const feistelRounds = 8

func newKeyGen(seed [16]byte) keyGen {
	block, err := aes.NewCipher(seed[:])
	if err != nil {
		panic(err) // 16 bytes are a key length
	}
	return keyGen{block: block}
}

// next returns a fresh key, never 0.
func (g *keyGen) next() (key uint32) {
	for key == 0 {
		g.counter++
		key = g.permute(uint32(g.counter))
	}
	return key
}

// address returns the remote address at which the region with the last key begins: a multiple of
// 4096 below 2^47, as the addresses of a process are, and as hard to relate to other regions.
func (g *keyGen) address() uint64 {
	g.encipher(0xff, g.counter)
	return binary.BigEndian.Uint64(g.out[:]) & (1<<47 - 1) &^ 4095
}

func (g *keyGen) permute(v uint32) uint32 {
	left, right := uint16(v>>16), uint16(v)
	for round := range byte(feistelRounds) {
		g.encipher(round, uint64(right))
		left, right = right, left^binary.BigEndian.Uint16(g.out[:])
	}
	return uint32(left)<<16 | uint32(right)
}

// encipher sets out to the enciphered v. use distinguishes the rounds and the addresses.
func (g *keyGen) encipher(use byte, v uint64) {
	g.in[0] = use
	binary.BigEndian.PutUint64(g.in[8:], v)
	g.block.Encrypt(g.out[:], g.in[:])
}
