/**
 * Makes mutants of the pure files, takes a seeded sample of them and asks two processes whether the unit and property
 * tests that import the file notice each. A mutant that never returns ends with its process and counts as noticed.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { randomFrom } from '../crash/random.ts';
import { ROOT, reachedFrom } from '../support/imports.ts';
import equivalentMutants from './equivalent.json' with { type: 'json' };
import type { LaneResult, LaneTask } from './lane.ts';
import { type Mutant, mutantsOf } from './operators.ts';

/** The mutated files: rules without I/O, so use cases are left out. */
export const PURE_FILES = [
  'src/domain/**/*.ts',
  'src/catalog/**/*.ts',
  'src/events/customer-events.ts',
  'src/objects/series-hours.ts',
  'src/readings/**/*.ts',
  'src/vendors/usage.ts',
  'src/vendors/usage/*.ts',
];

const TEST_FILES = ['test/unit/**/*.test.ts', 'test/property/**/*.test.ts'];
const MUTANT_TIMEOUT_MS = 90_000;
const BASELINE_TIMEOUT_MS = 300_000;

/** A use case takes the bindings, or the caller of a request, and is held by the tests inside workerd. */
const USE_CASE = /^import .* from '.*\/(?:env|metering\/caller)\.ts';$/m;

/** `line` is the whole line's text, and `at` the place in it: an entry ends with the code that its reason is about. */
const equivalents: { file: string; line: string; at: number; original: string; replacement: string; reason: string }[] =
  equivalentMutants;

type Verdict = 'noticed' | 'timedOut' | 'survived' | 'equivalent';

/** `timedOut` of the noticed ones were noticed because the tests did not end. */
interface Score {
  noticed: number;
  timedOut: number;
  survived: number;
  equivalent: number;
  percent: number;
}

export interface Report {
  seed: number;
  interrupted: boolean;
  /** By folder: the noticed ones among those that are not equivalent. */
  scores: Record<string, Score>;
  survivors: Mutant[];
}

export interface RunOptions {
  files: string[];
  /** The largest number of mutants of one file. */
  sample: number;
  seed: number;
  concurrency: number;
  signal: AbortSignal;
  onProgress(line: string): void;
}

export async function runMutants(options: RunOptions): Promise<Report> {
  const lanes = Array.from({ length: options.concurrency }, () => new Lane());
  const verdicts: [Mutant, Verdict][] = [];
  try {
    const [first] = lanes as [Lane];
    const baseline = await first.run({ mutated: null, tests: listFiles(TEST_FILES) }, BASELINE_TIMEOUT_MS);
    if (!baseline || baseline.failed.length > 0)
      throw new Error(`tests fail without a mutant: ${baseline?.failed.join(', ') ?? 'no end'}`);
    const queue = sampled(options);
    const total = queue.length;
    const testsOf = testFinder(baseline.durationsMs);
    const [sample] = queue;
    if (sample) {
      // A runner that reads the file from a cache would call every mutant a survivor.
      const broken = { ...sample, start: 0, end: 0, replacement: "throw new Error('mutant');" };
      if ((await judge(first, broken, testsOf(sample.file))) !== 'noticed')
        throw new Error(`no test imports ${sample.file}, or its mutants do not reach the tests`);
      const unchanged = { ...sample, replacement: sample.original };
      if ((await judge(first, unchanged, testsOf(sample.file))) !== 'survived')
        throw new Error(`a failure outlives its mutant in ${sample.file}`);
    }
    const work = async (lane: Lane) => {
      for (let mutant = queue.shift(); mutant && !options.signal.aborted; mutant = queue.shift()) {
        const verdict = isEquivalent(mutant) ? 'equivalent' : await judge(lane, mutant, testsOf(mutant.file));
        verdicts.push([mutant, verdict]);
        if (verdict === 'survived' || verdict === 'timedOut') options.onProgress(`${verdict}  ${described(mutant)}`);
        if (verdicts.length % 25 === 0) options.onProgress(`${verdicts.length} of ${total}`);
      }
    };
    await Promise.all(lanes.map(work));
  } finally {
    for (const lane of lanes) lane.end();
  }
  return { seed: options.seed, interrupted: options.signal.aborted, ...summary(verdicts) };
}

export function described({ file, line, operator, original, replacement }: Mutant): string {
  const short = (text: string) => (text.length > 70 ? `${text.slice(0, 70)}...` : text).replace(/\s+/g, ' ');
  return `${file}:${line}  ${operator}  ${short(original)}  ->  ${short(replacement)}`;
}

