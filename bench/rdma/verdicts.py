"""What the samples say. Ratios are taken within a round, where nothing else has changed. Of ratios and
values the median counts, and the spread is told."""
import math
import statistics

LATENCY_LIMIT = 1.2  # of ib_write_lat's
RATE_LIMIT = 0.9  # of ib_write_bw's


class Samples:
    """Values by (by whom, what, bytes, queue pairs). Not every round has all."""

    def __init__(self, rounds):
        self._rounds = [{tuple(row[:4]): row[4] for row in one} for one in rounds]

    def keys(self):
        return list({key: None for one in self._rounds for key in one})

    def values(self, key):
        return [one[key] for one in self._rounds if key in one]

    def ratios(self, key, base):
        return [one[key] / one[base] for one in self._rounds if key in one and base in one]


def spread_text(values, scale):
    return (f"{statistics.median(values) * scale:8.1f}   {min(values) * scale:8.1f} to"
            f"{max(values) * scale:8.1f}")


def table(samples):
    lines = [f"{'by':<13}{'what':<9}{'bytes':>8}{'QPs':>5}    median        spread"]
    order = sorted(samples.keys(), key=lambda key: (key[1], key[2], key[3]))
    for who, what, size, queue_pairs in order:
        scale, unit = (1e6, "us") if what == "latency" else (1e-6, "MB/s")
        text = spread_text(samples.values((who, what, size, queue_pairs)), scale)
        lines.append(f"{who:<13}{what:<9}{size:>8}{queue_pairs:>5}  {text} {unit}")
    return lines


def interval(ratios):
    """Two of the ratios, in order, between which the true median lies with 95 %. Whatever their
    distribution, as many ratios lie below the median as a fair coin shows heads. Where there are too
    few ratios, the two are the outermost."""
    order, count = sorted(ratios), len(ratios)
    outside, left = 0.0, 0
    while left < count // 2:
        outside += math.comb(count, left) / 2 ** count
        if outside > 0.025:
            break
        left += 1
    left = max(left - 1, 0)
    return order[left], order[count - 1 - left]


def ratio_text(ratios):
    low, high = interval(ratios)
    return (f"{statistics.median(ratios):.2f} (median; with 95 % {low:.2f} to {high:.2f}; "
            f"all {min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} rounds)")


def judge(text, ratios, kept):
    """A verdict. It is `firm` where both ends of the interval say the same."""
    verdict = bool(kept(statistics.median(ratios)))
    return {"what": text, "ratio": ratio_text(ratios), "kept": verdict,
            "firm": all(bool(kept(end)) == verdict for end in interval(ratios))}


def rate_verdicts(samples):
    size = max(key[2] for key in samples.keys())
    for queue_pairs in sorted({key[3] for key in samples.keys() if key[1] == "rate"}):
        ratios = samples.ratios(("verbs", "rate", size, queue_pairs),
                                ("ib_write_bw", "rate", size, queue_pairs))
        yield judge(f"{size} B, {queue_pairs} queue pairs: rate at least {RATE_LIMIT} of ib_write_bw",
                    ratios, lambda ratio: ratio >= RATE_LIMIT)


def latency_verdict(samples):
    size = min(key[2] for key in samples.keys())
    ratios = samples.ratios(("verbs", "latency", size, 1), ("ib_write_lat", "latency", size, 1))
    return judge(f"{size} B ping-pong: at most {LATENCY_LIMIT} of ib_write_lat", ratios,
                 lambda ratio: ratio <= LATENCY_LIMIT)


def tcp_verdicts(samples):
    """Where the devices themselves are faster than the kernel's tcp, rondo over them must be, too."""
    for size in sorted({key[2] for key in samples.keys() if key[:2] == ("tcp", "rate")}):
        devices = samples.ratios(("ib_write_bw", "rate", size, 1), ("socket", "rate", size, 1))
        ratios = samples.ratios(("verbs", "rate", size, 1), ("tcp", "rate", size, 1))
        if statistics.median(devices) > 1:
            yield judge(f"{size} B: verbs faster than tcp", ratios, lambda ratio: ratio > 1)
        else:
            yield {"what": f"{size} B: verbs against tcp; no verdict, since ib_write_bw reaches only "
                           f"{ratio_text(devices)} of a socket's rate here",
                   "ratio": ratio_text(ratios), "kept": None, "firm": True}


def verdicts(samples):
    return [latency_verdict(samples), *rate_verdicts(samples), *tcp_verdicts(samples)]


def verdict_lines(judged):
    words = {True: "kept", False: "MISSED", None: "-"}
    return [f"{words[one['kept']]:<7} {one['what']}: {one['ratio']}"
            f"{'' if one.get('firm', True) else '; not firm'}" for one in judged]
