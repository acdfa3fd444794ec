#include "cli/simulate/run.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/child.h"
#include "core/error.h"
#include "core/program_file.h"
#include "device/sim/runtime.h"

namespace reductio::cli {
namespace {

using nlohmann::json;

}  // namespace

void to_json(json& out, const Finding& f) {
  out = {{"kind", f.kind}, {"kernel", f.kernel}, {"block", f.block},   {"threads", f.threads},
         {"file", f.file}, {"line", f.line},     {"column", f.column}, {"message", f.message}};
}
void from_json(const json& in, Finding& f) {
  in.at("kind").get_to(f.kind);
  in.at("kernel").get_to(f.kernel);
  in.at("block").get_to(f.block);
  in.at("threads").get_to(f.threads);
  in.at("file").get_to(f.file);
  in.at("line").get_to(f.line);
  in.at("column").get_to(f.column);
  in.at("message").get_to(f.message);
}

namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of the process that runs the program.
int tells = -1;

void send(const Finding& f) {
  const std::string text = json(f).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(tells, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;
    at += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
}

/// Kinds of a Finding that is none.
constexpr const char *cannot_start = "cannot start", *failed_call = "failed call";

/// The exit code of a process that its first finding has ended.
constexpr int ended_by_finding = 2;

/// A Finding in a signal handler: as send() writes it, without an allocation.
class PlainFinding {
 public:
  void add(std::string_view text) {
    for (const char c : text)
      if (size_ < sizeof text_) text_[size_++] = c;
  }
  void add_text(std::string_view name, std::string_view value) {
    begin(name);
    add("\"");
    for (const char& c : value) {
      if (c == '"' || c == '\\') add("\\");
      add(static_cast<unsigned char>(c) < ' ' ? " " : std::string_view(&c, 1));
    }
    add("\"");
  }
  void add_number(std::string_view name, std::size_t value, std::string_view before = "", std::string_view after = "") {
    begin(name);
    char digits[24];
    add(before);
    add({digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), value).ptr - digits)});
    add(after);
  }
  /// Ends the process.
  [[noreturn]] void send() {
    add("}\n");
    for (std::size_t at = 0; at < size_;) {
      const ssize_t n = ::write(tells, text_ + at, size_ - at);
      if (n < 0 && errno != EINTR) break;
      at += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
    _exit(ended_by_finding);
  }

 private:
  void begin(std::string_view name) {
    add(size_ == 0 ? "{\"" : ",\"");
    add(name);
    add("\":");
  }
  char text_[16384];
  std::size_t size_ = 0;
};

void send_plainly(std::string_view kind, const sim::StackOverflow& o) {
  static PlainFinding f;  // the handler's stack is small
  f.add_text("kind", kind);
  f.add_text("kernel", o.kernel);
  f.add_number("block", o.block);
  if (*o.kernel) f.add_number("threads", o.thread, "[", "]");
  else f.add(",\"threads\":[]");
  f.add_text("file", o.file);
  f.add_number("line", static_cast<std::size_t>(o.line));
  f.add_number("column", static_cast<std::size_t>(o.column));
  f.add_text("message", o.message);
  f.send();
}

/// The one who waits has lost patience: says where the program is.
void on_patience_lost(int) { send_plainly("timeout", {"", 0, 0, "", 0, 0, sim::where_it_runs()}); }

[[noreturn]] void run_here(const Way& way, const RunHow& options) {
  sim::set_schedule(way.order, options.seed);
  sim::begin_program(
      {[&](const sim::Fault& f) {
         send({std::string(name(f.kind)), f.kernel, f.block, f.threads, f.file, f.line, f.column, f.what()});
         if (options.goes_on) return;
         std::fflush(nullptr);
         _exit(ended_by_finding);
       },
       [](const sim::FailedCall& f) {
         send({.kind = failed_call, .file = f.file, .line = f.line, .column = f.column, .message = f.what});
       },
       [](const sim::StackOverflow& o) { send_plainly(name(sim::FaultKind::out_of_bounds), o); }, options.goes_on,
       options.at_once});
  std::atexit([] { sim::end_program(); });  // behind the program's own handlers
  struct sigaction patience {};
  patience.sa_handler = on_patience_lost;
  patience.sa_flags = SA_ONSTACK;  // a kernel's thread has little
  sigaction(SIGUSR2, &patience, nullptr);
  offer_symbols();
  void* const object = dlopen(way.object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    const char* const why = dlerror();
    send({.kind = cannot_start, .message = why ? why : "unknown error"});
    _exit(1);
  }
  using Main = int(int, char**, char**);
  auto* const program = reinterpret_cast<Main*>(dlsym(object, "main"));
  if (!program) {
    send({.kind = cannot_start, .message = "it has no main()"});
    _exit(1);
  }
  std::vector<char*> arguments;
  for (const std::string& a : options.arguments) arguments.push_back(strdup(a.c_str()));
  arguments.push_back(nullptr);
  std::exit(program(static_cast<int>(options.arguments.size()), arguments.data(), environ));
}

