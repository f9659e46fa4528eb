"""Small plots as SVG: panels with logarithmic axes and a name at the end of each curve.

Pure functions. The ground is transparent and the greys are in the middle, so that a picture reads
on light and on dark pages.
"""
import html
import math

from tables import size_text

WIDTH, PANEL_HEIGHT = 800, 360
LEFT, RIGHT, TOP, BOTTOM = 58, 104, 34, 46  # of a panel, around its curves
FOOT = 18
INK, GRID = "#7a828c", "#7a828c40"
TIMES = ["0.01 us", "0.1 us", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]
FIRST_TIME = -2  # the power of ten of TIMES[0], in us
LABEL_GAP = 15


def text(x, y, words, size=13, anchor="start", colour=INK, more=""):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}"{more}>{html.escape(words)}</text>')


def line(x1, y1, x2, y2, colour=GRID):
    return f'<path d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" stroke="{colour}"/>'


def size_ticks(low, high):
    """Powers of two: every 2^5th from the lowest on, at most six of them."""
    first, last = round(math.log2(low)), round(math.log2(high))
    step = next(step for step in (5, 6, 7, 8, 10, 20) if (last - first) / step <= 5)
    return [1 << power for power in range(first, last + 1, step)]


def time_range(curves):
    """Powers of ten a little beyond all values: (lowest, highest)."""
    values = [value for _, values in curves for value in values]
    return math.log10(min(values)) - 0.15, math.log10(max(values)) + 0.15


def spread(places, gap, low, high):
    """Moves sorted places apart, each as little as it takes."""
    moved = []
    for place in places:
        moved.append(max(place, moved[-1] + gap) if moved else max(place, low))
    excess = max(0.0, moved[-1] - high) if moved else 0.0
    for index in range(len(moved) - 1, -1, -1):
        limit = high if index == len(moved) - 1 else moved[index + 1] - gap
        moved[index] = min(moved[index], limit) if excess else moved[index]
    return moved


class Panel:
    """Curves are {name: (colour, [sizes], [us])}."""

    def __init__(self, x, y, width, height, curves):
        self.left, self.right = x + LEFT, x + width - RIGHT
        self.top, self.bottom = y + TOP, y + height - BOTTOM
        self.curves = curves
        points = [(sizes, values) for _, sizes, values in curves.values()]
        sizes = [size for found, _ in points for size in found]
        self.first, self.last = min(sizes), max(sizes)
        self.low, self.high = time_range(points)

    def x_of(self, size):
        share = math.log(size / self.first) / math.log(max(2, self.last / self.first))
        return self.left + share * (self.right - self.left)

    def y_of(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.bottom - share * (self.bottom - self.top)

    def axes(self):
        for power in range(math.ceil(self.low), math.floor(self.high) + 1):
            y = self.y_of(10.0 ** power)
            yield line(self.left, y, self.right, y)
            yield text(self.left - 6, y + 4, TIMES[power - FIRST_TIME], 12, "end")
        for size in size_ticks(self.first, self.last):
            x = self.x_of(size)
            yield line(x, self.top, x, self.bottom)
            yield text(x, self.bottom + 17, size_text(size), 12, "middle")
        yield text((self.left + self.right) / 2, self.bottom + 36, "size of the vector", 12, "middle")

    def strokes(self):
        for colour, sizes, values in self.curves.values():
            points = [(self.x_of(size), self.y_of(value)) for size, value in zip(sizes, values)]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
            yield f'<path d="M{path}" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>'
            yield f'<path d="{dots}" stroke="{colour}" stroke-width="5" stroke-linecap="round"/>'

    def names(self):
        """Beside the last point of each curve; a thin line leads to those that had to move."""
        ends = sorted((self.y_of(values[-1]), self.x_of(sizes[-1]), name, colour)
                      for name, (colour, sizes, values) in self.curves.items())
        moved = spread([end[0] for end in ends], LABEL_GAP, self.top, self.bottom)
        for (y, x, name, colour), at in zip(ends, moved):
            yield (f'<path d="M{x + 3:.1f} {y:.1f}L{self.right + 12:.1f} {at:.1f}" stroke="{colour}" '
                   'stroke-width="0.8"/>')
            yield text(self.right + 15, at + 4, name, 13, "start", colour, ' font-weight="600"')

    def draw(self, title):
        return [text(self.left, self.top - 14, title, 14, more=' font-weight="600"'),
                *self.axes(), *self.strokes(), *self.names()]


def picture(panels, description, foot, columns=2):
    """`panels`: [(title, curves)], two beside each other. `foot`: lines below all of them."""
    width = WIDTH / columns
    rows = math.ceil(len(panels) / columns)
    height = rows * PANEL_HEIGHT + FOOT * len(foot)
    parts = []
    for number, (title, curves) in enumerate(panels):
        row, column = divmod(number, columns)
        parts += Panel(column * width, row * PANEL_HEIGHT, width, PANEL_HEIGHT, curves).draw(title)
    parts += [text(LEFT, rows * PANEL_HEIGHT + 12 + FOOT * number, words, 12)
              for number, words in enumerate(foot)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" fill="none" font-family="system-ui,sans-serif" role="img">\n'
            f"<title>{html.escape(description)}</title>\n" + "\n".join(parts) + "\n</svg>\n")
