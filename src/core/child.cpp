#include "core/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace reductio {
namespace {

constexpr int childs_memory_end = 112;
int of_memory_end = 1;

constexpr int tick_ms = 100;

/// What a frame holds: a message, the end, or what was thrown.
enum class Frame : char { message, done, usage, unavailable, refused, no_gpu, device, memory, other };

void put_number(std::string& out, std::size_t n) {
  const auto number = static_cast<std::uint32_t>(n);
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Its kind, the number of fields, and of each its length and its bytes.
std::string bytes_of(Frame kind, const Child::Message& fields) {
  std::string out(1, static_cast<char>(kind));
  put_number(out, fields.size());
  for (const std::string& field : fields) {
    put_number(out, field.size());
    out += field;
  }
  return out;
}

void write_all(int to, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(to, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno != EINTR) _exit(1);  // nobody listens any more
    at += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
}

[[noreturn]] void rethrow(Frame kind, const std::string& why) {
  switch (kind) {
    case Frame::usage: throw UsageError(why);
    case Frame::unavailable: throw Unavailable(why);
    case Frame::refused: throw Refused(why);
    case Frame::no_gpu: throw NoGpu(why);
    case Frame::device: throw DeviceError(why);
    case Frame::memory: throw MemoryEnded(why);
    default: throw std::runtime_error(why);
  }
}

}  // namespace

std::string death_of(int status) {
  if (WIFEXITED(status)) return "exit(" + std::to_string(WEXITSTATUS(status)) + ")";
  const int signal = WTERMSIG(status);
  const char* const name = sigabbrev_np(signal);
  return (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal)) + " (" + strsignal(signal) + ")" +
         (signal == SIGKILL ? "; the system may have run out of memory" : "");
}

Child::Child(const std::function<void(const Send&)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot create a pipe");
  std::fflush(nullptr);  // or the child would print it once more
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    throw std::system_error(why, std::generic_category(), "cannot start a process");
  }
  if (pid_ == 0) {
    close(ends[0]);
    run(work, ends[1], parent);
  }
  close(ends[1]);
  from_ = ends[0];
}

int memory_end_exit_code() { return of_memory_end; }

bool Child::memory_ended() const { return death_ == "exit(" + std::to_string(childs_memory_end) + ")"; }

void Child::run(const std::function<void(const Send&)>& work, int to, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  of_memory_end = childs_memory_end;
  if (getppid() != parent) _exit(1);  // it ended before that
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) signal(s, SIG_IGN);
  const auto say = [&](Frame kind, const Message& fields) {
    if (kind != Frame::message) std::fflush(nullptr);  // its maker kills what has said its last
    write_all(to, bytes_of(kind, fields));
  };
  try {
    work([&](const Message& fields) { say(Frame::message, fields); });
    say(Frame::done, {});
  } catch (const UsageError& e) {
    say(Frame::usage, {e.what()});
  } catch (const Unavailable& e) {
    say(Frame::unavailable, {e.what()});
  } catch (const Refused& e) {
    say(Frame::refused, {e.what()});
  } catch (const NoGpu& e) {
    say(Frame::no_gpu, {e.what()});
  } catch (const DeviceError& e) {
    say(Frame::device, {e.what()});
  } catch (const MemoryEnded& e) {
    say(Frame::memory, {e.what()});
  } catch (const std::bad_alloc& e) {
    say(Frame::memory, {e.what()});
  } catch (const std::exception& e) {
    say(Frame::other, {e.what()});
  }
  _exit(0);
}

Child::Got Child::next(Message& fields, double patience_s, const std::function<bool()>& stop) {
  using Clock = std::chrono::steady_clock;
  double waited_s = 0;
  for (;;) {
    if (!stopping_ && stop && stop()) {
      stopping_ = true;
      pollfd said{from_, POLLIN, 0};
      if (poll(&said, 1, 0) > 0) read_more();
    }
    if (char kind{}; take(fields, kind)) {
      const auto what = static_cast<Frame>(kind);
      if (what != Frame::message && what != Frame::done) rethrow(what, fields.at(0));
      return what == Frame::message ? Got::message : Got::done;
    }
    if (stopping_) return Got::stopped;
    if (waited_s >= patience_s) return Got::late;
    pollfd one{from_, POLLIN, 0};
    const auto before = Clock::now();
    const int ready = poll(&one, 1, tick_ms);
    // A tick is all that one poll can count for: this process may have been suspended.
    waited_s += std::min(std::chrono::duration<double>(Clock::now() - before).count(), tick_ms / 1000.0);
    // Another process that the child started may hold the pipe open.
    const bool gone = ready <= 0 && reaped();
    if (ready > 0 ? !read_more() : gone && !(poll(&one, 1, 0) > 0 && read_more())) {
      if (!reaped_soon()) kill();  // it has closed the pipe and goes on
      return Got::died;
    }
  }
}

bool Child::take(Message& fields, char& kind) {
  std::size_t at = taken_ + 1;
  const auto number = [&](std::uint32_t& n) {
    if (received_.size() < at + sizeof n) return false;
    received_.copy(reinterpret_cast<char*>(&n), sizeof n, at);
    at += sizeof n;
    return true;
  };
  std::uint32_t count = 0, length = 0;
  if (!number(count)) return false;
  Message out;
  for (; count > 0; --count) {
    if (!number(length) || received_.size() < at + length) return false;
    out.push_back(received_.substr(at, length));
    at += length;
  }
  kind = received_[taken_];
  taken_ = at;
  fields = std::move(out);
  return true;
}

bool Child::read_more() {
  received_.erase(0, std::exchange(taken_, 0));
  char bytes[1 << 16];
  const ssize_t n = read(from_, bytes, sizeof bytes);
  if (n > 0) received_.append(bytes, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

bool Child::reaped() {
  if (pid_ < 0) return true;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == 0) return false;
  death_ = ended == pid_ ? death_of(status) : "unknown means";  // somebody else waited for it
  pid_ = -1;
  return true;
}

bool Child::reaped_soon() {
  constexpr int most_ticks = 6000, short_tick_ms = 5;
  for (int i = 0; i < most_ticks && !reaped(); ++i) poll(nullptr, 0, short_tick_ms);
  return pid_ < 0;
}

bool Child::kill() {
  if (from_ >= 0) close(std::exchange(from_, -1));
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  const bool ended = reaped_soon();
  pid_ = -1;
  return ended;
}

void run_apart(const std::function<void(const Child::Send&)>& work,
               const std::function<void(const Child::Message&)>& take) {
  Child child(work);
  for (Child::Message m;;) switch (child.next(m, std::numeric_limits<double>::infinity())) {
      case Child::Got::message: take(m); break;
      case Child::Got::done: return;
      default:
        if (child.memory_ended()) throw MemoryEnded("out of memory");
        throw DeviceError("the process that uses the device was ended by " + child.death());
    }
}

}  // namespace reductio
