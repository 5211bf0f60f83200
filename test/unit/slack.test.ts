/**
 * Every event has a complete sentence for Slack; names cannot make links of it.
 */

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeSample } from '../../src/cli/vendor/schema-sample.ts';
import { EVENTS, type EventData, type EventType } from '../../src/contract/event-data.ts';
import { EVENT_TYPES } from '../../src/contract/events.ts';
import { TEST_EVENT_TYPE } from '../../src/contract/webhooks.ts';
import { asCallId, asCustomerId, asKeyId } from '../../src/domain/ids.ts';
import { slackMessage } from '../../src/events/slack.ts';

interface JsonSchema {
  anyOf?: JsonSchema[];
  type?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

/** The schema of the least that an event may say: what may be null is, and what may be absent is. */
function least(schema: JsonSchema): JsonSchema {
  const { anyOf = [], properties, required = [] } = schema;
  const none = anyOf.find(({ type }) => type === 'null');
  if (none) return none;
  if (!properties) return schema;
  return { ...schema, properties: Object.fromEntries(required.map((name) => [name, least(properties[name] ?? {})])) };
}

function examplesOf(type: EventType): object[] {
  const schema = z.toJSONSchema(EVENTS[type].data) as JsonSchema;
  return [schema, least(schema)].map((one) => EVENTS[type].data.parse(makeSample(one)));
}

const ann = asCustomerId('ann');
const periodEndsAt = '2026-12-01T00:00:00.000Z';

const slackText = (type: string, data: object, url: string | null = null) =>
  (JSON.parse(slackMessage(type, data as Record<string, unknown>, url)) as { text: string }).text;

describe('a message for Slack', () => {
  test.each([...EVENT_TYPES])('of %s is a whole sentence, of all that an event may say and of the least', (type) => {
    for (const data of examplesOf(type)) {
      const text = slackText(type, data);
      expect(text).toMatch(/^\S.*[^.]\.$/);
      expect(text).not.toMatch(/undefined|null|NaN|\[object|\{/);
    }
  });

  test.each<[string, EventType, Partial<EventData[EventType]>]>([
    [
      'ann: The balance is low: $4.2 left, below $5.',
      'balance.low',
      { customerId: ann, balanceUsd: '4.2', belowUsd: '5' },
    ],
    [
      'ann: The balance is low: $21.6 left, enough for 8.5 days, below 10 days.',
      'balance.low',
      { customerId: ann, balanceUsd: '21.6', daysLeft: 8.5, belowDays: 10 },
    ],
    ['ann: The balance is overdrawn: -$0.2.', 'balance.overdrawn', { customerId: ann, balanceUsd: '-0.2' }],
    [
      'ann: Premium calls reached 80% of the limit: 4,020 of 5,000 used; the usage period ends on 2026-12-01 00:00 UTC.',
      'meter.threshold_reached',
      { customerId: ann, meter: 'premiumCalls', threshold: 80, crossed: [80], used: 4_020, limit: 5_000, periodEndsAt },
    ],
    [
      'ann: A call (c-1) was denied: `ALLOWANCE_EXHAUSTED`, premium calls.',
      'call.denied',
      { customerId: ann, callId: asCallId('c-1'), code: 'ALLOWANCE_EXHAUSTED', meter: 'premiumCalls', periodEndsAt },
    ],
    ['The API key backend (key_1) was revoked.', 'key.revoked', { keyId: asKeyId('key_1'), name: 'backend' }],
    [
      'openai/a ends on 2027-01-14, in 30 days; openai/b may replace it.',
      'model.ending',
      {
        ...{ modelKey: 'openai/a', shutdownAt: '2027-01-14', daysLeft: 30, step: 30 },
        replacement: { modelKey: 'openai/b', source: 'provider' },
      },
    ],
    [
      'ann: Unusual usage: Spent $9.37 on 13 Nov; usual is $1.63 (5.8 times).',
      'anomaly.detected',
      { customerId: ann, summary: 'Spent $9.37 on 13 Nov; usual is $1.63 (5.8 times).' },
    ],
  ])('says %j', (says, type, data) => {
    expect(slackText(type, data)).toBe(says);
  });

  test('of another version is told with its data, and of a test as one', () => {
    expect(slackText('moon.full', { a: 1 })).toBe('moon.full: {"a":1}');
    expect(slackText(TEST_EVENT_TYPE, { webhookId: 'ops' })).toBe('The webhook ops works.');
  });

  test('has no link but that to the console, whatever the names are', () => {
    const text = slackText(
      'balance.exhausted',
      { customerId: '<!channel> & <https://evil.example|x>', balanceUsd: '0' },
      'https://c.example/o',
    );
    expect(text.match(/<[^>]*>/g)).toEqual([
      expect.stringMatching(/^<https:\/\/c\.example\/o\/customers\/[^|]*\|Open in the console>$/),
    ]);
  });
});
