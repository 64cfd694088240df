package wire

import "hash/crc32"

// checksum is the CRC-32 of a text with its length. The checksum of two texts, one after the other, follows from
// theirs: join multiplies the sum of the first by x^(8n), for the n bytes of the second, as polynomials over GF(2)
// modulo the polynomial of crc32.IEEE, and adds the sum of the second. zlib calls this crc32_combine.
type checksum struct {
	crc uint32
	// length is modulo 2^32, as in a gzip trailer.
	length uint32
	// power is x^(8*length). join needs it.
	power uint32
}

// Polynomials have the coefficient of x^0 in their highest bit, as crc32.IEEE has.
const one = 1 << 31

// emptyChecksum is the checksum of the empty text.
var emptyChecksum = checksum{power: one}

func sumOf(text []byte) checksum {
	return checksum{crc: crc32.ChecksumIEEE(text), length: uint32(len(text)), power: powerOf(len(text))}
}

// join returns the checksum of a text followed by another one.
func (c checksum) join(next checksum) checksum {
	return checksum{
		crc:    multiply(next.power, c.crc) ^ next.crc,
		length: c.length + next.length,
		power:  multiply(c.power, next.power),
	}
}

// multiply multiplies two polynomials modulo that of the CRC.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return product
}

// powerOf returns x^(8n).
func powerOf(n int) uint32 {
	power := uint32(one)
	for square := uint32(one >> 8); n > 0; n >>= 1 {
		if n&1 != 0 {
			power = multiply(power, square)
		}
		square = multiply(square, square)
	}
	return power
}
