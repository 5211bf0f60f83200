/**
 * Computes all figures, one after another, until it is interrupted.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { TECHNIQUES } from '../../src/compression/techniques.ts';
import { ADVERSARIAL } from './adversarial.ts';
import { publishedRewrites } from './changes.ts';
import { changeOf, type Estimate, estimateOf, LEVELS, profileOf, type Saved, savedOf } from './figures.ts';
import { PROMPTS } from './prompts.ts';
import { corpora, ERROR_MAX } from './texts.ts';

interface SenseRow {
  technique: string;
  /** Prompts whose sense changes, by level. */
  changed: number[];
}

export interface Report {
  interrupted: boolean;
  prompts: number;
  sense: SenseRow[];
  estimates: (Estimate & { errorMax: number })[];
  saved: Saved[];
  /** Bounds that are not kept. */
  broken: string[];
}

interface Options {
  signal: AbortSignal;
  onProgress: (line: string) => void;
}

export async function run({ signal, onProgress }: Options): Promise<Report> {
  const report: Report = {
    interrupted: false,
    prompts: ADVERSARIAL.length,
    sense: [],
    estimates: [],
    saved: [],
    broken: [],
  };
  const rewrites = publishedRewrites();
  const steps: (readonly [string, () => void])[] = [
    ...['all', ...TECHNIQUES].map((technique) => {
      const techniques = technique === 'all' ? TECHNIQUES : TECHNIQUES.filter((name) => name === technique);
      const changed = () =>
        LEVELS.map(
          ({ aggressiveness }) =>
            ADVERSARIAL.filter((prompt) => changeOf(prompt, profileOf(aggressiveness, techniques), rewrites) !== null)
              .length,
        );
      return [`sense: ${technique}`, () => report.sense.push({ technique, changed: changed() })] as const;
    }),
    ...corpora().map(
      ({ name, kind, texts }) =>
        [
          `tokens: ${name}`,
          () => report.estimates.push({ ...estimateOf(name, texts), errorMax: ERROR_MAX[kind] }),
        ] as const,
    ),
    ...PROMPTS.map(({ name, prompt }) => [`saved: ${name}`, () => report.saved.push(savedOf(name, prompt))] as const),
  ];
  for (const [index, [name, step]] of steps.entries()) {
    await turn();
    if (signal.aborted) {
      report.interrupted = true;
      break;
    }
    onProgress(`${index + 1} of ${steps.length}  ${name}`);
    step();
  }
  report.broken = brokenBounds(report);
  return report;
}

/** At the levels that keep the sense, no prompt changes it; every estimate is within its bound. */
function brokenBounds({ sense, estimates }: Report): string[] {
  const changes = sense.flatMap(({ technique, changed }) =>
    LEVELS.flatMap(({ name }, level) =>
      name !== 'free' && changed[level] !== 0 ? [`${technique} changes the sense at ${name}: ${changed[level]}`] : [],
    ),
  );
  const errors = estimates
    .filter(({ error, errorMax }) => Math.abs(error) > errorMax)
    .map(({ name, error }) => `the estimate of ${name} is off by ${(error * 100).toFixed(1)} %`);
  return [...changes, ...errors];
}
