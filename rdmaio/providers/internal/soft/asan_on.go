//go:build asan && !(memguard && linux)

package soft

// #include <stddef.h>
// void __asan_poison_memory_region(void const volatile *at, size_t n);
// void __asan_unpoison_memory_region(void const volatile *at, size_t n);
// static void forbid(unsigned char *at, size_t n) { __asan_poison_memory_region(at, n); }
// static void allow(unsigned char *at, size_t n) { __asan_unpoison_memory_region(at, n); }
import "C"

// forbid makes AddressSanitizer report every access to b, until allow. The go command's
// flag -asan sets the tag asan, and needs a C compiler anyway.
func forbid(b []byte) {
	if len(b) > 0 {
		C.forbid((*C.uchar)(&b[0]), C.size_t(len(b)))
	}
}

func allow(b []byte) {
	if len(b) > 0 {
		C.allow((*C.uchar)(&b[0]), C.size_t(len(b)))
	}
}
