// CHECK: gpu.binary @model_kernel
// CHECK: tile.launch @model_kernel
func.func private @attention(tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x2x64xf16>
func.func @model(%q: tensor<?x?x2x64xf16>, %k: tensor<?x?x2x64xf16>) -> tensor<?x?x2x64xf16> {
  %o = call @attention(%q, %k, %k) : (tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x2x64xf16>
  return %o : tensor<?x?x2x64xf16>
}
