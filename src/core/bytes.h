#pragma once
/// Values as bytes, for another process of this program: they are read in the order in which they were written.

#include <concepts>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace reductio {

template <class T>
concept Container = requires(const T& t) { t.size(), t.begin(), t.end(); } && !std::is_trivially_copyable_v<T>;

/// Writes trivially copyable values, containers and pairs of them. Both archives take references, so that one function
/// lists what of an object is written and read.
class BytesOut {
 public:
  template <class... T>
  void operator()(T&... values) {
    (put(values), ...);
  }
  std::string bytes{};

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (requires { value.first, value.second; }) {
      put(value.first);
      put(value.second);
    } else if constexpr (Container<T>) {
      put(value.size());
      for (const auto& element : value) put(element);
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
};

/// Throws std::runtime_error where the bytes end too early.
class BytesIn {
 public:
  explicit BytesIn(const std::string& bytes) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (requires { value.first, value.second; }) {
      get(value.first);
      get(value.second);
    } else if constexpr (Container<T>) {
      std::size_t count = 0;
      get(count);
      value.clear();
      for (; count > 0; --count) {
        if constexpr (requires { typename T::mapped_type; }) {
          std::pair<typename T::key_type, typename T::mapped_type> element;
          get(element);
          value.insert(value.end(), std::move(element));
        } else {
          typename T::value_type element{};
          get(element);
          value.insert(value.end(), std::move(element));
        }
      }
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      if (bytes_.size() - at_ < sizeof value) throw std::runtime_error("a message from another process is cut");
      std::memcpy(static_cast<void*>(&value), bytes_.data() + at_, sizeof value);
      at_ += sizeof value;
    }
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace reductio
