#include "measure/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <utility>

#include "core/child.h"
#include "core/error.h"
#include "measure/plan/grouping.h"
#include "measure/plan/selection.h"
#include "measure/results/csv.h"
#include "measure/results/schema.h"
#include "measure/results/writer.h"
#include "measure/sampling/sampler.h"
#include "measure/session/interrupts.h"
#include "measure/session/record.h"
#include "measure/timing/host_clock.h"

namespace reductio {
namespace {

/// After an interrupt, a batch with at most this left is finished, a longer one dropped.
constexpr double soon_s = 5;

/// Predictions go on from the rows of an earlier process of this run.
void remember(History& history, const std::vector<Row>& rows, const std::vector<Point>& points) {
  std::map<std::string, const Point*> by_key;
  for (const Point& p : points) by_key.emplace(row_key(p), &p);
  for (const Row& row : rows) {
    const auto point = by_key.find(row_key(row.point));
    if (point != by_key.end() && row.time_median_s) history.note(*point->second, *row.time_median_s);
  }
}

/// The groups of a session in the order in which they are measured, and what they will cost.
struct Groups {
  std::vector<std::vector<const Point*>> points;
  std::vector<double> costs_s;

  double cost_of(std::size_t first, std::size_t last) const {
    return std::accumulate(costs_s.begin() + static_cast<std::ptrdiff_t>(first),
                           costs_s.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
  }
};

Groups groups_of(const Session& session) {
  Groups out;
  for (const auto& indices : group_points(session.points)) {
    out.points.emplace_back();
    out.costs_s.push_back(0);
    for (const std::size_t i : indices) {
      out.points.back().push_back(&session.points[i]);
      out.costs_s.back() += rough_cost_s(session.points[i], session.rules);
    }
  }
  return out;
}

class SessionRun {
 public:
  SessionRun(Session session, RunObserver& observer) : session_(std::move(session)), observer_(observer) {
    report_.points = session_.points.size();
  }

  RunReport measure() {
    load_variants();
    if (session_.options.profile) {
      profile();
    } else {
      open_results();
      measure_all();
    }
    return report_;
  }

 private:
  void load_variants() {
    std::set<const Variant*> all;
    for (const Point& p : session_.points) all.insert(p.variant);
    for (const Variant* v : all)
      if (v->load) v->load();
  }

  void profile() {
    make_sampler();
    observer_.started({}, report_.points, 0);
    for (const auto& group : groups_of(session_).points) {
      const Measurement calls = sampler_->profile(group, [&](const std::string& text) { observer_.notice(text); });
      if (calls.device_lost) throw_device_lost(calls);
      if (Interrupts::count()) break;
    }
    report_.interrupted = Interrupts::count() > 0;
    report_.measured_s = host_now() - begin_;
  }

  /// Where rows go, and which of the points have theirs already.
  void open_results() {
    run_id_ = new_run_id();  // also where no row is kept: what is printed can be told from another run's
    order_seed_ = session_.order_seed ? *session_.order_seed : draw_order_seed();
    if (session_.keeps_rows) {
      const auto folder = session_.folder.empty() ? session_.options.out / session_.machine.name : session_.folder;
      results_.emplace(folder, session_.machine,
                       RunRecord{run_id_, session_.experiment, utc_now(), session_.options.arguments, session_.seed,
                                 session_.rules, session_.order_seed},
                       session_.options.resume, session_.points);
      run_id_ = results_->run_id();
      order_seed_ = results_->order_seed();
      report_.csv = results_->csv_path();
      for (const std::string& text : results_->notices()) observer_.notice(text);
      const auto finished = std::stable_partition(session_.points.begin(), session_.points.end(),
                                                  [&](const Point& p) { return !results_->has(row_key(p)); });
      finished_.assign(finished, session_.points.end());
      session_.points.erase(finished, session_.points.end());
      report_.skipped = finished_.size();
    }
    observer_.started(report_.csv, report_.points, report_.skipped);
    done_ = report_.skipped;
    if (results_ && !session_.points.empty()) {
      record();
      results_->write_machine();
    }
  }

