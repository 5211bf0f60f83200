/**
 * Every event has a complete sentence for Slack; names cannot make links of it.
 */

import { describe, expect, test } from 'vitest';
import { EVENT_TYPES, type EventType, type OrganizationEvent } from '../../src/contract/events.ts';
import { TEST_EVENT_TYPE } from '../../src/contract/webhooks.ts';
import { asCallId, asCustomerId, asKeyId } from '../../src/domain/ids.ts';
import { slackMessage } from '../../src/events/slack.ts';

type DataOf<Type extends EventType> = Extract<OrganizationEvent, { type: Type }>['data'];

const AT = '2026-12-01T00:00:00.000Z';
const model = {
  ...{ modelKey: 'openai/a', status: 'DEPRECATED' as const, shutdownAt: '2027-01-14', daysLeft: 30 },
  ...{ replacement: { modelKey: 'openai/b', source: 'provider' as const }, calls: 1, costUsd: '1', mappings: [] },
};
const customerId = asCustomerId('ann');
const meter = { customerId, meter: 'premiumCalls' as const, used: 402, limit: 500, periodEndsAt: AT };
const plan = { customerId, planId: 'pro', usagePlanVersionId: 'pro:v1' };
const key = { keyId: asKeyId('key_1'), name: 'backend', prefix: 'utk-' };
const mapping = { mapping: 'premium', source: 'official' as const, shutdownAt: '2027-01-14' };

const EXAMPLES: { [Type in EventType]: DataOf<Type>[] } = {
  'customer.created': [plan],
  'customer.plan_changed': [{ ...plan, previousPlanId: 'free', previousUsagePlanVersionId: 'free:v1' }],
  'customer.replenished': [{ customerId, planId: 'pro', periodStartedAt: AT, periodEndsAt: null }],
  'meter.threshold_reached': [{ ...meter, threshold: 80, crossed: [50, 80] }],
  'meter.recovered': [{ ...meter, threshold: 80 }],
  'balance.low': [
    { customerId, balanceUsd: '4.2', belowUsd: '5' },
    { customerId, balanceUsd: '21.6', daysLeft: 8.5, belowDays: 10 },
  ],
  'balance.exhausted': [{ customerId, balanceUsd: '0' }],
  'balance.overdrawn': [{ customerId, balanceUsd: '-0.2' }],
  'call.denied': [
    { customerId, callId: asCallId('c'), code: 'CREDIT_REQUIRED', meter: null, feature: null, periodEndsAt: AT },
  ],
  'call.unpriced': [
    {
      customerId,
      callId: asCallId('c'),
      modelUsed: 'm',
      providerUsed: null,
      reason: 'MODEL_NOT_IN_CATALOG',
      atStakeUsd: '0.01',
      feature: null,
    },
  ],
  'charge.failed': [
    { customerId, chargeId: 'ch', subject: 'call', subjectId: 'c', amountUsd: '1', reason: 'card declined' },
  ],
  'forecast.will_run_out': [{ ...meter, expectedAt: AT, earliestAt: AT, latestAt: null, quality: 'HIGH' }],
  'anomaly.detected': [null, 'ann'].map((customerId) => ({
    ...{ id: 'SPEND_SPIKE:2026-11-13::', customerId, kind: 'SPEND_SPIKE', unit: 'USD', severity: 'HIGH' },
    ...{ summary: 'Spent $9.37 on 13 Nov; usual is $1.63 (5.8 times).', startedAt: AT, endedAt: AT },
    ...{ expected: 1.63, observed: 9.37, explainedBy: [], evidence: {} },
  })) as DataOf<'anomaly.detected'>[],
  'model.deprecated': [model],
  'model.ending': [{ ...model, step: 30 }],
  'price.changed': [
    { modelKey: 'openai/a', source: 'catalog', effectiveFrom: null, before: {}, after: {} },
    { modelKey: 'openai/a', source: 'organization', effectiveFrom: null, before: {}, after: null },
  ],
  'catalog.published': [
    { version: 'b', previousVersion: 'a', publishedAt: AT, added: 1, removed: 0, repriced: null, lifecycle: null },
  ],
  'key.created': [{ ...key, scopes: null }],
  'key.revoked': [key],
  'projection.lagging': [{ waitingSince: AT, changes: 7 }],
  'model.switched': [
    {
      ...{ ...mapping, from: 'openai/a', to: 'openai/b', priceChangePercent: -5, priceBasis: 'typical_call' },
      ...{ reason: 'openai/a ends on 2027-01-14', warnings: [] },
    },
  ] as DataOf<'model.switched'>[],
  'model.switch_refused': [
    {
      ...mapping,
      model: 'openai/a',
      replacement: null,
      reasons: [{ code: 'NO_REPLACEMENT', message: 'nothing replaces it' }],
    },
  ],
  'webhook.disabled': [
    { webhookId: 'ops', reason: 'GONE' },
    { webhookId: 'ops', reason: 'FAILING' },
  ],
};

const textOf = (type: string, data: object, url: string | null = null) =>
  (JSON.parse(slackMessage(type, data as Record<string, unknown>, url)) as { text: string }).text;

describe('a message for Slack', () => {
  test.each([...EVENT_TYPES])('of %s is a whole sentence', (type) => {
    for (const data of EXAMPLES[type]) {
      const text = textOf(type, data);
      expect(text).toMatch(/^\S.*\.$/);
      expect(text).not.toMatch(/undefined|null|NaN|\[object|\{/);
    }
  });

  test('names the figures that count', () => {
    expect(textOf('balance.low', EXAMPLES['balance.low'][1] ?? {})).toBe(
      'The balance of ann is low: $21.6, enough for 8.5 days, below 10.',
    );
    expect(textOf('model.ending', EXAMPLES['model.ending'][0] ?? {})).toBe(
      'The model openai/a ends on 2027-01-14, in 30 days; openai/b may replace it.',
    );
  });

  test('of another version is told with its data, and of a test as one', () => {
    expect(textOf('moon.full', { a: 1 })).toBe('moon.full: {"a":1}');
    expect(textOf(TEST_EVENT_TYPE, { webhookId: 'ops' })).toBe('The webhook ops works.');
  });

  test('has no link but that to the console, whatever the names are', () => {
    const text = textOf(
      'balance.exhausted',
      { customerId: '<!channel> & <https://evil.example|x>', balanceUsd: '0' },
      'https://c.example/o',
    );
    expect(text.match(/<[^>]*>/g)).toEqual([
      expect.stringMatching(/^<https:\/\/c\.example\/o\/customers\/[^|]*\|Open in the console>$/),
    ]);
  });
});