async function judge(lane: Lane, mutant: Mutant, tests: string[]): Promise<Verdict> {
  const source = readFileSync(join(ROOT, mutant.file), 'utf8');
  const code = source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end);
  const result = await lane.run({ mutated: { file: mutant.file, code }, tests }, MUTANT_TIMEOUT_MS);
  if (result === null) return 'timedOut';
  return result.failed.length > 0 ? 'noticed' : 'survived';
}

/** An entry holds as long as its line and its change stand as they were when the reason was written. */
function isEquivalent(mutant: Mutant): boolean {
  const { line, at } = locateMutant(mutant);
  return equivalents.some(
    (entry) =>
      entry.file === mutant.file &&
      entry.line === line &&
      entry.at === at &&
      entry.original === mutant.original &&
      entry.replacement === mutant.replacement,
  );
}

/** The text of the mutant's line, and the start of the change in it. */
function locateMutant(mutant: Mutant): { line: string; at: number } {
  const source = readFileSync(join(ROOT, mutant.file), 'utf8');
  const startOfLine = source.lastIndexOf('\n', mutant.start - 1) + 1;
  const line = source.slice(startOfLine).split('\n', 1)[0] as string;
  return { line: line.trim(), at: mutant.start - startOfLine - line.search(/\S/) };
}

const listFiles = (patterns: readonly string[]) => globSync([...patterns], { cwd: ROOT }).sort();

function sampled({ files, sample, seed }: RunOptions): Mutant[] {
  return listFiles(files).flatMap((file) => {
    const random = randomFrom(seed);
    const source = readFileSync(join(ROOT, file), 'utf8');
    const mutants = USE_CASE.test(source) ? [] : mutantsOf(file, source);
    while (mutants.length > sample) mutants.splice(random.below(mutants.length), 1);
    return mutants;
  });
}

/** The test files that import a file, nearest first and then fastest first. */
function testFinder(durationsMs: Record<string, number>): (file: string) => string[] {
  return (file) =>
    listFiles(TEST_FILES)
      .map((test) => ({
        test,
        steps: reachedFrom(test).get(file) ?? Number.POSITIVE_INFINITY,
        ms: durationsMs[test] ?? 0,
      }))
      .filter(({ steps }) => steps < Number.POSITIVE_INFINITY)
      .sort((a, b) => Math.min(a.steps, 3) - Math.min(b.steps, 3) || a.ms - b.ms)
      .map(({ test }) => test);
}

function summary(verdicts: readonly [Mutant, Verdict][]): Pick<Report, 'scores' | 'survivors'> {
  const scores: Report['scores'] = {};
  for (const [{ file }, verdict] of verdicts)
    for (const name of [dirname(file), 'all']) {
      scores[name] ??= { noticed: 0, timedOut: 0, survived: 0, equivalent: 0, percent: 0 };
      const score = scores[name];
      score[verdict] += 1;
      if (verdict === 'timedOut') score.noticed += 1;
      score.percent = Math.round((1000 * score.noticed) / Math.max(1, score.noticed + score.survived)) / 10;
    }
  return { scores, survivors: verdicts.filter(([, verdict]) => verdict === 'survived').map(([mutant]) => mutant) };
}

/** One process, started anew after a task that did not end in time. */
class Lane {
  #child: ChildProcess | null = null;

  async run(task: LaneTask, timeoutMs: number): Promise<LaneResult | null> {
    const child = this.#child ?? (await this.#start());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.end();
        resolve(null);
      }, timeoutMs);
      child.once('message', (result: LaneResult) => {
        clearTimeout(timer);
        child.removeAllListeners('exit');
        resolve(result);
      });
      child.once('exit', (code) => {
        clearTimeout(timer);
        if (this.#child === child) reject(new Error(`the process of a lane ended with ${code}`));
      });
      child.send(task);
    });
  }

  end(): void {
    const child = this.#child;
    this.#child = null;
    child?.kill('SIGKILL');
  }

  #start(): Promise<ChildProcess> {
    const child = fork(join(import.meta.dirname, 'lane.ts'), {
      cwd: ROOT,
      // A sample of a sweep may miss a mutant that the whole sweep notices.
      env: { ...process.env, SWEEPS: 'whole' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    return new Promise((resolve, reject) => {
      child.once('message', () => {
        child.removeAllListeners('exit');
        resolve(child);
      });
      child.once('exit', (code) => reject(new Error(`the process of a lane did not start: ${code}`)));
    });
  }
}
