#pragma once
/// Work in a process of its own: if it crashes, never ends or breaks its GPU's context, it ends alone.

#include <sys/types.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace reductio {

/// The host ran out of memory, or of addresses under `ulimit -v`; the code that ran is not to blame. Exit code 1.
struct MemoryEnded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The exit code of a process that runs out of memory where nothing can be thrown: 1, but in a Child another one, so
/// that a variant's exit(1) is not mistaken for it.
int memory_end_exit_code();

/// How a process ended, of what waitpid() gives: "SIGSEGV (Segmentation fault)", "exit(3)".
std::string death_of(int status);

/// A forked process that sends messages through a pipe to the process that made it.
class Child {
 public:
  using Message = std::vector<std::string>;  ///< fields, of any bytes
  using Send = std::function<void(const Message&)>;

  /// Forks. The child runs work(send) and ends, without destructors of static objects. Only the calling thread goes
  /// along: if this process has used CUDA, OpenMP or TBB, the child must not. The child is killed when the thread that
  /// made it ends. It ignores SIGINT, SIGTERM and SIGHUP, about which its maker decides.
  explicit Child(const std::function<void(const Send&)>& work);
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  enum class Got {
    message,
    done,     ///< work() returned
    died,     ///< the process ended before that: death() says how
    late,     ///< no message within the patience; the child still runs
    stopped,  ///< stop() returned true, and all messages sent by then were given; the child still runs
  };
  /// Waits for the child's next message. Time in which this process was suspended does not count. Asks `stop` at once
  /// and then ten times a second, until it returns true. Throws what work() threw: the errors of core/error.h as
  /// themselves, others as std::runtime_error.
  Got next(Message&, double patience_s, const std::function<bool()>& stop = {});

  /// Ends a message: "SIGSEGV (Segmentation fault)", "exit(3)"; "unknown means" if somebody else waited for it.
  const std::string& death() const { return death_; }
  /// Whether it died by memory_end_exit_code().
  bool memory_ended() const;

  /// False if the process is still there half a minute later: a driver holds it.
  bool kill();

 private:
  /// noexcept: what is no std::exception ends the child here, not somewhere in a copy of its maker.
  [[noreturn]] void run(const std::function<void(const Send&)>& work, int to, pid_t parent) noexcept;
  bool read_more();  ///< false: there is nothing more to come
  bool take(Message&, char& kind);
  bool reaped();
  bool reaped_soon();  ///< waits for up to half a minute

  pid_t pid_ = -1;  ///< -1: it has ended
  int from_ = -1;
  std::string received_{}, death_{};
  bool stopping_ = false;  ///< stop() has returned true
  std::size_t taken_ = 0;  ///< the bytes of received_ that next() has given
};

/// Runs work(send) in a Child and gives `take` each message. Throws what either throws, MemoryEnded, and DeviceError if
/// the process dies.
void run_apart(const std::function<void(const Child::Send&)>& work,
               const std::function<void(const Child::Message&)>& take);

}  // namespace reductio
