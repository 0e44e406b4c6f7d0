// Package image builds a Linux guest from Debian packages: a kernel, and a file system for its
// memory (an initramfs) with modules and tools for RDMA and NFS.
//
// Nothing is installed on the machine that builds. apt-get works on a state of its own in the cache
// folder, with Debian 12's archives, and resolves the packages as for an empty system, so the
// result does not depend on the machine's own packages. The packages are unpacked, not installed,
// and neither step needs root. Debian's kernels are built without the siw driver (software iWARP):
// Build compiles it from the Debian source package of exactly the kernel's version.
//
// The cache folder holds:
//
//	lock         held during a build; the system releases it when a process is killed
//	apt/         apt's state and the downloaded packages, which a later build uses again
//	apt-SUITE/   the same for programs of a later release, see [Later]
//	image-KEY/   a finished image: kernel, initramfs, manifest.json
//	build-KEY/   a build in progress or interrupted; the next build removes it
//
// KEY is a hash of the recipe, see [Recipe.Key]. An image appears under its name complete, by a
// rename, so that a killed build leaves none.
package image
