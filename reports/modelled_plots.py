# SPDX-License-Identifier: Apache-2.0
"""Plots of the model's result files. Every one of them says that it is modelled."""

import math

import matplotlib.pyplot as plt
from matplotlib import rc_context
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from reports.plots import BLUE, GREY, INK, RED, STYLE, svg

COLOURS = {"i8mm": BLUE, "dotprod": "#1b8a5a", "bf16": INK, "neon": "#b06a00"}
MARKERS = {"w8a8": "o", "w4a8": "^", "bf16": "s"}
SHOWN_CORE = "neoverse-n2"  # of the curves; the others look alike


def _colour(provider):
    return COLOURS.get(provider, RED)


def _format_of(case):
    """w8a8, w4a8 or bf16; None for ops without one."""
    name = case.split(" ")[0].rsplit("_", 1)[-1]
    return name if name in MARKERS else None


def _doubling(axis, step=1):
    """A scale of powers of two with plain numbers."""
    axis.set_major_locator(LogLocator(base=2 ** step))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _roof(axes, core, low, high):
    """Memory bandwidth of one core up to each limit of issue."""
    slope = core["core_gbs"] / core["ghz"]  # bytes per cycle
    limits = sorted(core["limits"].items(), key=lambda item: -item[1])
    top = limits[0][1] if limits else slope * high
    axes.plot([low, top / slope], [low * slope, top], color=GREY, linewidth=1.2)
    axes.text(low * 1.1, low * slope * 1.35, f"{slope:.1f} bytes/cycle", color=GREY, fontsize=7.5)
    heights = {}
    for name, limit in limits:
        heights.setdefault(limit, []).append(name.upper())
    for limit, names in heights.items():
        axes.plot([limit / slope, high], [limit, limit], color=GREY, linewidth=1.2)
        axes.text(high, limit * 1.06, f"{', '.join(names)} {limit:.0f}", color=GREY, fontsize=7.5,
                  ha="right", zorder=0)


def _points(axes, rows):
    for row in rows:
        axes.plot([row.intensity], [row.value("modelled MAC/cycle")], linestyle="none",
                  marker=MARKERS[_format_of(row.case)], color=_colour(row.provider), markersize=5,
                  markeredgecolor="white", markeredgewidth=0.4)


def _legend(axes, rows):
    kinds = dict.fromkeys((row.provider, _format_of(row.case)) for row in rows)
    handles = [plt.Line2D([], [], linestyle="none", marker=MARKERS[name], color=_colour(provider),
                          label=f"{provider}, {name}") for provider, name in kinds]
    axes.legend(handles=handles, loc="lower right", fontsize=7, frameon=False)


def roofline(run, identity):
    """MAC per cycle over MAC per byte, one panel per core; None without points."""
    rows = [row for row in run.rows
            if _format_of(row.case) and row.value("logical threads") == 1
            and row.intensity > 0 and row.value("modelled MAC/cycle") > 0]
    cores = [name for name in run.cores if any(row.core == name for row in rows)]
    if not cores:
        return None
    low = 2.0 ** math.floor(math.log2(min(row.intensity for row in rows)) - 0.5)
    # Room for the names of the limits, right of the last point.
    high = 2.0 ** math.ceil(math.log2(max(row.intensity for row in rows)) + 2.5)
    with rc_context(STYLE):
        figure, grid = plt.subplots(math.ceil(len(cores) / 2), 2, squeeze=False, sharex=True,
                                    sharey=True, layout="constrained",
                                    figsize=(8.6, 2.9 * math.ceil(len(cores) / 2) + 0.5))
        for axes, name in zip(grid.flat, cores):
            _roof(axes, run.cores[name], low, high)
            _points(axes, [row for row in rows if row.core == name])
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.set_xlim(low, high * 1.05)
            _doubling(axes.xaxis, 2)
            _doubling(axes.yaxis)
            axes.set_title(f"{name}, modelled", loc="left")
        for axes in grid.flat[len(cores):]:
            axes.set_visible(False)
        figure.supxlabel("MAC per byte from memory", fontsize=9)
        figure.supylabel("modelled MAC per cycle", fontsize=9)
        _legend(grid[0][0], rows)
        return svg(figure, identity, "Rooflines, modelled: MAC per cycle over MAC per byte, one "
                                     "panel per core; the table has the figures")


def _curve(axes, curve, key, label):
    points = [(point["at"], point[key].get(SHOWN_CORE) if isinstance(point[key], dict)
               else point[key] / 1024) for point in curve["points"]]
    points = [(at, value) for at, value in points if value is not None]
    axes.plot([at for at, _ in points], [value for _, value in points], marker="o", markersize=3,
              linewidth=1.3, label=label)


def _panel(axes, curves, key, label):
    for curve in curves:
        _curve(axes, curve, key, curve["title"])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    # A change of a few per cent shall look like one.
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.5, max(high * 1.5, low * 8))
    _doubling(axes.xaxis, 2)
    _doubling(axes.yaxis)
    axes.set_xlabel(curves[0]["axis"])
    axes.set_title(label, loc="left")
    axes.grid(color="#e4e8ed", linewidth=0.6)


def curves(run, identity):
    """Cycles per MAC and workspace over tokens, and over threads; None without curves."""
    axes_of = {}
    for curve in run.curves:
        axes_of.setdefault(curve["axis"], []).append(curve)
    if not axes_of:
        return None
    with rc_context(STYLE):
        figure, grid = plt.subplots(len(axes_of), 2, squeeze=False, layout="constrained",
                                    figsize=(8.6, 3.4 * len(axes_of)))
        for (left, right), found in zip(grid, axes_of.values()):
            _panel(left, found, "cycles/MAC", f"cycles per MAC and core, {SHOWN_CORE}, modelled")
            _panel(right, found, "workspace", "workspace, KiB")
            right.legend(fontsize=6.5, frameon=False, loc="upper left")
        return svg(figure, identity, "Cycles per MAC and workspace over tokens and threads, "
                                     "modelled")
