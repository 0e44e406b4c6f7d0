package soft

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// keyGen makes keys: the numbers 1, 2, 3, ... enciphered by a secret permutation
// of the 32-bit numbers, a Feistel network with AES as its round function. So a
// key comes back only after all others were used, and who has seen some cannot
// tell the next (R301; RFC 5042 §6.1.1).
type keyGen struct {
	block   cipher.Block
	counter uint64
	in, out [aes.BlockSize]byte // here, for the interface call makes them escape
}

// feistelRounds is twice what the permutation's proof asks for, the halves
// being small.
const feistelRounds = 8

func newKeyGen(seed [16]byte) keyGen {
	block, err := aes.NewCipher(seed[:])
	if err != nil {
		panic(err) // 16 bytes are a key length
	}
	return keyGen{block: block}
}

// next gives a fresh key, never 0.
func (g *keyGen) next() (key uint32) {
	for key == 0 {
		g.counter++
		key = g.permute(uint32(g.counter))
	}
	return key
}

// address gives the number that the first byte of the region with the last key
// goes by: a multiple of 4096 below 2^47, like an address in a process, and as
// unrelated.
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

// encipher sets out; use keeps the rounds and the addresses apart.
func (g *keyGen) encipher(use byte, v uint64) {
	g.in[0] = use
	binary.BigEndian.PutUint64(g.in[8:], v)
	g.block.Encrypt(g.out[:], g.in[:])
}
