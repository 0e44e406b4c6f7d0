package crc

import (
	"fmt"
	"hash/crc32"
	"testing"
)

func BenchmarkUpdate(b *testing.B) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for _, n := range []int{4, 8,12,16, 24, 32, 48, 64, 96,128, 256, 1460, 4096, 1 << 16, 1 << 20} {
		p := random(5, n)
		for _, c := range []struct {
			name   string
			update func(uint32, []byte) uint32
		}{
			{"rdmatcp", Update},
			{"fold", func(r uint32, p []byte) uint32 { if len(p)<16 {return 0};return fold(r, p[:n&^15])}},
			{"slicing", slicing},
			{"ieee", func(r uint32, p []byte) uint32 { return crc32.Update(r, crc32.IEEETable, p) }},
			{"castagnoli", func(r uint32, p []byte) uint32 { return crc32.Update(r, castagnoli, p) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				var r uint32
				for range b.N {
					r = c.update(r, p)
				}
			})
		}
	}
}