  void record() {
    nlohmann::ordered_json& entry = results_->entry();
    if (!session_.instruments.open) return record_start(entry, session_, observer_);
    run_apart(
        [&](const Child::Send& send) {
          struct Notices : RunObserver {
            explicit Notices(const Child::Send& to) : send(to) {}
            void notice(const std::string& text) override { send({text}); }
            const Child::Send& send;
          } notices(send);
          session_.backend.reset(open_here(session_.instruments));
          record_start(entry, session_, notices);
          send({"", entry.dump()});
        },
        [&](const Child::Message& m) {
          if (m.size() == 1)
            observer_.notice(m[0]);
          else
            entry = nlohmann::ordered_json::parse(m[1]);
        });
  }

  void measure_all() {
    make_sampler();
    const Groups groups = groups_of(session_);
    measuring_since_ = host_now();
    // Without a clock there is nothing to spread over time.
    const double batch_s = session_.instruments.timer->keeps_time() ? session_.rules.batch_s : 0;
    BatchSizes sizes(groups.costs_s, batch_s, session_.rules.batches_grow);
    double took_s = 0;
    while (const auto batch = sizes.next(took_s)) {
      const double since = host_now();
      if (Interrupts::count() || !measure_batch(groups, batch->first, batch->second)) break;
      took_s = host_now() - since;
    }
    report_.interrupted = Interrupts::count() > 0 && done_ < report_.points;
    end();
    observer_.progress(done_, report_.points, host_now() - measuring_since_, report_.interrupted ? -1 : 0, "");
    if (report_.times_memory_stayed_busy)
      observer_.notice(
          fmt::format("in {} contexts the memory stayed slower than it had been: something else uses it, "
                      "and these samples may be slow; end it, and measure again",
                      report_.times_memory_stayed_busy));
    if (const auto& cpu = report_.host_cpu; cpu && 20 * cpu->on_busy_cpu > cpu->samples)
      observer_.notice(fmt::format(
          "of {} samples by the host's clock {} were taken while no CPU was quiet: something else uses this "
          "host, and times end to end may be long; end it, and measure again",
          cpu->samples, cpu->on_busy_cpu));
  }

  /// Before the observer hears of it, who may throw.
  void end() {
    report_.measured_s = host_now() - begin_;
    report_.host_cpu = session_.instruments.monitor->take_host_cpu_counts();
    if (!results_ || session_.points.empty()) return;
    record_end(results_->entry(), session_.machine, report_, results_->entry_before());
    results_->record_hashes();
    results_->write_machine();
  }

  void make_sampler() {
    std::optional<double> peak;
    if (const auto& gpu = session_.machine.gpu; gpu && gpu->theoretical_peak_bytes_per_s() > 0)
      peak = gpu->theoretical_peak_bytes_per_s();
    sampler_ = std::make_unique<Sampler>(
        Sampling{session_.backend.get(), session_.instruments, session_.rules, order_seed_, run_id_, peak,
                 session_.machine.load_limit_bytes_per_s(), session_.keeps_rows, session_.patience_s});
    if (results_) remember(sampler_->history(), results_->earlier_rows(), finished_);
  }

