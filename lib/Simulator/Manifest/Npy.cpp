//===- Npy.cpp - numpy's array files --------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace fa4::sim;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef magic("\x93NUMPY", 6);

int64_t NpyArray::count() const {
  // If one dimension is 0 there are no elements, and the product of the other
  // dimensions may overflow without harm.
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t n = 1;
  for (int64_t dim : shape)
    n *= dim;
  return n;
}

static std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string NpyArray::describe() const {
  StringRef name = kind == 'f'   ? "float"
                   : kind == 'i' ? "int"
                   : kind == 'u' ? "uint"
                   : kind == 'b' ? "bool"
                                 : "void";
  return (name + Twine(8 * itemBytes) + " " + shapeText(shape)).str();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// The header is a Python dictionary literal with three known keys.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  bool run() {
    if (!eat("{"))
      return false;
    while (!eat("}")) {
      std::string key;
      if (!string(key) || !eat(":") || !value(key))
        return false;
      if (!eat(",") && !StringRef(rest).ltrim().starts_with("}"))
        return false;
    }
    return rest.trim().empty() && seen == 7;
  }

  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;

private:
  bool eat(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool string(std::string &text) {
    rest = rest.ltrim();
    char quote = rest.empty() ? 0 : rest[0];
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = rest.find(quote, 1);
    if (end == StringRef::npos)
      return false;
    text = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }
  bool value(StringRef key) {
    if (key == "descr") {
      seen |= 1;
      return string(descr);
    }
    if (key == "fortran_order") {
      seen |= 2;
      fortran = eat("True");
      return fortran || eat("False");
    }
    if (key != "shape" || !eat("("))
      return false;
    seen |= 4;
    while (!eat(")")) {
      rest = rest.ltrim();
      int64_t dim;
      if (rest.consumeInteger(10, dim) || dim < 0)
        return false;
      rest.consume_front("L");
      shape.push_back(dim);
      if (!eat(",") && !rest.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }

  StringRef rest;
  unsigned seen = 0;
};

} // namespace

/// Splits a type such as "<f4" into kind, size and byte order. Returns false if
/// the type is no plain number.
static bool parseDescr(StringRef descr, NpyArray &array, bool &swap) {
  if (descr.size() < 3)
    return false;
  char order = descr[0];
  array.kind = descr[1];
  unsigned bytes;
  if (!StringRef("<>|=").contains(order) ||
      descr.drop_front(2).getAsInteger(10, bytes))
    return false;
  array.itemBytes = bytes;
  swap = order == '>';
  switch (array.kind) {
  case 'b':
    return bytes == 1;
  case 'i':
  case 'u':
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  case 'f':
    return bytes == 2 || bytes == 4 || bytes == 8;
  case 'V':
    return bytes == 1 || bytes == 2;
  default:
    return false;
  }
}

static void swapBytes(NpyArray &array) {
  unsigned n = array.itemBytes;
  for (size_t i = 0; i + n <= array.data.size(); i += n)
    std::reverse(array.data.begin() + i, array.data.begin() + i + n);
}

/// Changes a column-major array to row-major.
static void transpose(NpyArray &array) {
  size_t rank = array.shape.size();
  std::vector<int64_t> strides(rank, 1), index(rank, 0);
  for (size_t i = 1; i < rank; ++i)
    strides[i] = strides[i - 1] * array.shape[i - 1];
  std::vector<uint8_t> result(array.data.size());
  unsigned n = array.itemBytes;
  for (int64_t i = 0, count = array.count(); i < count; ++i) {
    int64_t source = 0;
    for (size_t d = 0; d < rank; ++d)
      source += index[d] * strides[d];
    std::memcpy(&result[i * n], &array.data[source * n], n);
    for (size_t d = rank; d-- && ++index[d] == array.shape[d];)
      index[d] = 0;
  }
  array.data = std::move(result);
}

/// Returns the number of elements times their size, or nothing if that is more
/// than `available`.
static std::optional<uint64_t> dataBytes(const NpyArray &array,
                                         uint64_t available) {
  uint64_t bytes = array.itemBytes;
  for (int64_t dim : array.shape)
    if (dim == 0)
      return 0;
  for (int64_t dim : array.shape) {
    if (uint64_t(dim) > available / bytes)
      return std::nullopt;
    bytes *= dim;
  }
  return bytes <= available ? std::optional<uint64_t>(bytes) : std::nullopt;
}

llvm::Expected<NpyArray> fa4::sim::parseNpy(llvm::MemoryBufferRef buffer) {
  StringRef bytes = buffer.getBuffer();
  auto fail = [&](const Twine &what) {
    return llvm::createStringError(buffer.getBufferIdentifier() + ": " + what);
  };
  if (!bytes.consume_front(magic) || bytes.size() < 4)
    return fail("not a .npy file");
  unsigned version = uint8_t(bytes[0]);
  if (version < 1 || version > 3)
    return fail(".npy version " + Twine(version) + " is not known");
  size_t lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < 2 + lengthBytes)
    return fail("the .npy header is cut off");
  const char *lengthAt = bytes.data() + 2;
  uint64_t length = version == 1 ? llvm::support::endian::read16le(lengthAt)
                                 : llvm::support::endian::read32le(lengthAt);
  bytes = bytes.drop_front(2 + lengthBytes);
  if (length > bytes.size())
    return fail("the .npy header is cut off");
  HeaderParser header(bytes.take_front(length));
  if (!header.run())
    return fail("malformed .npy header");
  bytes = bytes.drop_front(length);
  NpyArray array;
  bool swap = false;
  if (!parseDescr(header.descr, array, swap))
    return fail("element type '" + header.descr + "' is not supported");
  array.shape = header.shape;
  auto size = dataBytes(array, bytes.size());
  if (!size)
    return fail("the file is shorter than its shape " + shapeText(array.shape) +
                " says");
  if (*size != bytes.size())
    return fail("the file is longer than its shape " + shapeText(array.shape) +
                " says");
  array.data.assign(bytes.begin(), bytes.end());
  if (swap)
    swapBytes(array);
  if (header.fortran && array.shape.size() > 1 && *size)
    transpose(array);
  return array;
}