/// "/.../prog.so: undefined symbol: _Z1fv" in the words of its author.
std::string readable_error(const std::string& why) {
  const std::string undefined = "undefined symbol: ";
  const auto at = why.find(undefined);
  if (at == why.npos) return why;
  const std::string name = why.substr(at + undefined.size());
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return std::string(status == 0 ? text.get() : name) + " is declared and nowhere defined; name the other sources, too";
}

}  // namespace

Running::Running(Way way, const RunHow& options, bool show)
    : run_{.way = std::move(way)}, show_(show), timeout_s_(options.timeout_s), started_s_(now_s()) {
  int output[2], findings[2];
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(findings, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot create a pipe");
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);  // what it starts ends with it
    for (const int s : {SIGPIPE, SIGXFSZ, SIGCHLD}) signal(s, SIG_DFL);
    std::set_new_handler(nullptr);
    dup2(output[1], STDOUT_FILENO);
    if (!show) {
      const int nowhere = open("/dev/null", O_RDWR);
      dup2(nowhere, STDERR_FILENO);
    }
    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    tells = findings[1];
    run_here(run_.way, options);
  }
  setpgid(pid_, pid_);
  close(output[1]);
  close(findings[1]);
  output_ = output[0];
  findings_ = findings[0];
  for (const int f : {output_, findings_}) fcntl(f, F_SETFL, O_NONBLOCK);
}

Running::~Running() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (const int f : {output_, findings_})
    if (f >= 0) close(f);
}

void Running::read_output() {
  char bytes[1 << 16];
  for (ssize_t n; (n = read(output_, bytes, sizeof bytes)) > 0;) {
    run_.output.append(bytes, static_cast<std::size_t>(n));
    if (!show_) continue;
    const std::string shown = without_marks({bytes, static_cast<std::size_t>(n)});
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    std::fflush(stdout);
  }
}

void Running::read_findings() {
  char bytes[1 << 12];
  for (ssize_t n; (n = read(findings_, bytes, sizeof bytes)) > 0;) said_.append(bytes, static_cast<std::size_t>(n));
  for (std::size_t end; (end = said_.find('\n')) != said_.npos; said_.erase(0, end + 1)) {
    const json told = json::parse(said_.substr(0, end), nullptr, false);
    if (told.is_discarded()) continue;
    auto found = told.get<Finding>();
    if (found.kind == "timeout")
      found.message = "simulated device: timeout after " + std::to_string(static_cast<int>(timeout_s_)) + " s: " +
                      found.message + "; --timeout gives it longer";
    if (found.kind == failed_call) run_.failed_calls.push_back(std::move(found));
    else if (found.kind == cannot_start) run_.cannot_start = readable_error(found.message);
    else run_.findings.push_back(std::move(found));
  }
}

bool Running::listen() {
  pollfd both[] = {{output_, POLLIN, 0}, {findings_, POLLIN, 0}};
  poll(both, 2, 100);
  read_output();
  read_findings();
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid_, &status, WNOHANG)) < 0 && errno == EINTR) {
  }
  if (ended == 0) {
    const double late_s = now_s() - started_s_ - timeout_s_;
    if (late_s < 0) return false;
    constexpr double to_say_where_s = 2;
    if (late_s < to_say_where_s) kill(pid_, SIGUSR2);
    else kill(-pid_, SIGKILL);
    return false;
  }
  end(status);
  return true;
}

void Running::end(int status) {
  kill(-pid_, SIGKILL);
  pid_ = -1;
  read_output();
  read_findings();
  run_.seconds = now_s() - started_s_;
  if (WIFEXITED(status)) {
    run_.exit_code = WEXITSTATUS(status);
    return;
  }
  run_.exit_code = 128 + WTERMSIG(status);
  if (run_.seconds > timeout_s_)
    run_.findings.push_back({.kind = "timeout",
                             .message = "simulated device: timeout after " +
                                        std::to_string(static_cast<int>(timeout_s_)) +
                                        " s, in no kernel; --timeout gives it longer"});
  else if (run_.findings.empty())
    run_.findings.push_back({.kind = "crash",
                             .message = "the program was ended by " + death_of(status)});
}

bool Run::ran_out_of_memory() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.kind == name(sim::FaultKind::memory);
  });
}

std::string without_marks(std::string output) {
  std::erase_if(output, [](char c) { return c == sim::begins_device_output || c == sim::ends_device_output; });
  return output;
}

std::vector<std::string> lines_in_any_order(const std::string& output) {
  std::vector<std::string> lines{""};
  std::size_t of_kernel = output.npos;  // the first line that a kernel is printing
  for (const char c : output) {
    if (c == sim::begins_device_output) {
      of_kernel = lines.size() - 1;
    } else if (c == sim::ends_device_output) {
      if (of_kernel < lines.size()) std::sort(lines.begin() + static_cast<std::ptrdiff_t>(of_kernel), lines.end());
      of_kernel = output.npos;
      if (!lines.back().empty()) lines.emplace_back();
    } else if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  std::erase(lines, "");
  return lines;
}

}  // namespace reductio::cli
