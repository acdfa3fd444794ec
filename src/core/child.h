#pragma once
/// Work in a process of its own: if it crashes, never ends or breaks its GPU's context, it ends alone.

#include <sys/types.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace reductio {

/// The host's memory ended, or its addresses under `ulimit -v`: no fault of what ran. Exit code 1.
struct MemoryEnded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The exit code of a process whose memory ended where nothing could be thrown: 1, and in a Child one of its own, which
/// no variant's exit(1) is taken for.
int memory_end_exit_code();

/// A forked process that sends messages through a pipe, and whoever made it watches that they come.
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
    stopped,  ///< stop() said so, and what the child had sent by then was given; the child still runs
  };
  /// Waits for the child's next message. Time in which this process was suspended does not count. Asks `stop` first,
  /// and ten times a second, until it says so. Throws what work() threw: the errors of core/error.h as themselves,
  /// others as std::runtime_error.
  Got next(Message&, double patience_s, const std::function<bool()>& stop = {});

  /// "SIGSEGV (Segmentation fault)" or "exit(3)"; "unknown means" where somebody else waited for it.
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
  bool stopping_ = false;  ///< stop() has said so
  std::size_t taken_ = 0;  ///< so many bytes of what was received are of messages that next() has given
};

/// Runs work(send) in a Child and gives `take` each message. Throws what either throws, MemoryEnded, and DeviceError if
/// the process dies.
void run_apart(const std::function<void(const Child::Send&)>& work,
               const std::function<void(const Child::Message&)>& take);

}  // namespace reductio
