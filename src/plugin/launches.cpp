#include "plugin/launches.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <regex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "plugin/tokens.h"

namespace reductio {
namespace {

struct Edit {
  std::size_t at, removed;
  std::string added;
};

class Rewriting {
 public:
  explicit Rewriting(const Source& source) : source_(source), t_(source.tokens()) {}

  std::string result() {
    for (std::size_t i = 0; i < t_.size(); ++i) {
      refuse(i);
      if (is_sign(i, "<<<") && !(i > 0 && t_[i - 1].is == "operator")) rewrite_launch(i);
      else if (t_[i].is == "__attribute__" && is_lambdas_mark(i)) remove(i, closing(i + 1));
      else if (t_[i].kind == Token::word && takes_kernel(t_[i].is) && i + 1 < t_.size() && t_[i + 1].is == "(")
        rewrite_kernel_argument(i);
    }
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.at < b.at; });
    const std::string& text = source_.text();
    std::string out;
    std::size_t done = 0;
    for (const Edit& e : edits_) {
      out.append(text, done, e.at - done);
      out += e.added;
      done = e.at + e.removed;
      out += at_place(source_.line_of(done), source_.column(done));
    }
    return out.append(text, done, std::string::npos);
  }

 private:
  [[noreturn]] void fail(const Token& t, const std::string& why) const {
    throw UsageError(source_.place(t) + ": " + why);
  }

  /// Signs of several characters are tokens of one each, without a gap.
  bool is_sign(std::size_t i, std::string_view sign) const {
    if (i + sign.size() > t_.size()) return false;
    for (std::size_t k = 0; k < sign.size(); ++k)
      if (t_[i + k].kind != Token::sign || t_[i + k].is[0] != sign[k] || source_.at(t_[i + k]) != source_.at(t_[i]) + k)
        return false;
    return true;
  }

  /// Where brackets that open at `i` close; the end if they do not.
  std::size_t closing(std::size_t i) const {
    int depth = 0;
    for (; i < t_.size(); ++i) {
      if (t_[i].kind != Token::sign) continue;
      if (std::string_view("([{").find(t_[i].is[0]) != std::string_view::npos) ++depth;
      if (std::string_view(")]}").find(t_[i].is[0]) != std::string_view::npos && --depth == 0) return i;
    }
    return i;
  }
  /// Where brackets that close at `i` open, round, square or of a template.
  std::size_t opening(std::size_t i) const {
    const bool angles = t_[i].is == ">";
    int depth = 0, round = 0;
    for (;; --i) {
      const char c = t_[i].kind == Token::sign ? t_[i].is[0] : ' ';
      if (c == ')' || c == ']' || c == '}') ++(angles ? round : depth);
      if (c == '(' || c == '[' || c == '{') --(angles ? round : depth);
      if (angles && round == 0 && c == '>' && !(i > 0 && is_sign(i - 1, "->"))) ++depth;
      if (angles && round == 0 && c == '<') --depth;
      if (depth == 0 || i == 0) return i;
    }
  }

  /// Where the expression that names the kernel begins: `ns::kernel<T, 256>`, `kernels[i]`, `(f ? a : b)`.
  std::size_t begin_of_kernel(std::size_t i) const {
    for (;; --i) {  // i: its last token
      while (i > 0 && (t_[i].is == ">" || t_[i].is == "]")) i = opening(i) - 1;
      if (t_[i].is == ")") i = opening(i);
      if (i < 2) return i;
      const bool member = is_sign(i - 2, "::") || is_sign(i - 2, "->");
      if (member) {
        i -= 2;
        // `::kernel`, of no namespace
        if (i == 0 || !(t_[i - 1].kind == Token::word || t_[i - 1].is == ">" || t_[i - 1].is == ")") ||
            t_[i - 1].is == "return")
          return i;
      } else if (t_[i - 1].is == ".") {
        --i;
      } else {
        return i;
      }
    }
  }

