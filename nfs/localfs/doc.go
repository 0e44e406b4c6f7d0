// Package localfs is a directory of the operating system as a file system for package nfsd.
//
// All access goes through openat2(2), in which the kernel follows no link, or an os.Root, so no
// symbolic link leads out of the directory, whether a client or a local program made it. The last
// component of a path is never followed. Each object is compared after it is opened with the one
// that was found before, and only regular files and directories are opened to read or write.
// Directories and files that are mounted below the directory are refused with fs.ErrPermission
// (ADR 0216).
//
// An ID has the inode number and the generation of its file. A table leads from the number to the
// name and the parent of each file that has an ID. It is in memory and in a file of the state
// directory. IDs thus survive a restart and the renames of clients. A file that a local program
// moved is found again when a client looks it up, and then has the same ID as before. ADR 0074 has
// the reasons and the limits.
//
// It runs on Linux. It builds for macOS and FreeBSD, where it has neither named pipes, sockets and
// devices nor times of symbolic links. Elsewhere Open returns an error.
package localfs
