"""A copy of a result to the host that was queued while its kernel ran: from the kernel's end until it was there, by how
long it had been queued by then."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D

import verdicts as vd
from figures import studies, style
from text import copies

LINES = {"after": ("queued after the end, from its call on", (0, (4, 1.5))), "no_copy": ("without a copy", "solid")}


def draw(folder: vd.Folder):
    """None without probes.csv or its copies."""
    probed = copies.read(folder)
    if probed is None:
        return None
    left, right, head, tall, base = 0.42, 0.08, 0.46, 1.7, 0.66
    height = head + tall + base
    figure = studies.sheet(style.COLUMN_WIDTH, height)
    axes = studies.place(figure, left, base, style.COLUMN_WIDTH - left - right, tall, "copies")
    axes.plot(probed.queued, probed.before, gid="before", linestyle="", marker=".", markersize=1.5, color=style.LINE_COLORS[0])
    looks = {}
    for name, (words, dashes) in LINES.items():
        looks[words] = dict(color=style.MARK_COLOR, linewidth=0.9, linestyle=dashes)
        axes.axhline(float(np.median(getattr(probed, name))), gid=name, **looks[words])
    # What took long for once would leave the rest in a corner.
    longest, latest = 1.02 * np.percentile(probed.queued, 99.5), 1.15 * np.percentile(probed.before, 99)
    axes.set_xlim(0, longest)
    axes.set_ylim(0, latest)
    shown = int(np.sum((probed.queued <= longest) & (probed.before <= latest)))
    axes.set_xlabel("from the copy's call to the kernel's end (us)", labelpad=1)
    axes.set_ylabel("from there to the result (us)", labelpad=2)
    figure.legend([Line2D([], [], **look) for look in looks.values()], looks.keys(), ncols=2, loc="lower left",
                  bbox_to_anchor=(0.06 / style.COLUMN_WIDTH, 0.17 / height))
    studies.title(figure, f"Copies of 4 bytes from one {studies.gpu_of(folder)}", "each queued while its kernel ran")
    studies.foot(figure, f"Lines: medians. {shown} of {len(probed.before)} copies are shown.")
    return figure
