# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG text for inlining: the same bytes for the same data."""

import io
import math
import re

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)
from matplotlib.colors import TwoSlopeNorm  # noqa: E402

from reports.load import HISTOGRAM_BINS  # noqa: E402
from reports.model import HALF_TARGET  # noqa: E402

INK, GREY, BLUE, RED = "#1c2430", "#5b6675", "#2f6db5", "#b3261e"
# Bin i of the histogram holds half-width / rms in [2^(i-32), 2^(i-31)).
FIRST_EXPONENT = -32
# Ratios beyond these have the deepest colour; the number is printed in any case.
SLOWEST, FASTEST = 0.5, 4.0

STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and scaled
    "text.parse_math": False,  # names from files may hold a dollar sign
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": "#aab2bd",
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def svg(figure, name, description):
    """The figure as an <svg> element whose ids cannot meet those of another one."""
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(out, format="svg")
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)  # holds the date
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    # The page scales it; width and height stay as the largest size.
    return text.replace("<svg ", f'<svg role="img" aria-label="{description}" class="plot" ', 1)


def _histogram(axes, row):
    total = sum(row.histogram)
    share = [100 * count / total for count in row.histogram]
    axes.bar(range(HISTOGRAM_BINS), share, width=1.0, align="edge", color=BLUE,
             edgecolor="white", linewidth=0.5)
    target = math.log2(HALF_TARGET) - FIRST_EXPONENT
    if row.key[1] != "bf16":
        axes.axvline(target, color=RED, linewidth=1.2, linestyle=(0, (4, 2)))
        axes.text(target + 0.3, 0.97, "2e-5", color=RED, fontsize=8, va="top",
                  transform=axes.get_xaxis_transform())
    decades = range(-9, -2)
    axes.set_xticks([exponent / math.log10(2) - FIRST_EXPONENT for exponent in decades])
    axes.set_xticklabels([f"1e{exponent}" for exponent in decades])
    axes.set_xlim(0, HISTOGRAM_BINS)
    axes.set_ylim(0, max(share) * 1.12)
    axes.set_title(f"{row.key[0]}\n{row.key[1]}, {row.out}", loc="left")


def half_width_histograms(rows):
    """One panel per row of default data that has a histogram; None if none has."""
    rows = [row for row in rows
            if row.data == "default" and sum(row.histogram) > 0 and not row.exact]
    if not rows:
        return None
    columns = min(3, len(rows))
    lines = math.ceil(len(rows) / columns)
    with matplotlib.rc_context(STYLE):
        figure, grid = plt.subplots(lines, columns, squeeze=False,
                                    figsize=(3.4 * columns, 1.9 * lines + 0.3),
                                    layout="constrained")
        panels = list(grid.flat)
        for axes, row in zip(panels, rows):
            _histogram(axes, row)
        for axes in panels[len(rows):]:
            axes.set_visible(False)
        figure.supxlabel("half-width before rounding / rms of the output", fontsize=9)
        figure.supylabel("% of judged elements", fontsize=9)
        return svg(figure, "half", "Histograms of half-width over rms, one per op, dialect and "
                                   "dtype; the table above has the figures")


def _readable(background):
    """Ink or white, whichever stands out more (relative luminance as WCAG defines it)."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in background[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.2 else "white"


def _panel(axes, name, cells):
    """cells: {(layer, tokens): ratio}, layers in order."""
    layers = list(dict.fromkeys(layer for layer, _ in cells))
    tokens = sorted({tokens for _, tokens in cells})
    values = [[cells.get((layer, count), math.nan) for count in tokens] for layer in layers]
    norm = TwoSlopeNorm(vmin=math.log2(SLOWEST), vcenter=0, vmax=math.log2(FASTEST))
    shades = [[math.log2(v) if v > 0 else math.nan for v in line] for line in values]
    mesh = axes.pcolormesh(shades, cmap="RdBu", norm=norm, edgecolors="white", linewidth=1)
    axes.invert_yaxis()
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if math.isnan(value):
                continue
            axes.text(x + 0.5, y + 0.5, f"{value:.2f}×", ha="center", va="center",
                      color=_readable(mesh.cmap(norm(shades[y][x]))))
    axes.set_xticks([x + 0.5 for x in range(len(tokens))])
    axes.set_xticklabels([str(count) for count in tokens])
    axes.set_yticks([y + 0.5 for y in range(len(layers))])
    axes.set_yticklabels(layers)
    axes.set_xlabel("tokens")
    axes.set_title(name, loc="left")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def speedup_heat_map(speedups, identity):
    """Layer by tokens, one panel per provider, dialect, weights and threads; None if empty."""
    panels = {}

    def place(s):
        return s.provider, s.dialect, s.weights, s.threads, s.order, s.tokens

    for s in sorted(speedups, key=place):
        threads = "" if s.threads == "1" else f", {s.threads} threads"
        panel = panels.setdefault(f"{s.provider}, {s.dialect}, {s.weights}{threads}",
                                  {})
        panel[s.layer, s.tokens] = s.ratio
    if not panels:
        return None
    heights = [len({layer for layer, _ in cells}) for cells in panels.values()]
    with matplotlib.rc_context(STYLE):
        figure, grid = plt.subplots(len(panels), 1, squeeze=False, layout="constrained",
                                    figsize=(7.5, sum(0.36 * h + 0.85 for h in heights)),
                                    gridspec_kw={"height_ratios": heights})
        for axes, (name, cells) in zip(grid.flat, panels.items()):
            _panel(axes, name, cells)
        return svg(figure, identity, "Heat maps of the speed-up over bf16 by layer and number of "
                                     "tokens; the table below has the figures")
