// The results appear together: where one of them cannot be written, the files
// that were there before are as they were, and nothing else is left. A link
// stays a link, a device is written in place.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t
//
// A new folder is readable for whom the umask lets.
// RUN: sh -c 'umask 022 && fa4-compile "%s" -o new/deep'
// RUN: stat -c %%a new new/deep | FileCheck %s --check-prefix=MODE
// MODE: 755
// MODE-NEXT: 755
//
// A link to a file and a device. The mode of a character device begins with c.
// RUN: mkdir links far && ln -s ../far/kernel.ptx links/f_kernel.ptx && ln -s /dev/null links/f_kernel.json
// RUN: fa4-compile %s -o links
// RUN: test -L links/f_kernel.ptx && test -L links/f_kernel.json
// RUN: ls -lL /dev/null | FileCheck %s --check-prefix=DEVICE
// RUN: cmp far/kernel.ptx new/deep/f_kernel.ptx
// DEVICE: {{^}}c
//
// The manifest cannot be written: the PTX of before stays, or none appears.
// RUN: mkdir old && echo before > old/f_kernel.ptx && mkdir old/f_kernel.json
// RUN: not fa4-compile %s -o old 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: FileCheck %s --check-prefix=BEFORE --input-file=old/f_kernel.ptx
// RUN: mkdir full && ln -s /dev/full full/f_kernel.json
// RUN: not fa4-compile %s -o full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: ls -A full | FileCheck %s --check-prefix=LEFT
// FOLDER: fa4-compile: error: cannot write '{{.*}}f_kernel.json': Is a directory
// BEFORE: before
// FULL: fa4-compile: error: cannot write '{{.*}}f_kernel.json': No space left on device
// LEFT: f_kernel.json
// LEFT-NOT: {{.}}

func.func @f(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x4x128xbf16>, %v: tensor<?x?x4x128xbf16>)
    -> tensor<?x?x4x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16> -> tensor<?x?x4x128xbf16>
  return %out : tensor<?x?x4x128xbf16>
}
