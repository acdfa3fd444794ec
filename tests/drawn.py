"""Looking at a figure that was drawn: its axes, lines and texts, and whether it is legible in print."""

from matplotlib.table import Table
from matplotlib.text import Text

from report import style


def axes_of(figure, gid):
    matching = [a for a in figure.axes if a.get_gid() == gid]
    assert len(matching) == 1, f"{gid} is not among {[a.get_gid() for a in figure.axes]}"
    return matching[0]


def line(axes, label):
    """The data of one labelled line, drawn alone or with error bars."""
    for container in axes.containers:
        if container.get_label() == label:
            return container[0].get_xydata(), container[2]
    for l in axes.get_lines():
        if l.get_label() == label:
            return l.get_xydata(), None
    raise AssertionError(f"no line {label!r}")


def text_objects(figure):
    """All of them, those in the cells of tables, too."""
    return figure.findobj(Text) + [cell.get_text() for table in figure.findobj(Table) for cell in table.get_celld().values()]


def texts(figure):
    """All of them, without the breaks of their lines."""
    return " ".join(" ".join(t.get_text() for t in text_objects(figure)).split())


def legible_and_inside(figures):
    for name, figure in figures.items():
        assert figure.get_size_inches()[0] <= style.TEXT_WIDTH + 1e-9, name
        assert figure.get_size_inches()[1] <= 9.3, name
        bounds = figure.bbox.padded(1)
        undrawn = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
                   for tick in axis.get_major_ticks() + axis.get_minor_ticks()
                   for label in (tick.label1, tick.label2)
                   if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())}
        for t in text_objects(figure):
            if not t.get_text().strip() or not t.get_visible() or t in undrawn:
                continue
            assert t.get_fontsize() * (style._mathtext.SHRINK_FACTOR if "^" in t.get_text() else 1) >= (
                6 if "^" in t.get_text() else 8), (name, t.get_text())
            box = t.get_window_extent()
            assert bounds.x0 <= box.x0 and box.x1 <= bounds.x1, (name, t.get_text())
            assert bounds.y0 <= box.y0 and box.y1 <= bounds.y1, (name, t.get_text())