  /// A kernel's expression as text. Gaps between its tokens may hold line markers (columns.h).
  std::string quoted(std::size_t first, std::size_t last) const {
    constexpr std::size_t widest = 80;
    const auto is_name = [](const Token& t) { return t.kind == Token::word || t.kind == Token::number; };
    std::string out;
    for (std::size_t i = first; i <= last; ++i) {
      if (i > first) {
        const std::size_t gap = source_.at(t_[i]) - source_.end(t_[i - 1]);
        if ((gap > 0 && gap < widest) || (is_name(t_[i - 1]) && is_name(t_[i]))) out += ' ';
      }
      for (const char c : t_[i].is) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
      }
    }
    return "\"&" + out + "\"";
  }
  std::string_view between(std::size_t first, std::size_t last) const {
    return std::string_view(source_.text())
        .substr(source_.at(t_[first]), source_.end(t_[last]) - source_.at(t_[first]));
  }

  void rewrite_launch(std::size_t open) {
    if (open == 0) fail(t_[open], "there is no kernel before <<<");
    std::size_t close = open + 3;
    for (int depth = 0; close < t_.size() && !(depth == 0 && is_sign(close, ">>>")); ++close) {
      if (t_[close].is == "(" || t_[close].is == "{" || t_[close].is == "[") ++depth;
      if (t_[close].is == ")" || t_[close].is == "}" || t_[close].is == "]") --depth;
      if (t_[close].is == ";" || depth < 0) close = t_.size() - 1;
    }
    if (close + 3 >= t_.size() || t_[close + 3].is != "(")
      fail(t_[open], "a launch needs kernel<<<grid, block>>>(arguments)");
    const std::size_t first = begin_of_kernel(open - 1), end = closing(close + 3);
    edits_.push_back({source_.at(t_[first]), 0,
                      "::reductio::sim::cuda::launching(" + quoted(first, open - 1) +
                          ", [=](const auto&... reductio_a) __attribute__((no_sanitize(\"thread\"))) { "});
    edits_.push_back(
        {source_.at(t_[open]), 3,
         "(reductio_a...); }, {__builtin_FILE(), __builtin_LINE()}).in(::reductio::sim::cuda::Configuration("});
    edits_.push_back({source_.at(t_[close]), 3, "))"});
    // NULL has the type of a number.
    for (std::size_t i = close + 4; i < end; ++i)
      if (t_[i].is == "__null") edits_.push_back({source_.at(t_[i]), t_[i].is.size(), "nullptr"});
  }

  /// `[=] __device__ (int i) {...}`: the mark of a __device__ variable, where C++ takes none.
  bool is_lambdas_mark(std::size_t i) const {
    return i > 1 && i + 5 < t_.size() && t_[i + 5].is == "\"reductio_device\"" && t_[i - 1].is == "]" &&
           !is_sign(i - 2, "]]");
  }
  static bool takes_kernel(std::string_view word) {
    return word == "cudaLaunchKernel" || word == "cudaLaunchCooperativeKernel" || word == "cudaLaunchKernelEx" ||
           word == "cudaLaunchKernelExC";
  }
  /// `(void*)kernel` becomes a kernel with its name.
  void rewrite_kernel_argument(std::size_t call) {
    std::size_t first = call + 2;
    const auto past_argument = [&](std::size_t i) {
      for (int angles = 0; i < t_.size(); ++i) {
        if (t_[i].is == "(" || t_[i].is == "[" || t_[i].is == "{") i = closing(i);
        else if (t_[i].is == "<") ++angles;
        else if (t_[i].is == ">" && angles > 0) --angles;
        else if ((t_[i].is == "," && angles == 0) || t_[i].is == ")") return i;
      }
      return i;
    };
    if (t_[call].is.starts_with("cudaLaunchKernelEx")) first = past_argument(first) + 1;
    const std::size_t end = past_argument(first);
    if (end >= t_.size() || first >= end) return;
    if (t_[first].is == "(" && closing(first) + 1 < end &&
        between(first, closing(first)).find('*') != std::string::npos) {
      const std::size_t close = closing(first);
      remove(first, close);
      first = close + 1;
    } else if ((t_[first].is == "reinterpret_cast" || t_[first].is == "static_cast") && t_[first + 1].is == "<") {
      std::size_t close = first + 2;
      while (close < end && t_[close].is != ">") ++close;
      remove(first, close);
      first = close + 1;
    }
    if (first >= end) return;
    edits_.push_back({source_.at(t_[first]), 0,
                      "::reductio::sim::cuda::NamedKernel{" + quoted(first, end - 1) + ", "});
    edits_.push_back({source_.end(t_[end - 1]), 0, "}"});
  }
  void remove(std::size_t first, std::size_t last) {
    edits_.push_back({source_.at(t_[first]), source_.end(t_[last]) - source_.at(t_[first]), ""});
  }

  void refuse(std::size_t i) {
    const Token& t = t_[i];
    if (t.kind != Token::word) return;
    if (t.is == "asm" || t.is == "__asm__" || t.is == "__asm") refuse_ptx(i);
    static constexpr std::array textures{"cudaTextureObject_t",
                                         "cudaSurfaceObject_t",
                                         "cudaBindTexture",
                                         "cudaBindTexture2D",
                                         "cudaBindTextureToArray",
                                         "cudaCreateTextureObject",
                                         "tex1Dfetch",
                                         "tex1D",
                                         "tex2D",
                                         "tex3D",
                                         "tex2DLod",
                                         "surf1Dread",
                                         "surf2Dread",
                                         "surf1Dwrite",
                                         "surf2Dwrite"};
    if (std::find(textures.begin(), textures.end(), t.is) != textures.end() && !(i > 0 && t_[i - 1].is == "."))
      fail(t, std::string(t.is) + ": textures and surfaces are not simulated; read global memory");
    if (t.is == "nvcuda" || t.is == "wmma")
      fail(t, std::string(t.is) + ": tensor cores are not simulated; multiply in a loop");
  }
  /// Of a host's assembly no instruction has a dot in its name.
  void refuse_ptx(std::size_t i) {
    const Token& first = t_[i];
    while (i < t_.size() && t_[i].is != "(" && t_[i].is != ";") ++i;
    std::string code;
    for (++i; i < t_.size() && t_[i].kind == Token::text; ++i) code += t_[i].is.substr(1, t_[i].is.size() - 2);
    static const std::regex ptx(R"rx((^|[\s;{\\nt])([a-z]\w*(\.[a-z0-9_:]+)+|trap|exit|membar|bar|ret)\b)rx");
    if (std::regex_search(code, ptx))
      fail(first, "inline PTX is not simulated: \"" + code.substr(0, 60) + (code.size() > 60 ? "...\"" : "\"") +
                      "; use a CUDA function instead");
  }

  const Source& source_;
  const std::vector<Token>& t_;
  std::vector<Edit> edits_;
};

}  // namespace

