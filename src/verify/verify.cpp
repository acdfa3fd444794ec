#include "verify/verify.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "verify/workbench.h"

namespace reductio {
namespace {

/// Small cases first, so that the first failure is the simplest; then equal inputs side by side.
bool before(const Case& a, const Case& b) {
  const auto key = [](const Case& c) {
    return std::tie(c.problem.n, c.problem.type, c.dataset, c.seed, c.offset_elements);
  };
  return key(a) < key(b);
}

/// From this size on an input is worth sharing between variants.
constexpr std::size_t worth_sharing = 1 << 20;

bool still_works(Backend& backend) {
  try {
    const DeviceMemory memory(backend, 64);
    const Stream stream = backend.create_stream();
    backend.fill(memory.get(), 0, memory.size(), stream);
    backend.synchronize(stream);
    backend.destroy_stream(stream);
    return true;
  } catch (const Refused&) {  // out of memory, which others may have taken
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void insert_distinct(std::vector<std::string>& all, const std::string& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

class Run {
 public:
  Run(const std::vector<const Variant*>& chosen, Backend& backend,
      const std::function<std::vector<Case>(const Variant&)>& make_cases,
      const std::function<void(std::size_t, std::size_t, const std::string&)>& progress)
      : chosen_(chosen), backend_(backend), make_cases_(make_cases), bench_(backend), progress_(progress) {}

  VerifyReport run() {
    // Batteries are made twice, once to count: all of them together would take a quarter of a gigabyte.
    std::vector<std::pair<std::size_t, Case>> large;
    for (std::size_t v = 0; v < chosen_.size(); ++v) {
      VariantResult& result = report_.by_variant.emplace_back();
      result.id = chosen_[v]->id;
      result.device = backend_.info().kind;
      for (Case& c : cases_of(v)) {
        ++total_;
        if (c.problem.n >= worth_sharing) large.emplace_back(v, std::move(c));
      }
    }
    for (std::size_t v = 0; v < chosen_.size(); ++v) {
      std::vector<Case> cases = cases_of(v);
      std::stable_sort(cases.begin(), cases.end(), before);
      for (const Case& c : cases)
        if (c.problem.n < worth_sharing) run_one(v, c);
    }
    std::stable_sort(large.begin(), large.end(),
                     [](const auto& a, const auto& b) { return before(a.second, b.second); });
    for (const auto& [v, c] : large) run_one(v, c);

    for (const VariantResult& r : report_.by_variant) {
      report_.passed += r.passed;
      report_.failed += r.failed;
      report_.refused += r.refused;
      report_.not_run += r.not_run;
      report_.failures.insert(report_.failures.end(), r.failures.begin(), r.failures.end());
      for (const std::string& why : r.refusals) insert_distinct(report_.refusals, why);
    }
    return std::move(report_);
  }

 private:
  std::vector<Case> cases_of(std::size_t v) {
    std::vector<Case> cases;
    timed(v, [&] { cases = make_cases_(*chosen_[v]); });
    return cases;
  }

  template <class F>
  void timed(std::size_t v, F&& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    report_.by_variant[v].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void run_one(std::size_t v, const Case& c) {
    VariantResult& r = report_.by_variant[v];
    if (progress_) progress_(done_, total_, c.describe());
    ++done_;
    if (!c.left_out.empty()) {
      ++r.left_out;
      insert_distinct(r.reasons_left_out, c.left_out);
      return;
    }
    if (!report_.stopped.empty() || r.failed >= most_failures) {
      ++r.not_run;
      return;
    }
    timed(v, [&] { judge(r, c); });
  }

  void judge(VariantResult& r, const Case& c) {
    std::string why;
    try {
      why = bench_.run(c);
    } catch (const Refused& e) {
      ++r.refused;
      const std::string text = e.what();
      insert_distinct(r.refusals, text.starts_with(r.id + ": ") ? text : r.id + ": " + text);
      return;
    } catch (const std::exception& e) {
      // A launch that failed is no DeviceError, because a kernel's header knows no harness; it may be the device's all
      // the same.
      const bool of_device = dynamic_cast<const DeviceError*>(&e) != nullptr;
      why = of_device ? e.what() : std::string("threw: ") + e.what();
      if (!still_works(backend_)) report_.stopped = "the device no longer works after " + c.describe() + ": " + why;
    }
    if (why.empty()) {
      ++r.passed;
      if (c.check == "fault") insert_distinct(r.faults, c.variant->fault_of(c.settings).why);
    } else {
      ++r.failed;
      r.failures.push_back({c, why});
    }
  }

  const std::vector<const Variant*>& chosen_;
  Backend& backend_;
  const std::function<std::vector<Case>(const Variant&)>& make_cases_;
  Workbench bench_;
  const std::function<void(std::size_t, std::size_t, const std::string&)>& progress_;
  std::size_t done_ = 0, total_ = 0;
  VerifyReport report_;
};

}  // namespace

bool is_protocol(std::string_view check) { return check != "exact" && check != "bounded" && check != "special"; }

std::string Case::describe() const {
  std::string text = variant->id + " " + std::string(name(problem.operation)) + " " + std::string(name(problem.type)) +
                     " n=" + std::to_string(problem.n);
  if (const std::string set = settings.str(); !set.empty()) text += " " + set;
  if (offset_elements) text += " offset=" + std::to_string(offset_elements);
  text += " " + dataset + " seed=" + std::to_string(seed);
  if (!order.empty()) text += " order=" + order;
  if (is_protocol(check)) text += " check=" + check;
  return text;
}

std::string Case::command(DeviceKind device) const {
  std::string id = variant->id;  // as a regular expression, in which a plus sign is none
  for (std::size_t at = 0; (at = id.find('+', at)) != std::string::npos; at += 2) id.insert(at, "\\");
  std::string text = "reductio verify --device " + std::string(name(device)) + " --variants '^" + id +
                     "$' --operations " + std::string(name(problem.operation)) + " --types " +
                     std::string(name(problem.type)) + " --sizes " + std::to_string(problem.n);
  std::string set = settings.str();
  std::replace(set.begin(), set.end(), ';', ',');
  if (!set.empty()) text += " --set " + set;
  if (offset_elements) text += " --offset " + std::to_string(offset_elements);
  text += " --dataset " + dataset + " --seed " + std::to_string(seed);
  if (!order.empty()) text += " --order " + order;
  return text + " --check " + check;
}

std::string run_case(const Case& c, Backend& backend) { return Workbench(backend).run(c); }

VerifyReport verify(const std::vector<const Variant*>& chosen, Backend& backend, Tier tier, std::uint64_t seed,
                    const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
  return verify(
      chosen, backend, [&](const Variant& v) { return battery(v, backend.info(), tier, seed); }, progress);
}

VerifyReport verify(const std::vector<const Variant*>& chosen, Backend& backend,
                    const std::function<std::vector<Case>(const Variant&)>& cases_of,
                    const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
  return Run(chosen, backend, cases_of, progress).run();
}

}  // namespace reductio
