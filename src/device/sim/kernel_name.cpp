#include "device/sim/kernel_name.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace reductio::sim {

/// As it is, if it is no mangled name.
static std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

std::string last_name(const char* mangled) {
  const std::string whole = demangled(mangled);
  const std::size_t colons = whole.rfind("::");
  return colons == std::string::npos ? whole : whole.substr(colons + 2);
}

std::string readable(const char* name) {
  std::string s = demangled(name);
  const std::string marker = "KernelName<";
  if (const auto at = s.find(marker); at != std::string::npos) s.erase(0, at + marker.size());
  // Qualifiers say which device and file; the reader knows. They end in "::" and hold no spaces but in this one.
  for (std::size_t at; (at = s.find("(anonymous namespace)::")) != std::string::npos;) s.erase(at, 23);
  for (std::size_t at; (at = s.find("::")) != std::string::npos;) {
    std::size_t begin = at;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(s[begin - 1])) || s[begin - 1] == '_')) --begin;
    s.erase(begin, at + 2 - begin);
  }
  // What is left: "&(void rolled<...>(parameters))" or "&(plain(parameters))" or, shorter, without the parentheses.
  s.erase(0, s.find_first_not_of("&("));
  if (s.starts_with("void ")) s.erase(0, 5);
  int depth = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '<') ++depth;
    if (s[i] == '>' && --depth < 0) return s.substr(0, i);
    if (s[i] == '(' && depth == 0) return s.substr(0, i);
  }
  return s;
}

}  // namespace reductio::sim
