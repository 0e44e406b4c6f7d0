package rdmatcp

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// keyGen makes handles: the numbers 1, 2, 3, ... enciphered by a secret
// permutation of the 32-bit numbers, a Feistel network with AES as its round
// function. So a handle comes back only after all others were used, and who has
// seen some cannot tell the next (R301; RFC 5042 §6.1.1).
type keyGen struct {
	block   cipher.Block
	counter uint32
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

// next gives a fresh handle, never 0.
func (g *keyGen) next() (key uint32) {
	for key == 0 {
		g.counter++
		key = g.permute(g.counter)
	}
	return key
}

func (g *keyGen) permute(v uint32) uint32 {
	left, right := uint16(v>>16), uint16(v)
	for round := range byte(feistelRounds) {
		g.encipher(round, right)
		left, right = right, left^binary.BigEndian.Uint16(g.out[:])
	}
	return uint32(left)<<16 | uint32(right)
}

// encipher sets out, differently for each round.
func (g *keyGen) encipher(round byte, v uint16) {
	g.in[0] = round
	binary.BigEndian.PutUint16(g.in[14:], v)
	g.block.Encrypt(g.out[:], g.in[:])
}
