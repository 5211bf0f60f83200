/**
 * The rule with which anomalies are compared: three standard deviations around the mean of the same hour of the week.
 *
 * The standard deviation is that of all residuals of the series. That of a single hour of the week would never mark
 * anything: of `n` numbers none is further than `(n - 1) / sqrt(n)` standard deviations from their mean, which is below
 * three in less than eleven weeks.
 */
export interface Marked {
  startMs: number;
  endMs: number;
  direction: 'up' | 'down';
}

const SIGMAS = 3;

/** Runs of marked buckets; a single usual one does not end a run. */
export function threeSigma(values: readonly number[], startMs: number, bucketMs: number): Marked[] {
  const perWeek = (7 * 86_400_000) / bucketMs;
  const sums = new Float64Array(perWeek);
  const counts = new Float64Array(perWeek);
  values.forEach((value, at) => {
    sums[at % perWeek] = (sums[at % perWeek] ?? 0) + value;
    counts[at % perWeek] = (counts[at % perWeek] ?? 0) + 1;
  });
  const residuals = values.map((value, at) => value - (sums[at % perWeek] ?? 0) / (counts[at % perWeek] ?? 1));
  const deviation = Math.sqrt(residuals.reduce((all, residual) => all + residual * residual, 0) / residuals.length);
  const marked: Marked[] = [];
  residuals.forEach((residual, at) => {
    if (Math.abs(residual) <= SIGMAS * deviation || deviation === 0) return;
    const direction = residual > 0 ? 'up' : 'down';
    const last = marked.at(-1);
    const fromMs = startMs + at * bucketMs;
    if (last && last.direction === direction && fromMs - last.endMs <= bucketMs) last.endMs = fromMs + bucketMs;
    else marked.push({ startMs: fromMs, endMs: fromMs + bucketMs, direction });
  });
  return marked;
}
