/**
 * Promise: a model that its provider has certainly shut down is refused with its day and its successor, before anything
 * is begun; if the catalog is not certain, the vendor answers. In a mapping, the next model of the list is asked.
 */
import { describe, expect, test } from 'vitest';
import type { Catalog, CatalogModel } from '../../src/catalog/model.ts';
import type { OrganizationConfig } from '../../src/config/credentials.ts';
import { kindNamed } from '../../src/domain/vendor-kind.ts';
import { LineModels } from '../../src/gateway/batches/line-models.ts';
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts';
import { refusalAnswer } from '../../src/gateway/error-envelope.ts';
import { resolveAttempts } from '../../src/gateway/models.ts';

const NOW = Date.UTC(2026, 10, 25, 12);
const ENDED = '2026-11-25';

type Changes = Partial<CatalogModel['lifecycle']> & { provider?: CatalogModel['provider']; checkedAt?: string };

function model(
  name: string,
  { provider = 'openai', checkedAt = '2026-11-01', ...lifecycle }: Changes = {},
): CatalogModel {
  const source = { label: 'page', url: 'https://example.com', checkedAt };
  return {
    ...{ provider, model: name, displayName: name, family: 'x', kind: 'chat', aliases: [], preview: false },
    lifecycle: { status: 'ACTIVE', source, confidence: 'provider', ...lifecycle },
    releasedAt: '2024-01-01',
    modalities: { input: ['text'], output: ['text'] },
    ...{ capabilities: [], endpoints: [] },
  };
}

const GONE = { shutdownAt: ENDED, replacement: 'openai/next' };
const CATALOG: Catalog = {
  ...{ version: '2026-11-23', publishedAtMs: 0, transitions: [] },
  models: [
    { ...model('gone-1', GONE), aliases: ['gone'] },
    model('next', { shutdownAt: '2027-01-01', replacement: 'openai/last' }),
    model('last'),
    model('lost', { shutdownAt: ENDED }),
    model('tomorrow', { shutdownAt: '2026-11-26', replacement: 'openai/last' }),
    model('reported', { ...GONE, confidence: 'secondary' }),
    model('undated', { status: 'RETIRED', replacement: 'openai/last' }),
    model('gem-earliest', { provider: 'google', shutdownAt: ENDED, checkedAt: '2026-11-24' }),
    model('gem-read', { provider: 'google', shutdownAt: ENDED, checkedAt: '2026-11-25' }),
  ],
};

const OWN: Record<string, string> = {
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
};
const organization = (vendors: Record<string, string> = OWN) =>
  ({
    organizationId: 'o',
    models: { standard: ['openai/gone', 'last'], premium: ['openai/gone', 'lost'] },
    aliases: new Map([
      ['cheap', ['openai/gone', 'last']],
      ['over', ['openai/lost', 'openai/gone']],
    ]),
    prices: new Map(),
    vendors: new Map(
      Object.entries(vendors).map(([name, baseUrl]) => [name, { baseUrl, kind: kindNamed(name), sealedKey: 'sealed' }]),
    ),
  }) as unknown as OrganizationConfig;

async function ask(names: string[], of = organization(), nowMs = NOW, catalog = CATALOG) {
  const resolved = await resolveAttempts({ organization: of }, catalog, DIALECTS.createChatCompletion, names, nowMs);
  return resolved.ok ? resolved.attempts.map(({ modelKey }) => modelKey) : resolved.refusal;
}

describe('a retired model', () => {
  test('is refused under each of its names, with its day and the live model at the end of its replacements', async () => {
    for (const [name, named] of [
      ['openai/gone-1', 'gone-1'],
      ['openai/gone', 'gone'],
      ['gone', 'gone'],
    ] as const) {
      expect(await ask([name])).toMatchObject({
        code: 'MODEL_RETIRED',
        message: `the model openai/${named} was retired by its provider on ${ENDED}; use openai/last`,
        param: 'model',
        headers: { Sunset: 'Wed, 25 Nov 2026 00:00:00 GMT' },
      });
    }
    expect(await ask(['lost'])).toMatchObject({
      message: `the model openai/lost was retired by its provider on ${ENDED}`,
    });
    const { status, headers } = refusalAnswer({ code: 'MODEL_RETIRED', message: 'm' });
    expect([status, headers['x-should-retry']]).toEqual([404, 'false']);
  });

  test('answers until the day begins', async () => {
    expect(await ask(['gone'], organization(), Date.parse(ENDED) - 1)).toEqual(['openai/gone']);
    expect(await ask(['tomorrow'])).toEqual(['openai/tomorrow']);
  });

  test('is asked if the date is a report of others, the earliest possible one, or none', async () => {
    expect(await ask(['reported', 'undated', 'gem-earliest'])).toEqual([
      'openai/reported',
      'openai/undated',
      'google/gem-earliest',
    ]);
    expect(await ask(['gem-read'])).toMatchObject({ code: 'MODEL_RETIRED' });
  });

  test('is asked while the published catalog cannot be read, which may say otherwise', async () => {
    expect(await ask(['gone'], organization(), NOW, { ...CATALOG, standsIn: true })).toEqual(['openai/gone']);
  });

  test('is asked at another channel, and if the catalog does not list the very snapshot', async () => {
    expect(await ask(['openai/gone'], organization({ openai: 'https://example.openai.azure.com/v1' }))).toEqual([
      'openai/gone',
    ]);
    expect(await ask(['azure/gone'], organization({ azure: 'https://api.openai.com/v1' }))).toEqual(['azure/gone']);
    expect(await ask(['openai/lost-2026-03-04'])).toEqual(['openai/lost-2026-03-04']);
  });

  test("is never replaced by itself: only a mapping, an alias or the caller's own list goes on", async () => {
    expect(await ask(['service/standard'])).toEqual(['openai/last']);
    expect(await ask(['service/cheap'])).toEqual(['openai/last']);
    expect(await ask(['gone', 'last'])).toEqual(['openai/last']);
    for (const name of ['service/over', 'lost'])
      expect(await ask([name])).toMatchObject({
        code: 'MODEL_RETIRED',
        message: expect.stringContaining('openai/lost'),
      });
    // Standard models alone do not stand in for premium ones.
    expect(await ask(['service/premium'])).toMatchObject({ code: 'MODEL_RETIRED' });
  });

  test("cannot run in a batch's line; a mapping and an alias go on there too", () => {
    const lines = new LineModels({ organization: organization() }, CATALOG, NOW);
    expect(lines.of('gone')).toEqual({
      rule: `cannot run: the model openai/gone was retired by its provider on ${ENDED}; use openai/last`,
    });
    expect(lines.of('service/standard')).toEqual({ model: 'last' });
    expect(lines.of('service/cheap')).toEqual({ model: 'last' });
    expect(lines.of('service/over')).toEqual({ rule: expect.stringContaining('openai/lost was retired') });
    expect(lines.of('service/unheard-of')).toEqual({ rule: expect.stringContaining('no model is mapped to it') });
  });
});
