"""What the results say, as sentences. Each is composed from the numbers, so it stays true when they change."""

from __future__ import annotations

import math

import pandas as pd

import results as rs
import speedup
from results import Results, Series
from text import latex

TYPE = "f32"
REPRODUCED = 2**22  # from here on ratios of calls end to end are what loops outside of the harness give, too
SIZES = {"Small": 2**20, "Medium": 2**24, "Large": 2**28}
ABSENT = r"\emph{(not measured in these results)}"


def _which(operation: str = "sum") -> dict:
    return dict(device="cuda", operation=operation, element_type=TYPE)


def named(s: Series) -> str:
    """A variant with the settings that tell it from its others: "levels/naive (atomic)"."""
    return latex.code(s.variant) + (f" ({latex.escape(s.words)})" if s.words else "")


class Findings:
    def __init__(self, results: Results):
        self.results = results
        self.machine = results.machine
        table = results.comparison
        self.device = [] if table is None else rs.series(table, mode="device", **_which())
        self.end_to_end = [] if table is None else rs.series(table, mode="end_to_end", **_which())
        self.cub = rs.base_series(self.device, "sum")
        self.hand = [s for s in self.device if rs.is_handwritten(s.variant)
                     and (self.cub is None or s.measured_on == self.cub.measured_on)]
        self._over_cub: dict[Series, pd.DataFrame] = {}

    # ------------------------------------------------------------------------------------ by size, against CUB

    def best(self, n: int) -> Series | None:
        """The fastest hand-written kernel at n, by device time of a plain sum."""
        there = [s for s in self.hand if s.at(n) is not None]
        return min(there, key=lambda s: s.at(n)["time"], default=None)

    def over_cub(self, series: Series, n: int) -> pd.Series | None:
        """The speedup over CUB's at n, as a row of speedup.over; None where they were not sampled together."""
        if series not in self._over_cub:
            self._over_cub[series] = speedup.over(self.results, series, self.cub).set_index("n", drop=False)
        found = self._over_cub[series]
        return found.loc[n] if n in found.index else None

    def standing(self, n: int) -> tuple[list[Series], list[Series], list[Series]]:
        """(ahead of CUB, cannot be told from it, behind it) by the speedup's interval, each variant by its fastest settings,
        at n."""
        ahead, level, behind = [], [], []
        for variant in dict.fromkeys(s.variant for s in self.hand):
            there = [s for s in self.hand if s.variant == variant and s.at(n) is not None]
            if not there:
                continue
            s = min(there, key=lambda s: s.at(n)["time"])
            point = self.over_cub(s, n)
            if point is not None:
                (ahead if point["low"] > 1 else behind if point["high"] < 1 else level).append(s)
        return ahead, level, behind

    def at_size(self, n: int) -> str:
        best = self.best(n)
        if best is None or self.cub is None or self.cub.at(n) is None:
            return ABSENT
        mine, base, over = best.at(n), self.cub.at(n), self.speedup(best, n)
        ahead, level, behind = self.standing(n)
        standing = latex.number_of(len(ahead) + len(level) + len(behind), "hand-written kernel", "hand-written kernels")
        return (f"At $n={latex.power(n).strip('$')}$ the fastest hand-written kernel is {named(best)}, in "
                f"{latex.time(mine['time'])} ({latex.bandwidth(mine['bytes'] / mine['time'])}) against CUB's "
                f"{latex.time(base['time'])}{over and f': a speedup over CUB of {over}'}. Of "
                f"{standing} timed on the device, {self._are(len(ahead))} ahead of CUB, {self._are(len(level))} level "
                f"with it (the interval holds 1), and {self._are(len(behind))} behind.")

    def speedup(self, series: Series, n: int) -> str:
        """Over CUB, with its interval: "0.574 [0.573, 0.575]"; "" where they were not sampled together."""
        point = self.over_cub(series, n)
        return "" if point is None else latex.interval(point)

    @staticmethod
    def _are(number: int) -> str:
        return "none is" if number == 0 else "1 is" if number == 1 else f"{latex.count(number)} are"

    def sizes(self) -> str:
        if self.cub is None:
            return ABSENT
        measured = [n for n in self.cub.ok["n"] if self.best(n) is not None]
        if not measured:
            return ABSENT
        ahead = [n for n in measured if self.standing(n)[0]]
        over = (f"Timed on the device, over the {len(measured)} sizes from {latex.power(measured[0])} to "
                f"{latex.power(measured[-1])}, ")
        if not ahead:
            return over + "no hand-written kernel is ahead of CUB by the interval of its speedup."
        said = (over + f"some hand-written kernel is ahead of CUB by the interval of its speedup at {len(ahead)}: "
                f"{latex.runs_of_sizes(ahead, measured)}.")
        found = [(n, self.best(n), point) for n in ahead
                 if (point := self.over_cub(self.best(n), n)) is not None]
        if not found:
            return said
        n, best, point = max(found, key=lambda f: f[2]["ratio"])
        return (said + f" The largest speedup over CUB of the fastest at each size is that of {named(best)} at "
                f"{latex.power(n)}: {latex.time(best.at(n)['time'])} against {latex.time(self.cub.at(n)['time'])}, "
                f"{latex.interval(point)}.")

    def sizes_end_to_end(self) -> str:
        """The same end to end, where other kernels are ahead, at other sizes: which sizes, and by how much from REPRODUCED
        elements on, since below that ratios end to end are not what others measure (trust.ratios)."""
        cub = rs.base_series(self.end_to_end, "sum")
        fastest: dict[tuple[int, str], tuple] = {}  # each variant by its fastest settings, as on the device
        for s in self.end_to_end if cub is not None else ():
            if rs.is_handwritten(s.variant):
                for point in speedup.over(self.results, s, cub).itertuples():
                    key = int(point.n), s.variant
                    if key not in fastest or s.at(point.n)["time"] < fastest[key][1].at(point.n)["time"]:
                        fastest[key] = point, s
        found: dict[int, list[tuple]] = {}
        for (n, _), of in fastest.items():
            found.setdefault(n, []).append(of)
        if not found:
            return ABSENT
        ahead = [n for n, of in found.items() if any(p.enough and p.low > 1 for p, _ in of)]
        said = "End to end, some hand-written kernel is ahead"
        if not ahead:
            return f"{said} at none of {len(found)} sizes."
        said += f" at {len(ahead)} of {len(found)}: {latex.runs_of_sizes(ahead, sorted(found))}"
        large = [(p, s) for n in ahead if n >= REPRODUCED for p, s in found[n] if p.enough and p.low > 1]
        if not large:
            return f"{said}, all of them below {latex.power(REPRODUCED)}."
        point, best = max(large, key=lambda f: f[0].ratio)
        return (f"{said}; from {latex.power(REPRODUCED)} on at most by {latex.interval(point._asdict())}, "
                f"{named(best)} at {latex.power(point.n)}.")

    def peak(self) -> str:
        if self.cub is None:
            return ABSENT
        point = self.cub.ok.iloc[-1]
        reached = latex.bandwidth(point["bytes"] / point["time"])
        peak = self.machine.peak_bytes_per_s
        share = f", {latex.percent(point['bytes'] / point['time'] / peak)} of the theoretical peak" if peak else ""
        reading = ""
        if not math.isnan(point["share"]):
            reading = (f". A kernel that only reads the same elements takes {latex.digits(point['share'])} of CUB's "
                       f"time there")
        return f"At {latex.power(point['n'])}, the largest size, CUB reads {reached}{share}{reading}."

    def limits(self) -> str:
        """What the state of the cache and the launch cost, from limits.csv: only reading, at the largest size that
        L2 holds, and the empty call."""
        table, l2 = self.results.limits, self.machine.l2_bytes
        if table is None or not l2:
            return ABSENT
        states = {}
        for mode, state in (("device", "cold_dirty"), ("device", "cold_clean"), ("device", "warm"), ("graph", "warm")):
            harness = rs.harness_calls(table, mode=mode, cache_state=state, **_which(str(table["operation"].iloc[0])))
            states[mode, state] = harness.dropna().set_index("n")
        fit = [n for n in states["device", "cold_dirty"].index if n * rs.ELEMENT_BYTES[TYPE] <= l2]
        if not fit or any(max(fit) not in b.index for b in states.values()):
            return ABSENT
        n = max(fit)
        words = {("device", "cold_dirty"): "from a cold and dirty cache", ("device", "cold_clean"): "from a cold and clean",
                 ("device", "warm"): "from a warm", ("graph", "warm"): "from a warm one in a graph"}
        told = [f"{latex.time(states[key]['read'][n])} {word}" for key, word in words.items()]
        floors = [latex.time(states[mode, 'warm']["floor"].median()) for mode in ("device", "graph")]
        return (f"Only reading {latex.power(n)} elements, the most that L2 could hold, takes {latex.listing(told)} "
                rf"(Figure~\ref{{fig:limits}}). An empty call on a warm cache takes {floors[0]}, in a graph {floors[1]}.")

    def models(self) -> str:
        """How often the model of latency and bandwidth fits, over all device-timed series of this type."""
        models = self.results.models
        if models is None:
            return ABSENT
        mine = models[(models["experiment"] == "comparison") & (models["device"] == "cuda")
                      & (models["timing_mode"] == "device") & (models["element_type"] == TYPE)
                      & (models["variant"] != rs.READ_CEILING) & (models["status"] != "too_few_sizes")]
        told = []
        for scope, where in (("inside", "inside L2"), ("beyond", "beyond it")):
            there = mine[mine["range"] == scope]
            if len(there):
                told.append(f"{int((there['status'] == 'ok').sum())} of {len(there)} {where}")
        if not told:
            return ABSENT
        return (rf"Of the device-timed choices of variant and settings for {TYPE} the model fits {latex.listing(told)}, to "
                r"within 5\,\% at every size.")

    # --------------------------------------------------------------------------------------------- end to end

    def thrust(self) -> str:
        thrust = [s for s in self.end_to_end if s.variant == "thrust/reduce" and len(s.ok)]
        if not thrust:
            return ABSENT
        thrust_default = thrust[0]
        cub = rs.base_series(self.end_to_end, "sum", thrust_default)
        found = speedup.over(self.results, thrust_default, cub) if cub is not None else ()
        if not len(found):
            return ABSENT

        def told(point) -> str:
            a, b = (latex.time(s.at(point["n"])["time"]) for s in (thrust_default, cub))
            return f"{a} against {b} at {latex.power(point['n'])}, a speedup over CUB of {latex.interval(point)}"

        words = f" ({latex.escape(thrust_default.words)} allocator)" if thrust_default.words else ""
        found = found[found["n"] >= REPRODUCED]
        if not len(found):
            return ABSENT
        return (f"End to end, {latex.code('thrust/reduce')}{words} takes {told(found.iloc[0])}" +
                (f"; {told(found.iloc[-1])}" if len(found) > 1 else "") +
                f", where the second time is that of {latex.code(cub.variant)} with the copy of its result.")

    def spread(self) -> str:
        """Fastest against slowest hand-written kernel, everything end to end, at the medium size."""
        n = SIZES["Medium"]
        there = [s for s in self.end_to_end if rs.is_handwritten(s.variant) and s.at(n) is not None]
        if len(there) < 2:
            return ABSENT
        fast = min(there, key=lambda s: s.at(n)["time"])
        slow = max(there, key=lambda s: s.at(n)["time"])
        factor = slow.at(n)["time"] / fast.at(n)["time"]
        return (f"End to end at {latex.power(n)}, the hand-written sums span a factor of {latex.digits(factor)}: from "
                f"{named(fast)}, {latex.time(fast.at(n)['time'])}, to {named(slow)}, "
                f"{latex.time(slow.at(n)['time'])}.")

    # ------------------------------------------------------------------------------------------------- status

    def status(self) -> str:
        table = self.results.comparison
        if table is None:
            return ABSENT
        counts = table["status"].value_counts()
        words = {"failed": "failed", "wrong": "gave a wrong result", "impossible": "came out faster than the memory",
                 "timeout": "gave no result in time"}
        bad = [f"{latex.count(int(counts[s]))} {w}" for s, w in words.items() if counts.get(s, 0)]
        faults = latex.listing(bad) if bad else "none failed, was wrong or came out faster than the memory"
        return (f"Of the run's {latex.number_of(len(table), 'point', 'points')}, {self._are(int(counts.get('ok', 0)))} "
                f"measured, {self._are(int(counts.get('over_limit', 0)))} over the experiment's limit on a call's time, and "
                f"{self._are(int(counts.get('refused', 0)))} refused by a variant or its library; {faults}.")

    # ---------------------------------------------------------------------------------------------------- CPU

    def cpu(self) -> str:
        from figures import cpu

        if self.results.cpu is None:
            return ABSENT
        series = [s for s in cpu.cpu_series(self.results, TYPE) if len(s.ok) and s.operation == "sum"]
        common = set.intersection(*(set(s.ok["n"]) for s in series)) if series else set()
        if not common:
            return ABSENT
        n = max(common)
        state = cpu.usual_state(series)  # a cold loop is in the figure, and no match for warm ones
        series = [s for s in series if s.cache_state == state]
        best = min(series, key=lambda s: s.at(n)["time"])

        def rate(time: str) -> str:
            return latex.bandwidth(best.at(n)["bytes"] / best.at(n)[time])

        level = cpu.optimisation_of(best.settings)
        how = f" at {latex.escape(level[1])}" if level else f" ({latex.escape(best.words)})" if best.words else ""
        model = latex.escape(str(self.results.cpu_machine.get("cpu.model", default="model unknown")))
        out = (f"On the CPU ({model}, {rs.CPU_CACHE_LABELS[state]}) the sum of the least time at {latex.power(n)} is "
               f"{latex.code(best.variant)}{how}, "
               f"{rate('time')} [{rate('high')}, {rate('low')}].")
        def level_with(s) -> bool:
            """By the speedup's interval; by the times' own where the two were not sampled together."""
            point = speedup.at(self.results, best, s, n)
            return s.at(n)["low"] <= best.at(n)["high"] if point is None else bool(point["low"] <= 1)

        level = [s for s in series if s is not best and level_with(s)]
        if level:
            out += f" It cannot be told apart from {latex.listing([named(s) for s in level])}."
        loops = {(s.variant, lv[1]): s for s in series if (lv := cpu.optimisation_of(s.settings))}
        told = [f"{latex.interval(point)} at {lv} ({latex.time(loop.at(n)['time'])})"
                for (v, lv), loop in sorted(loops.items()) if v == "host/plain" and ("host/unroll8", lv) in loops
                and (point := speedup.at(self.results, loops["host/unroll8", lv], loop, n)) is not None]
        if told:
            out += (" Unrolling the host's loop by 8 by hand gives a speedup over the plain loop (whose time stands in "
                    f"parentheses) of {latex.listing(told)}.")
        return out
