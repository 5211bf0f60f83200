/**
 * How much of a heavy sweep runs. `npm test` tries a sample of its cases, spread evenly over all of them; with
 * SWEEPS=whole, as in CI and for mutants, each case is tried. Only sweeps that take seconds of a processor are sampled,
 * and each kind of case stays in the sample. A share in the sample may differ from that of all cases by chance:
 * `missOf` returns by how much, which is 0 in a whole run.
 */
const { SWEEPS } = process.env;
if (SWEEPS !== undefined && SWEEPS !== 'whole') throw new Error(`SWEEPS is whole or not set, and not ${SWEEPS}`);

const isWhole = SWEEPS === 'whole';

/** How many standard deviations the share of a sample may be off. */
const DEVIATIONS = 3;

/** The value for a whole run, and the value for each other run. */
export function swept<T>(whole: T, sampled: T): T {
  return isWhole ? whole : sampled;
}

/** So many of the cases at even distances, with the first and the last; in a whole run all of them. */
export function sampleOf<T>(cases: readonly T[], count: number): readonly T[] {
  if (isWhole || count >= cases.length) return cases;
  const last = cases.length - 1;
  return Array.from({ length: count }, (_, at) => cases[Math.round((at * last) / (count - 1))] as T);
}

/** So many cases of each kind, sampled like in `sampleOf`. */
export function sampleOfEach<T>(cases: readonly T[], kindOf: (one: T) => string, count: number): readonly T[] {
  return [...Map.groupBy(cases, kindOf).values()].flatMap((own) => sampleOf(own, count));
}

/** How far the share in a sample may be from the share in all cases: a sample is drawn without putting back. */
export function missOf(share: number, sample: number, all: number): number {
  return DEVIATIONS * Math.sqrt(((share * (1 - share)) / sample) * skippedShare(sample, all));
}

/** The same for the ratio of two sums, from the pairs of the sample. */
export function ratioMissOf(pairs: readonly (readonly [of: number, to: number])[], all: number): number {
  const sum = (place: 0 | 1) => pairs.reduce((total, pair) => total + pair[place], 0);
  const [of, to] = [sum(0), sum(1)];
  if (to === 0) return 0;
  const squares = pairs.reduce((total, [one, other]) => total + (one - (of / to) * other) ** 2, 0);
  return (DEVIATIONS / to) * Math.sqrt(squares * skippedShare(pairs.length, all));
}

/** The share of the variance that remains if the sample has so many of all cases. */
function skippedShare(sample: number, all: number): number {
  return Math.max(0, all - sample) / Math.max(1, all - 1);
}