  /// False if interrupted. Throws if the device no longer answers.
  bool measure_batch(const Groups& groups, std::size_t first, std::size_t last) {
    const double before = groups.cost_of(0, first), batch = groups.cost_of(first, last),
                 all = groups.cost_of(0, groups.costs_s.size());
    const double since = host_now();
    double left = std::numeric_limits<double>::infinity();  // in seconds; pilots are dropped
    bool finishing = false;
    const auto abandon = [&] {
      if (Interrupts::count() == 1 && !finishing && results_ && left <= soon_s) {
        finishing = true;
        observer_.notice("finishing the rows under way, which takes seconds; interrupt again to drop them");
      }
      return Interrupts::count() > (finishing ? 1 : 0);
    };
    const auto progress = [&](const Point& of_group, bool sampled, double share) {
      // By the estimate, or by its pace so far if that is slower.
      if (sampled) left = (1 - share) * std::max(batch, (host_now() - since) / share);
      const double elapsed = host_now() - measuring_since_, so_far = before + share * batch;
      observer_.progress(done_, report_.points, elapsed, so_far > 0 ? elapsed * (all - so_far) / so_far : -1,
                         describe_group(of_group));
    };
    const auto enough = [&](int contexts, const SoFar& so_far) { return observer_.enough(contexts, so_far); };
    Measurement measured = sampler_->measure(std::span(groups.points).subspan(first, last - first),
                                             {.abandon = abandon, .progress = progress, .enough = enough});
    if (measured.abandoned) return false;
    std::string unwritten, why;  // rows for which there was no room
    for (GroupOutcome& outcome : measured.groups) try {
        keep(outcome);
      } catch (const OutputError& e) {
        why = e.what();
        for (const Row& row : outcome.rows) unwritten += csv_record(row.fields());
      }
    try {
      for (const GroupOutcome& outcome : measured.groups) tell(outcome);
    } catch (...) {  // of a terminal that is gone
      report_.interrupted = done_ < report_.points;
      end();
      throw;
    }
    if (!why.empty()) throw OutputError(why + saved_elsewhere(unwritten));
    if (measured.device_lost) throw_device_lost(measured);
    return true;
  }

  /// Puts rows that do not fit where they belong into the folder for temporary files: "; the rows that ... are in X".
  std::string saved_elsewhere(const std::string& rows) const {
    try {
      const auto file = std::filesystem::temp_directory_path() / fmt::format("{}-{}.csv", session_.experiment, run_id_);
      write_whole_file(file, csv_record(columns()) + rows);
      return "; the rows that were just measured are in " + file.string() + ", and --resume measures them again";
    } catch (const std::exception&) {
      return "; the rows that were just measured are printed alone";
    }
  }

  /// Rows to the file.
  void keep(GroupOutcome& outcome) {
    for (Row& row : outcome.rows) {
      row.run_id = run_id_;
      row.timestamp_utc = utc_now();
      row.experiment = session_.experiment;
      row.machine = session_.machine.name;
      ++report_.by_status[static_cast<std::size_t>(row.status)];
    }
    if (results_) results_->append(outcome.rows, outcome.samples_csv);
    report_.spent += outcome.spent;
    report_.times_memory_stayed_busy += outcome.times_memory_stayed_busy;
    done_ += outcome.rows.size();
  }

  void tell(const GroupOutcome& outcome) {
    if (outcome.throttled_hz)
      observer_.notice(fmt::format("{}: the GPU's clock fell to {:.0f} MHz; the rounds that it fell in are void",
                                   describe_group(outcome.rows.front().point), *outcome.throttled_hz * 1e-6));
    for (const Row& row : outcome.rows) observer_.row(row);
    observer_.group(outcome);
  }

  [[noreturn]] void throw_device_lost(const Measurement& measured) {
    std::string why = "the device no longer answers";
    try {
      std::rethrow_exception(measured.device_lost);
    } catch (const std::exception& e) {
      why += fmt::format(" ({})", e.what());
    }
    for (const Row& row : measured.groups.front().rows)
      if (row.status == Status::failed || row.status == Status::timeout)
        why = fmt::format("{} stopped the device ({})", row.point.variant, row.reason);
    if (measured.device_busy) {  // freeing anything would wait for the call that does not end
      keep_for_ever(sampler_.release());
      keep_for_ever(std::move(session_.instruments));
      keep_for_ever(session_.backend.release());
    }
    if (results_) why += "; rows so far are in " + report_.csv.string() + ", --resume continues after it";
    throw DeviceError(why);
  }

  const double begin_ = host_now();
  const Interrupts catching_;
  Session session_;
  RunObserver& observer_;
  RunReport report_;
  std::string run_id_;
  std::uint64_t order_seed_ = 0;
  std::optional<Results> results_;
  std::vector<Point> finished_;  ///< whose rows were there
  std::unique_ptr<Sampler> sampler_;
  std::size_t done_ = 0;  ///< points
  double measuring_since_ = 0;
};

}  // namespace

RunReport run_session(Session session, RunObserver& observer) {
  return SessionRun(std::move(session), observer).measure();
}

}  // namespace reductio