bool is_refused_header(const std::string& path) {
  static const std::regex refused(
      R"rx((^|.*/)((cub|thrust|nv|nvtx3|cooperative_groups|nccl_device|cute)/.*|cuda/(std/)?\w+|)rx"
      R"rx((mma|curand|cublas|cusparse|cufft|cusolver|cudnn|nccl|cutlass|npp|nvToolsExt|nvrtc|nvJitLink|nvml|nvjpeg|)rx"
      R"rx(cupti|cuComplex|cudaGL|cudaEGL|cudaVDPAU|cuda_(gl|egl|vdpau)_interop|cuda_(fp[468]|pipeline|awbarrier)|)rx"
      R"rx(sm_\d\d_|texture_|surface_)\w*\.h\w*))rx");
  return path.find("/device/sim/cuda/") == path.npos && std::regex_match(path, refused);
}

std::string refusal_of_header(const std::string& place, const std::string& header) {
  return place + ": <" + header +
         "> is not simulated: of CUDA's headers those of the runtime, of 16-bit floats, of cooperative groups and "
         "<cuda/atomic> are here (docs/simulating.md)";
}

std::string with_launches_as_calls(const std::string& preprocessed) {
  const Source source(preprocessed);
  return Rewriting(source).result();
}

}  // namespace reductio
