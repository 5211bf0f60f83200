/**
 * The catalog's freshness: facts to read again are found on the day they become so, and the built-in catalog agrees
 * with its dates on the day of its release.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { ENDING_DAYS, measureFreshness } from '../../src/catalog/freshness.ts';
import { statusOn } from '../../src/catalog/lifecycle.ts';
import type { CatalogModel } from '../../src/catalog/model.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';

const DAY = '2026-11-23';

function model(name: string, lifecycle: Partial<CatalogModel['lifecycle']> = {}): CatalogModel {
  const [base] = BUILT_IN_CATALOG.models;
  if (!base) throw new Error('The catalog is empty.');
  const source = { label: 'A page', url: 'https://example.com', checkedAt: '2026-11-01' };
  const whole: CatalogModel['lifecycle'] = { status: 'ACTIVE', source, confidence: 'provider', ...lifecycle };
  return { ...base, provider: 'openai', model: name, aliases: [], lifecycle: whole };
}

const freshness = (models: CatalogModel[], day = DAY) => measureFreshness({ models }, day);

describe('the built-in catalog, on the day of its release', () => {
  const { models, transitions, version } = BUILT_IN_CATALOG;

  test('stores the status that follows from its dates', () => {
    for (const each of models)
      expect([each.model, each.lifecycle.status]).toEqual([each.model, statusOn(each, version)]);
    expect(measureFreshness(BUILT_IN_CATALOG, version).contradicted).toEqual([]);
  });

  test('calls a transition scheduled that is still to come', () => {
    for (const { model: name, date, scheduled } of transitions)
      expect([name, date, scheduled]).toEqual([name, date, date > version]);
  });

  test('was not read after its release', () => {
    for (const { model: name, lifecycle } of models) {
      for (const { checkedAt } of [
        lifecycle.source,
        ...(lifecycle.replacementEvidence ? [lifecycle.replacementEvidence.source] : []),
      ])
        expect([name, checkedAt <= version]).toEqual([name, true]);
    }
  });
});

describe('a stored status', () => {
  test.each<[string, CatalogModel['lifecycle']['status'], string, boolean]>([
    ['on the day of the shutdown', 'DEPRECATED', DAY, true],
    ['after it', 'ACTIVE', '2026-11-01', true],
    ['that already says so', 'RETIRED', '2026-11-01', false],
    ['on the day before', 'DEPRECATED', '2026-11-24', false],
  ])('is contradicted %s: %s, %s', (_when, status, shutdownAt, contradicted) => {
    const report = freshness([model('x', { status, shutdownAt })]);
    expect(report.contradicted).toEqual(contradicted ? [{ modelKey: 'openai/x', status, shutdownAt }] : []);
  });

  test('is not what an answer says: the status of a day follows from the dates', () => {
    expect(statusOn(model('x', { status: 'ACTIVE', shutdownAt: DAY }), DAY)).toBe('RETIRED');
  });
});

test('the oldest sources come first, of models that still answer', () => {
  const source = (checkedAt: string) => ({ source: { label: checkedAt, url: 'https://example.com', checkedAt } });
  const report = freshness([
    model('newer', source('2026-11-13')),
    model('older', source('2026-08-15')),
    model('gone', { ...source('2024-01-01'), status: 'RETIRED', shutdownAt: '2025-01-01' }),
  ]);
  expect(report.oldest).toEqual([
    { modelKey: 'openai/older', checkedAt: '2026-08-15', days: 100, source: '2026-08-15' },
    { modelKey: 'openai/newer', checkedAt: '2026-11-13', days: 10, source: '2026-11-13' },
  ]);
});

test('a model ends soon up to 90 days before its shutdown, the next one first', () => {
  const ending = (day: string) =>
    freshness(
      [
        model('late', { shutdownAt: '2027-02-21', replacement: 'openai/y' }),
        model('soon', { shutdownAt: '2026-12-01' }),
      ],
      day,
    ).ending.map(({ modelKey, days, replacement }) => [modelKey, days, replacement]);
  expect(ENDING_DAYS).toBe(90);
  expect(ending(DAY)).toEqual([
    ['openai/soon', 8, null],
    ['openai/late', 90, 'openai/y'],
  ]);
  expect(ending('2026-11-22')).toEqual([['openai/soon', 9, null]]);
  expect(ending('2026-12-01')).toEqual([['openai/late', 82, 'openai/y']]);
});

test('a promise that has run out is named, unless a shutdown is known', () => {
  const names = (day: string) =>
    freshness(
      [
        model('a', { earliestShutdownAt: '2026-11-23' }),
        model('b', { earliestShutdownAt: '2026-11-01', shutdownAt: '2027-11-01' }),
      ],
      day,
    ).overdue;
  expect(names('2026-11-22')).toEqual([]);
  expect(names(DAY)).toEqual([{ modelKey: 'openai/a', earliestShutdownAt: '2026-11-23' }]);
});

test('dates and replacements that one copy or one report vouches for have one source', () => {
  const other = { label: 'A post', url: 'https://example.com/post', checkedAt: '2026-11-20' };
  const report = freshness([
    model('sure', { replacement: 'openai/y', replacementEvidence: { source: other, confidence: 'provider' } }),
    model('replaced', { replacement: 'openai/y', replacementEvidence: { source: other, confidence: 'secondary' } }),
    model('dated', { confidence: 'snapshot' }),
    model('both', {
      confidence: 'secondary',
      replacement: 'openai/y',
      replacementEvidence: { source: other, confidence: 'secondary' },
    }),
  ]);
  expect(report.singleSource).toEqual([
    { modelKey: 'openai/both', fact: 'dates', confidence: 'secondary', source: 'A page' },
    { modelKey: 'openai/both', fact: 'replacement', confidence: 'secondary', source: 'A post' },
    { modelKey: 'openai/dated', fact: 'dates', confidence: 'snapshot', source: 'A page' },
    { modelKey: 'openai/replaced', fact: 'replacement', confidence: 'secondary', source: 'A post' },
  ]);
});

describe('npm run catalog -- freshness', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'freshness-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const run = (...args: string[]) =>
    new Promise<{ code: number; out: string }>((resolve) => {
      execFile(process.execPath, ['src/cli/catalog.ts', ...args], { cwd: PROJECT_DIR }, (error, out) =>
        resolve({ code: error ? Number(error.code) : 0, out }),
      );
    });

  test('prints a report for people, or with --json for machines, and succeeds on the day of the release', async () => {
    const { version } = BUILT_IN_CATALOG;
    const [text, json, help] = await Promise.all([
      run('freshness', '--date', version),
      run('freshness', '--date', version, '--json'),
      run('--help'),
    ]);
    expect([text.code, json.code]).toEqual([0, 0]);
    for (const title of ['contradict: none', 'Oldest sources', 'Ends within 90 days', 'One source only'])
      expect(text.out).toContain(title);
    expect(JSON.parse(json.out)).toEqual(measureFreshness(BUILT_IN_CATALOG, version));
    expect(help.out).toContain('freshness [FILE]');
  });

  test('fails from the day on which a shutdown has come and the status does not say so', async () => {
    const file = join(directory, 'catalog.json');
    await writeFile(file, JSON.stringify([model('x', { status: 'DEPRECATED', shutdownAt: '2026-12-01' })]));
    const [before, from, without] = await Promise.all([
      run('freshness', file, '--date', '2026-11-30'),
      run('freshness', file, '--date', '2026-12-01'),
      run('freshness', '--date', 'tomorrow'),
    ]);
    expect([before.code, from.code, without.code]).toEqual([0, 1, 2]);
    expect(from.out).toContain('openai/x');
  });
});
