/**
 * A process that reports whether tests notice a mutant: a long-lived vitest reads the mutated file from memory, the
 * file on disk stays unchanged. Answers each `LaneTask` with a `LaneResult`. Its parent ends it if a mutant never
 * returns.
 */
import { join, relative } from 'node:path';
import { BaseSequencer, createVitest } from 'vitest/node';

export interface LaneTask {
  /** The mutated file; null for a run of the unchanged tests. */
  mutated: { file: string; code: string } | null;
  /** Test files in the order in which they run; the first that fails ends the task. */
  tests: string[];
}

export interface LaneResult {
  failed: string[];
  durationsMs: Record<string, number>;
}

class GivenOrder extends BaseSequencer {
  override sort: BaseSequencer['sort'] = async (specifications) => specifications;
}

const root = join(import.meta.dirname, '../..');
let mutated: LaneTask['mutated'] = null;

const vitest = await createVitest(
  'test',
  {
    config: false,
    root,
    watch: false,
    include: ['test/unit/**/*.test.ts', 'test/property/**/*.test.ts'],
    setupFiles: ['test/mutants/same-examples.ts'],
    sequence: { sequencer: GivenOrder },
    fsModuleCache: false,
    isolate: false,
    pool: 'threads',
    maxWorkers: 1,
    bail: 1,
    testTimeout: 60_000,
    reporters: [{}],
    silent: true,
  },
  {
    plugins: [
      {
        name: 'mutant',
        enforce: 'pre',
        transform: (_code, id) => (mutated && id.split('?')[0] === join(root, mutated.file) ? mutated.code : null),
      },
    ],
  },
);

async function run(task: LaneTask): Promise<LaneResult> {
  const previous = mutated;
  mutated = task.mutated;
  for (const change of [previous, mutated]) if (change) vitest.invalidateFile(join(root, change.file));
  vitest.state.clearErrors();
  // Otherwise a result also lists the files that failed in earlier runs.
  vitest.state.filesMap.clear();
  const project = vitest.getRootProject();
  const specifications = task.tests.map((test) => project.createSpecification(join(root, test)));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const failed = testModules.filter((module) => module.state() === 'failed');
  return {
    failed: [...failed.map((module) => relative(root, module.moduleId)), ...unhandledErrors.map(String)],
    durationsMs: Object.fromEntries(
      testModules.map((module) => [relative(root, module.moduleId), module.diagnostic().duration]),
    ),
  };
}

process.on('message', async (task: LaneTask) => process.send?.(await run(task)));
process.once('disconnect', () => process.exit());
process.send?.('ready');
