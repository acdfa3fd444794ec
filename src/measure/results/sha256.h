#pragma once
/// SHA-256 (FIPS 180-4): what machine.json tells rows and samples by, so that an edited file is noticed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reductio {

class Sha256 {
 public:
  void add(std::string_view text);
  /// Of all that was added, in 64 hexadecimal digits. Ends the hash.
  std::string hex();

 private:
  void take(const unsigned char* block);
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace reductio
