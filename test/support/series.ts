/**
 * Synthetic usage with known truth: hourly series of seeded families, each with its outcome after the moment of the
 * forecast.
 *
 * A family draws its own size, noise, length of history and horizon, so that a hundred seeds are a hundred customers.
 * Noise comes in two layers, as usage does: of single hours (counts) and of whole days (busy and quiet ones).
 */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export interface Chance {
  uniform(): number;
  between(low: number, high: number): number;
  logBetween(low: number, high: number): number;
  pick<T>(values: readonly T[]): T;
  normal(): number;
  /** A factor with mean 1 whose logarithm has this standard deviation. */
  lognormal(sd: number): number;
  gamma(shape: number): number;
  poisson(rate: number): number;
}

/** mulberry32: 32 bits of state, the same sequence on every machine. */
export function chance(seed: number): Chance {
  let state = (seed * 2_654_435_761) >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const gamma = (shape: number): number => {
    // Marsaglia and Tsang, 2000.
    if (shape < 1) return gamma(shape + 1) * (1 - uniform()) ** (1 / shape);
    const d = shape - 1 / 3;
    for (;;) {
      const x = normal();
      const v = (1 + x / Math.sqrt(9 * d)) ** 3;
      if (v > 0 && Math.log(1 - uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
    }
  };
  const poisson = (rate: number): number => {
    if (rate > 60) return Math.max(0, Math.round(rate + Math.sqrt(rate) * normal()));
    const limit = Math.exp(-rate);
    let product = uniform();
    let count = 0;
    while (product > limit) {
      product *= uniform();
      count += 1;
    }
    return count;
  };
  return {
    uniform,
    between: (low, high) => low + (high - low) * uniform(),
    logBetween: (low, high) => low * (high / low) ** uniform(),
    pick: (values) => values[Math.floor(uniform() * values.length)] as (typeof values)[number],
    normal,
    lognormal: (sd) => Math.exp(sd * normal() - (sd * sd) / 2),
    gamma,
    poisson,
  };
}

interface Hour {
  startMs: number;
  quantity: number;
}

/**
 * The expected quantity of a day, relative to the customer's size; `day` counts from the start, 0 weekday is Sunday.
 */
type Shape = (day: number, weekday: number) => number;

interface Texture {
  /** Mean quantity of a day. */
  size: number;
  shape: Shape;
  /** Share of a day in each hour, by weekday. */
  profile: (weekday: number, hour: number) => number;
  /** Standard deviation of the logarithm of a day's factor. */
  dayNoise: number;
  /** Above 0: counts vary more than Poisson, by a gamma factor for each hour of this shape. */
  hourShape: number;
  /** Each unit drawn counts this much, for tokens and money. */
  unit: number;
}

export interface ForecastCase {
  hours: Hour[];
  firstDataMs: number;
  nowMs: number;
  horizonEndMs: number;
  /** The quantity that came in [nowMs, horizonEndMs). */
  outcome: number;
  /** The expectation from repeating the last week hour by hour. */
  seasonalNaive: number;
}

export const flatProfile = () => 1 / 24;

export function officeProfile(weekday: number, hour: number): number {
  return weekday === 0 || weekday === 6 ? 1 / 24 : hour >= 8 && hour < 18 ? 0.09 : 0.1 / 14;
}

export function waveProfile(_weekday: number, hour: number): number {
  return (1 + 0.8 * Math.sin(((hour - 8) / 24) * 2 * Math.PI)) / 24;
}

export const OFFICE_WEEK = [0.3, 1.2, 1.25, 1.3, 1.25, 1.15, 0.35];

/** Hourly quantities from `startMs`, as the texture says. */
function drawHours(c: Chance, startMs: number, days: number, texture: Texture): number[] {
  const hours: number[] = [];
  for (let day = 0; day < days; day += 1) {
    const weekday = new Date(startMs + day * DAY_MS).getUTCDay();
    const rate = texture.size * texture.shape(day, weekday) * c.lognormal(texture.dayNoise);
    for (let hour = 0; hour < 24; hour += 1) {
      const factor = texture.hourShape > 0 ? c.gamma(texture.hourShape) / texture.hourShape : 1;
      hours.push(c.poisson(rate * factor * texture.profile(weekday, hour)) * texture.unit);
    }
  }
  return hours;
}

export interface CaseOptions {
  historyDays: number;
  horizonHours: number;
}

type Draw = (c: Chance, startMs: number, days: number, historyDays: number) => number[];

const LENGTHS = [14, 21, 30, 60, 100];
const HORIZONS = [24, 72, 168, 336, 720];

function makeCase(c: Chance, draw: Draw, { historyDays, horizonHours }: CaseOptions): ForecastCase {
  const startMs = Date.UTC(2026, 0, 1 + Math.floor(c.between(0, 7)));
  const extraHours = Math.floor(c.between(0, 24));
  const all = draw(c, startMs, historyDays + 1 + Math.ceil(horizonHours / 24), historyDays);
  const now = historyDays * 24 + extraHours;
  const nowMs = startMs + now * HOUR_MS;
  const at = (hour: number) => all[hour] ?? 0;
  const hours: Hour[] = [];
  for (let hour = 0; hour < now; hour += 1)
    if (at(hour) > 0) hours.push({ startMs: startMs + hour * HOUR_MS, quantity: at(hour) });
  let outcome = 0;
  let seasonalNaive = 0;
  for (let ahead = 0; ahead < horizonHours; ahead += 1) {
    outcome += at(now + ahead);
    seasonalNaive += at(now + (ahead % 168) - 168);
  }
  return { hours, firstDataMs: startMs, nowMs, horizonEndMs: nowMs + horizonHours * HOUR_MS, outcome, seasonalNaive };
}

function commonTexture(c: Chance): Texture {
  return {
    size: c.logBetween(20, 5_000),
    shape: () => 1,
    profile: c.pick([flatProfile, officeProfile, waveProfile]),
    dayNoise: c.pick([0, 0.05, 0.15, 0.3]),
    hourShape: c.pick([0, 0, 2]),
    unit: c.pick([1, 1, 850]),
  };
}

export function weekOf(c: Chance): number[] {
  const kind = c.pick(['office', 'wave', 'own'] as const);
  if (kind === 'office') return OFFICE_WEEK;
  if (kind === 'wave') {
    const height = c.between(0.2, 0.6);
    return Array.from({ length: 7 }, (_, weekday) => 1 + height * Math.sin((weekday / 7) * 2 * Math.PI));
  }
  return Array.from({ length: 7 }, () => c.between(0.4, 1.6));
}

const weekly: Draw = (c, startMs, days) => {
  const week = weekOf(c);
  return drawHours(c, startMs, days, { ...commonTexture(c), shape: (_, weekday) => week[weekday] ?? 1 });
};

const trend: Draw = (c, startMs, days, historyDays) => {
  const week = c.pick([weekOf(c), [1, 1, 1, 1, 1, 1, 1]]);
  // From a third to three times over the history, in a straight line.
  const end = c.logBetween(1 / 3, 3);
  const slope = (end - 1) / historyDays;
  return drawHours(c, startMs, days, {
    ...commonTexture(c),
    shape: (day, weekday) => Math.max(0.05, 1 + slope * day) * (week[weekday] ?? 1),
  });
};

const levelShift: Draw = (c, startMs, days, historyDays) => {
  const week = c.pick([weekOf(c), [1, 1, 1, 1, 1, 1, 1]]);
  const at = Math.floor(historyDays * c.between(0.3, 0.9));
  const factor = c.pick([c.between(0.3, 0.6), c.between(1.6, 3)]);
  return drawHours(c, startMs, days, {
    ...commonTexture(c),
    shape: (day, weekday) => (day < at ? 1 : factor) * (week[weekday] ?? 1),
  });
};

const intermittent: Draw = (c, _startMs, days) => {
  const activeShare = c.between(0.15, 0.5);
  const size = c.logBetween(2, 200);
  const spread = c.pick([0.3, 0.7]);
  const hours: number[] = [];
  for (let day = 0; day < days; day += 1) {
    const active = c.uniform() < activeShare;
    const at = Math.floor(c.between(8, 20));
    for (let hour = 0; hour < 24; hour += 1)
      hours.push(active && hour === at ? Math.max(1, Math.round(size * c.lognormal(spread))) : 0);
  }
  return hours;
};

const zero: Draw = (_c, _startMs, days) => Array.from({ length: days * 24 }, () => 0);

const growth: Draw = (c, startMs, days) => {
  const week = weekOf(c);
  const daily = c.between(0.985, 1.025);
  return drawHours(c, startMs, days, {
    ...commonTexture(c),
    shape: (day, weekday) => daily ** day * (week[weekday] ?? 1),
  });
};

const holidays: Draw = (c, startMs, days) => {
  const odd = new Set(Array.from({ length: Math.ceil(days / 25) }, () => Math.floor(c.between(0, days))));
  const factor = c.pick([0.1, 4]);
  return drawHours(c, startMs, days, {
    ...commonTexture(c),
    shape: (day, weekday) => (odd.has(day) ? factor : 1) * (OFFICE_WEEK[weekday] ?? 1),
  });
};

const overdispersed: Draw = (c, startMs, days) =>
  drawHours(c, startMs, days, {
    ...commonTexture(c),
    size: c.logBetween(3, 60),
    hourShape: 0.3,
    dayNoise: 0.4,
    unit: 1,
  });

const drifting: Draw = (c, startMs, days) => {
  const week = weekOf(c);
  const step = c.between(0.02, 0.08);
  const level = [1];
  for (let day = 1; day < days; day += 1) level.push((level[day - 1] ?? 1) * Math.exp(step * c.normal()));
  return drawHours(c, startMs, days, {
    ...commonTexture(c),
    shape: (day, weekday) => (level[day] ?? 1) * (week[weekday] ?? 1),
  });
};

const steady: Draw = (c, startMs, days) => drawHours(c, startMs, days, commonTexture(c));

const lumpy: Draw = (c, startMs, days) => {
  // A nightly job: the whole day in one hour.
  const week = weekOf(c);
  const at = Math.floor(c.between(0, 24));
  const noise = c.between(0.05, 0.4);
  return drawHours(c, startMs, days, {
    ...commonTexture(c),
    shape: (_, weekday) => week[weekday] ?? 1,
    profile: (_, hour) => (hour === at ? 1 : 0),
    dayNoise: noise,
  });
};

const rare: Draw = (c, startMs, days) =>
  drawHours(c, startMs, days, { ...commonTexture(c), size: c.between(0.3, 3), dayNoise: 0, hourShape: 0, unit: 1 });

interface Family {
  draw: Draw;
  /** Families whose weekly rhythm a forecast must know. */
  seasonal: boolean;
  lengths: readonly number[];
  horizons: readonly number[];
}

const usual = (draw: Draw, seasonal: boolean): Family => ({ draw, seasonal, lengths: LENGTHS, horizons: HORIZONS });

/** The families that the forecast has to be right about; they were looked at while its constants were chosen. */
export const NAMED_FAMILIES: Record<string, Family> = {
  weekly: usual(weekly, true),
  trend: usual(trend, false),
  levelShift: usual(levelShift, false),
  intermittent: { ...usual(intermittent, false), lengths: [30, 60, 100], horizons: [168, 336, 720] },
  zero: usual(zero, false),
  // One week shows a rhythm and nothing to tell it from noise by: repeating it is as good as anything.
  oneWeekOld: { draw: weekly, seasonal: false, lengths: [7, 8], horizons: [72, 168, 336, 552] },
};

/** Other families, watched while the constants were chosen so that none of them fell behind. */
export const OTHER_FAMILIES: Record<string, Family> = {
  growth: usual(growth, true),
  holidays: usual(holidays, true),
  overdispersed: usual(overdispersed, false),
  drifting: usual(drifting, true),
  steady: usual(steady, false),
  lumpy: usual(lumpy, true),
  rare: usual(rare, false),
  oneWeekSteady: { draw: steady, seasonal: false, lengths: [7, 8], horizons: [72, 168, 336, 552] },
  oneWeekLumpy: { draw: lumpy, seasonal: false, lengths: [7, 8], horizons: [72, 168, 336, 552] },
  officeHours: { draw: weekly, seasonal: true, lengths: LENGTHS, horizons: [3, 6, 12, 30] },
};

/** Families that no constant was chosen on. */
export const UNSEEN_FAMILIES: Record<string, Family> = {
  saturating: usual((c, startMs, days, historyDays) => {
    const week = weekOf(c);
    const middle = historyDays * c.between(0.2, 0.8);
    const shape = (day: number, weekday: number) =>
      (0.2 + 1 / (1 + Math.exp((middle - day) / (historyDays / 10)))) * (week[weekday] ?? 1);
    return drawHours(c, startMs, days, { ...commonTexture(c), shape });
  }, true),
  batches: usual((c, startMs, days) => {
    // Steady use by people, and now and then a batch job on top.
    const share = c.between(0.05, 0.2);
    const height = c.between(1, 3);
    const shape = (_: number, weekday: number) => (OFFICE_WEEK[weekday] ?? 1) + (c.uniform() < share ? height : 0);
    return drawHours(c, startMs, days, { ...commonTexture(c), shape });
  }, true),
  fortnight: usual((c, startMs, days) => {
    // Every second week is a busy one: a rhythm that no candidate knows.
    const height = c.between(0.1, 0.5);
    const shape = (day: number, weekday: number) =>
      (1 + (Math.floor(day / 7) % 2 === 0 ? height : -height)) * (OFFICE_WEEK[weekday] ?? 1);
    return drawHours(c, startMs, days, { ...commonTexture(c), shape });
  }, false),
};

export function forecastCase(
  name: string,
  family: Family,
  seed: number,
  fixed: Partial<CaseOptions> = {},
): ForecastCase {
  let salt = 0;
  for (const char of name) salt = (salt * 31 + char.charCodeAt(0)) >>> 0;
  const c = chance(seed * 7_919 + (salt % 100_003));
  const historyDays = fixed.historyDays ?? c.pick(family.lengths);
  const horizonHours = fixed.horizonHours ?? c.pick(family.horizons);
  return makeCase(c, family.draw, { historyDays, horizonHours });
}