llvm::Expected<NpyArray> fa4::sim::readNpy(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  return parseNpy((*buffer)->getMemBufferRef());
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string fa4::sim::encodeNpy(const NpyArray &array) {
  std::string shape;
  for (int64_t dim : array.shape)
    shape += std::to_string(dim) + ", ";
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (array.shape.size() == 1)
    shape.pop_back();
  std::string header = "{'descr': '";
  header += array.itemBytes == 1 ? '|' : '<';
  header += array.kind;
  header += std::to_string(array.itemBytes) +
            "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The magic string, the version and the length take 10 bytes. The data must
  // begin at a multiple of 64 bytes.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file(magic);
  file += {'\x01', '\0', char(header.size() & 0xFF), char(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char *>(array.data.data()),
              array.data.size());
  return file;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

NpyMeaning fa4::sim::npyMeaning(const NpyArray &array, DType type) {
  bool sameSize = array.itemBytes == dtypeBytes(type);
  if (array.kind == 'V')
    return sameSize && isFloat(type) ? NpyMeaning::Bits : NpyMeaning::None;
  if (isFloat(type) && array.kind == 'f')
    return NpyMeaning::Value;
  // Unsigned integers stand for the bits of half-precision numbers or for
  // integers of the same size, and for no other type.
  if (array.kind == 'u' && sameSize && dtypeBytes(type) <= 2)
    return NpyMeaning::Bits;
  if (!isFloat(type) && array.kind != 'f' && sameSize)
    return NpyMeaning::Bits;
  return NpyMeaning::None;
}

static double floatAt(const NpyArray &array, size_t i) {
  const uint8_t *p = &array.data[i * array.itemBytes];
  if (array.itemBytes == 2)
    return decodeFloat(DType::F16, llvm::support::endian::read16le(p));
  if (array.itemBytes == 4)
    return decodeFloat(DType::F32, llvm::support::endian::read32le(p));
  return decodeFloat(DType::F64, llvm::support::endian::read64le(p));
}

std::vector<uint8_t> fa4::sim::toTensorBytes(const NpyArray &array,
                                             DType type) {
  bool sameType = array.kind == 'f' && isFloat(type) &&
                  array.itemBytes == dtypeBytes(type) && type != DType::BF16 &&
                  type != DType::E4M3 && type != DType::E5M2;
  if (npyMeaning(array, type) == NpyMeaning::Bits || sameType)
    return array.data;
  unsigned bytes = dtypeBytes(type);
  size_t count = array.data.size() / array.itemBytes;
  std::vector<uint8_t> result(count * bytes);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = encodeFloat(type, floatAt(array, i));
    for (unsigned b = 0; b < bytes; ++b)
      result[i * bytes + b] = uint8_t(bits >> (8 * b));
  }
  return result;
}

NpyArray fa4::sim::fromTensorBytes(llvm::ArrayRef<uint8_t> bytes, DType type,
                                   std::vector<int64_t> shape, bool raw) {
  NpyArray array;
  array.shape = std::move(shape);
  array.itemBytes = dtypeBytes(type);
  bool narrow =
      type == DType::BF16 || type == DType::E4M3 || type == DType::E5M2;
  if (!narrow || raw) {
    array.kind = narrow                      ? 'u'
                 : isFloat(type)             ? 'f'
                 : type == DType::Bool       ? 'b'
                 : dtypeName(type)[0] == 'i' ? 'i'
                                             : 'u';
    array.data.assign(bytes.begin(), bytes.end());
    return array;
  }
  unsigned width = array.itemBytes;
  array.itemBytes = 4;
  array.data.resize(bytes.size() / width * 4);
  for (size_t i = 0; i < bytes.size() / width; ++i) {
    uint64_t bits = bytes[i * width];
    if (width == 2)
      bits |= uint64_t(bytes[i * width + 1]) << 8;
    llvm::support::endian::write32le(
        &array.data[i * 4],
        uint32_t(encodeFloat(DType::F32, decodeFloat(type, bits))));
  }
  return array;
}
