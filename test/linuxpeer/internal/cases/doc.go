// Package cases has the cases of test/linuxpeer and runs them against a guest.
//
// A family of related cases is a file with a function that returns them, and a line in [All]:
//
//	func myCases() []Case {
//		return []Case{{
//			Name: "my/thing",
//			Run: func(t *T) {
//				out := t.Shell("uname -r")
//				t.Report(Finding{
//					What:     "the thing",
//					Rule:     "RFC 5044 §7.1",
//					Expected: "an answer",
//					Saw:      out,
//				})
//			},
//		}}
//	}
//
// A case runs on the host. It runs programs in the guest ([T.Run], [T.Shell], [T.Background]),
// connects to the guest's TCP ports ([T.Forward]), and listens for connections of the guest
// ([T.Listen]). It fails like a test: by [T.Fatalf], [T.Errorf], a panic, its time limit, a problem
// in the kernel's log, or the end of the guest. All cases of a run share one guest, one after the
// other; each cleans up after itself ([T.Cleanup]).
//
// docs/interop.md is made of what the cases report with [T.Report]. Its text must not depend on the
// run: no times, addresses, random numbers.
package cases
