package crc

import (
	"hash/crc32"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkUpdate measures every variant and the two generators of hash/crc32 in turns, so that
// a disturbance affects all of them. It reports the GB/s of each, medians of b.N rounds, and the
// speed of Update as a multiple of that of hash/crc32.
func BenchmarkUpdate(b *testing.B) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	ways := append(variants(),
		variant{"ieee", func(r uint32, p []byte) uint32 { return crc32.Update(r, crc32.IEEETable, p) }},
		variant{"castagnoli", func(r uint32, p []byte) uint32 { return crc32.Update(r, castagnoli, p) }})
	for _, n := range []int{4, 8, 16, 24, 32, 48, 64, 128, 256, 512, 1460, 4096, 1 << 16, 1 << 20} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			p := random(5, n)
			batch := max(1, 1<<14/n) // about as long as the clock is coarse, many times over
			spent := map[string][]time.Duration{}
			var r uint32
			for range b.N {
				for _, w := range ways {
					start := time.Now()
					for range batch {
						r = w.update(r, p)
					}
					spent[w.name] = append(spent[w.name], time.Since(start))
				}
			}
			speed := map[string]float64{}
			for name, rounds := range spent {
				slices.Sort(rounds)
				speed[name] = float64(batch*n) / float64(rounds[len(rounds)/2])
				b.ReportMetric(speed[name], name+"-GB/s")
			}
			b.ReportMetric(speed["Update"]/speed["ieee"], "x-ieee")
			b.ReportMetric(speed["Update"]/speed["castagnoli"], "x-castagnoli")
			b.ReportMetric(0, "ns/op")
		})
	}
}
