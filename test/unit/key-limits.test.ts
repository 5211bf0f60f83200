/**
 * Limits only ever take away: a narrower list of models or features opens nothing that a wider one refuses, whatever names
 * and mappings there are, and a session opens nothing that its key refuses.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import type { OrganizationConfig, Session } from '../../src/config/credentials.ts';
import { closedFeature, type KeyLimits } from '../../src/contract/key-limits.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import { kindNamed } from '../../src/domain/vendor-kind.ts';
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts';
import { type Attempt, resolveAttempts } from '../../src/gateway/models.ts';
import { closedModel } from '../../src/gateway/session-rules.ts';
import { OpenModels } from '../../src/metering/model-names.ts';

const NOW = Date.UTC(2026, 10, 23);
const CATALOG = BUILT_IN_CATALOG;

/** Few models under many names, so that lists overlap. */
const PLAIN = [
  ...['gpt-4o', 'openai/gpt-4o', 'GPT-4o', 'gpt-4o-2024-11-20', 'gpt-5.2', 'openai/gpt-5.2', 'acme/gpt-4o', 'acme/own'],
  ...['claude-haiku-4-5', 'anthropic/claude-haiku-4-5', 'gemini/gemini-2.5-pro', 'gpt-unheard-of'],
];
const MAPPED = ['service/standard', 'service/premium', 'service/cheap', 'service/none'];
/** So few that no request has more attempts than are made. */
const plain = fc.subarray(PLAIN, { maxLength: 2 });
const names = fc.subarray([...PLAIN, ...MAPPED]);
const requested = fc.uniqueArray(fc.constantFrom(...PLAIN, ...MAPPED), { minLength: 1, maxLength: 3 });

const organizations = fc.record({ standard: plain, premium: plain, cheap: plain }).map(
  ({ cheap, ...models }) =>
    ({
      models,
      aliases: new Map([['cheap', cheap]]),
      prices: new Map(),
      vendors: new Map(
        ['openai', 'anthropic', 'google', 'acme'].map((name) => [
          name,
          { baseUrl: `https://${name}.example.com`, kind: kindNamed(name) },
        ]),
      ),
    }) as unknown as OrganizationConfig,
);

const modelLimits = (models: readonly string[] | null): KeyLimits => ({ models, features: null });

async function attemptsOf(
  organization: OrganizationConfig,
  models: readonly string[] | null,
  asked: readonly string[],
) {
  const caller = { organization, limits: modelLimits(models) };
  const resolved = await resolveAttempts(caller, CATALOG, DIALECTS.createChatCompletion, asked, NOW);
  return resolved.ok ? resolved.attempts : [];
}
const attemptKeys = (attempts: readonly Attempt[]) =>
  attempts.map(({ modelKey, tier, onDowngrade }) => `${modelKey} ${tier} ${onDowngrade}`);

test('a narrower list of models makes no attempt that a wider one does not make, and none makes them all', async () => {
  let made = 0;
  await fc.assert(
    fc.asyncProperty(organizations, names, names, requested, async (organization, wide, some, asked) => {
      const narrow = some.filter((name) => wide.includes(name));
      const all = attemptKeys(await attemptsOf(organization, null, asked));
      const wider = attemptKeys(await attemptsOf(organization, wide, asked));
      const narrower = attemptKeys(await attemptsOf(organization, narrow, asked));
      made += narrower.length;
      expect(all).toEqual(expect.arrayContaining(wider));
      expect(wider).toEqual(expect.arrayContaining(narrower));
      const [open, fewer] = [wide, narrow].map((list) => new OpenModels(organization, CATALOG, list, NOW));
      for (const name of [...PLAIN, ...MAPPED]) {
        if (fewer?.allowsAll(name)) expect(open?.allowsAll(name)).toBe(true);
        if (fewer?.allowsAny(name)) expect(open?.allowsAny(name)).toBe(true);
      }
    }),
    { numRuns: 400 },
  );
  expect(made).toBeGreaterThan(100);
});

test('what a list allows is what it names, or what one of its names means', async () => {
  await fc.assert(
    fc.asyncProperty(organizations, names, requested, async (organization, list, asked) => {
      for (const { modelKey } of await attemptsOf(organization, list, asked)) {
        const meant = new OpenModels(organization, CATALOG, list, NOW).meant;
        expect(meant.includes(modelKey) || asked.some((name) => list.includes(name))).toBe(true);
      }
    }),
  );
});

test('a session with a list makes no attempt that its key alone would not make', async () => {
  await fc.assert(
    fc.asyncProperty(organizations, names, names, requested, async (organization, ofKey, ofSession, asked) => {
      const session = { customerId: asCustomerId('c'), customerUserId: null, scopes: [], models: ofSession } as Session;
      const refused = closedModel(organization, CATALOG, asked, session, NOW);
      const alone = attemptKeys(await attemptsOf(organization, ofKey, asked));
      const both = refused ? [] : alone;
      const free = attemptKeys(await attemptsOf(organization, ofSession, asked));
      expect(alone).toEqual(expect.arrayContaining(both));
      expect(free).toEqual(expect.arrayContaining(both));
    }),
  );
});

test('a narrower list of features opens nothing that a wider one refuses, and needs a name as it does', () => {
  const features = fc.subarray(['chat', 'Chat', 'search', 'a, b', ' ']);
  const asked = fc.option(fc.constantFrom('chat', 'Chat', 'search', 'a', 'a, b', ' '), { nil: undefined });
  fc.assert(
    fc.property(features, features, asked, (wide, some, feature) => {
      const of = (list: string[] | null) => closedFeature({ models: null, features: list }, feature) === null;
      const narrow = some.filter((name) => wide.includes(name));
      expect(of(null)).toBe(true);
      if (of(narrow)) expect(of(wide)).toBe(true);
      expect(of(wide)).toBe(feature !== undefined && wide.includes(feature));
    }),
  );
});
