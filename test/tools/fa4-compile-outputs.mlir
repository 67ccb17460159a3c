// The results appear together: where one of them cannot be written, the files
// that were there before are as they were, and nothing else is left. A link
// stays a link, a device is written in place.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// A new folder is readable for whom the umask lets.
//
// $ sh -c 'umask 022 && fa4-compile f.mlir -o new/deep'
// $ stat -c %a new new/deep
// 755
// 755
//
// A link to a file and a device. The mode of a character device begins with c.
//
// $ mkdir links far && ln -s ../far/kernel.ptx links/f_kernel.ptx && ln -s /dev/null links/f_kernel.json
// $ fa4-compile f.mlir -o links
// $ test -L links/f_kernel.ptx && test -L links/f_kernel.json
// $ ls -lL /dev/null
// c{{.*}}
// $ cmp far/kernel.ptx new/deep/f_kernel.ptx
//
// The manifest cannot be written: the PTX of before stays, or none appears.
//
// $ mkdir old && echo before > old/f_kernel.ptx && mkdir old/f_kernel.json
// $ fa4-compile f.mlir -o old
// fa4-compile: error: cannot write '{{.*}}f_kernel.json': Is a directory
// [2]
// $ cat old/f_kernel.ptx
// before
// $ mkdir full && ln -s /dev/full full/f_kernel.json
// $ fa4-compile f.mlir -o full
// fa4-compile: error: cannot write '{{.*}}f_kernel.json': No space left on device
// [2]
// $ ls -A full
// f_kernel.json

//--- f.mlir
func.func @f(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x4x128xbf16>, %v: tensor<?x?x4x128xbf16>)
    -> tensor<?x?x4x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16> -> tensor<?x?x4x128xbf16>
  return %out : tensor<?x?x4x128xbf16>
}
