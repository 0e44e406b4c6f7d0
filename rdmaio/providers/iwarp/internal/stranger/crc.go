package stranger

// CRC32C returns the CRC of RFC 5044 §4.4 bit by bit: polynomial 0x11edc6f41, reflected, all bits
// of the register inverted before and after.
func CRC32C(b []byte) uint32 {
	const reflected = 0x82f63b78
	r := ^uint32(0)
	for _, octet := range b {
		r ^= uint32(octet)
		for range 8 {
			carry := r & 1
			r >>= 1
			if carry == 1 {
				r ^= reflected
			}
		}
	}
	return ^r
}
