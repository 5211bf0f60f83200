/**
 * The types that the package publishes are the types that the contract's schemas have.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { clientTypes } from '../../src/cli/client-types.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A change to the published types, which must be noticed. */
const CHANGES: [string, string | RegExp, string][] = [
  ['a member that is missing', /^ {2}customerUserId\?.*\n/m, ''],
  ['a member that is optional in one', 'costUSD: number', 'costUSD?: number'],
  ['another type', 'premium: boolean', 'premium: string'],
  ['a word that is missing', '"COMPLETED" | "FAILED"', '"COMPLETED"'],
  ['an unknown in the place of a type', 'allowPreview?: boolean', 'allowPreview?: unknown'],
];

let said: string;
beforeAll(async () => {
  const types = clientTypes();
  said = await compare([types, ...CHANGES.map(([, from, to]) => types.replace(from, to))]);
});

/** The compiler's messages about published types, each compared with the source's by a file of its own. */
async function compare(published: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-client-types-'));
  const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions: { types: [] }, include: ['*.ts'] };
  const files = published.flatMap((types, number) => [
    writeFile(join(folder, `published-${number}.ts`), types),
    writeFile(join(folder, `compare-${number}.ts`), comparison(number)),
  ]);
  await Promise.all([...files, writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))]);
  const compiling = promisify(execFile)(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '--project',
    folder,
    // Each further thread would check most of the types again.
    '--singleThreaded',
  ]);
  const output = await compiling.then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  );
  await rm(folder, { recursive: true });
  return output;
}

function comparison(number: number): string {
  return `
    import type * as Source from '${join(ROOT, 'src/client/wire.ts')}';
    import type * as Published from './published-${number}.ts';

    /** One plain object out of whatever mapped types and intersections made it. */
    type Plain<T> = T extends (...args: never) => unknown ? T : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
    type Same<A, B> = (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;
    type Names = { [Name in keyof Source.Inputs]: Same<Source.Inputs[Name], Published.Inputs[Name]> };
    type AnswerNames = { [Name in keyof Source.Answers]: Same<Source.Answers[Name], Published.Answers[Name]> };
    type AllTrue<T> = { [K in keyof T]: true };

    export const keys: Same<keyof Source.Inputs, keyof Published.Inputs> = true;
    export const inputs: Names = null as unknown as AllTrue<Names>;
    export const answers: AnswerNames = null as unknown as AllTrue<AnswerNames>;
    export const others: [
      Same<Source.LookUpQuery, Published.LookUpQuery>,
      Same<Source.FullModelResolution, Published.FullModelResolution>,
      Same<Source.LightModelResolution, Published.LightModelResolution>,
      Same<Source.ModelTransition, Published.ModelTransition>,
      Same<Source.BeginCallInput, Published.BeginCallInput>,
      Same<Source.EndCallData, Published.EndCallData>,
      Same<Source.Allowed, Published.Allowed>,
      Same<Source.Hints, Published.Hints>,
    ] = [true, true, true, true, true, true, true, true];
  `;
}

/** The errors of one comparison, each with the lines that explain it. */
const errorsOf = (number: number) => said.split(/\n(?=\S)/).filter((error) => error.includes(`compare-${number}.ts`));

test('every type is the same', () => expect(errorsOf(0)).toEqual([]));

test.each(CHANGES.map(([what, from], index) => [what, from, index + 1] as const))(
  'this test would notice %s',
  (_what, from, number) => {
    expect(clientTypes()).toMatch(from);
    expect(errorsOf(number)).not.toEqual([]);
  },
);
