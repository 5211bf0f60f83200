/**
 * Events of the log as sentences: every stored action has one, in words, with links to its objects.
 */

import { describe, expect, test } from 'vitest';
import { changedFieldTexts, changeSentence, statedReason } from '../../src/console/change-sentence.ts';
import { fieldLabel, fieldValue } from '../../src/console/field-words.ts';
import { NEW_PLAN } from '../../src/console/plan-form.ts';
import { OPERATOR_ACTIONS, type OperatorAction } from '../../src/contract/operator-actions.ts';
import { asOrganizationId } from '../../src/domain/ids.ts';
import { isFigure } from '../../src/events/sentence.ts';

const ORGANIZATION = asOrganizationId('0198c0de-0000-7000-8000-000000000001');
const KEY = { name: 'web-prod', keyId: 'key_1', scopes: ['usage:write'], models: null, expiresAt: null };
const VERSION = { usagePlanVersionId: 'pro:v2', pending: null };
const CORRECTED = { callId: 'call_9', customerId: 'acme', reason: 'counted twice', refundNanoUsd: '1500000000' };
const HOOK = { host: 'https://hooks.example.com', types: ['call.denied'], enabled: true };

interface Case {
  subject: string;
  before?: unknown;
  after?: unknown;
  says: string;
}

/** The stored form of each action, and its sentence; links are in brackets. */
const CASES: Record<OperatorAction, Case> = {
  'organization.create': {
    subject: ORGANIZATION,
    after: { name: 'Acme' },
    says: 'Created the organization [Acme]',
  },
  'organization.update': {
    subject: ORGANIZATION,
    before: { name: 'Acme', callRetentionDays: 400, defaultPlanId: null },
    after: { name: 'Acme', callRetentionDays: 1, defaultPlanId: 'free' },
    says: 'Calls kept for 400 days → 1 day and default plan none → [free] on [Acme]',
  },
  'outbox.resend': {
    subject: ORGANIZATION,
    after: { rows: 1, customers: 1 },
    says: 'Sent 1 refused change of 1 customer to the database again',
  },
  'stripe_customer.release': {
    subject: ORGANIZATION,
    after: { stripeCustomerId: 'cus_1', customers: 2, more: false },
    says: 'Took the Stripe customer cus_1 from 2 customers',
  },
  'customer.create': { subject: 'acme', after: VERSION, says: 'Created the customer [acme] on [pro:v2]' },
  'customer.change_plan': {
    subject: 'acme',
    before: { usagePlanVersionId: 'free:v1', pending: null },
    after: { ...VERSION, strategy: 'RESET' },
    says: 'Moved [acme] from [free:v1] to [pro:v2]',
  },
  'customer.replenish': {
    subject: 'acme',
    before: {},
    after: { nextReplenishAt: '2026-12-01T00:00:00.000Z' },
    says: 'Began a new usage period of [acme], until 1 Dec 2026, 00:00 UTC',
  },
  'customer.cancel': { subject: 'acme', after: { canceled: true }, says: 'Canceled the subscription of [acme]' },
  'customer.reactivate': { subject: 'acme', after: {}, says: 'Reactivated the subscription of [acme]' },
  'customer.erase': {
    subject: 'acme',
    after: { calls: 1_200, samples: 1, creditEntries: 2 },
    says: 'Erased the customer acme: 1,200 calls, 2 ledger entries, 1 sample',
  },
  'credit.grant': {
    subject: 'acme',
    after: { kind: 'USD', amountUsd: '25.00', reference: 'INV-1', creditId: 'cr_1' },
    says: 'Granted $25.00 to [acme], reference INV-1',
  },
  'credit.revoke': {
    subject: 'acme',
    after: { creditId: 'cr_1', unit: 'CUSTOM1', revoked: '40', reason: 'by mistake' },
    says: 'Revoked a credit of [acme]: took back 40 units of custom meter 1',
  },
  'call.reverse': {
    subject: 'acme',
    after: CORRECTED,
    says: 'Reversed [a call] of [acme], which gives back $1.50',
  },
  'call.amend': {
    subject: 'acme',
    after: { ...CORRECTED, previousCostUsdNano: null, costUsdNano: '20000000' },
    says: 'Amended [a call] of [acme]: cost not known → $0.02',
  },
  'meter_event.reverse': {
    subject: 'acme',
    after: { ...CORRECTED, amount: 1, meterSlot: 'CUSTOM1', refundNanoUsd: '0' },
    says: 'Reversed an increment of 1 unit of custom meter 1 of [acme]',
  },
  'outbox.set_aside': {
    subject: 'acme',
    after: { kind: 'call', id: 'call_9', reason: 'too large' },
    says: 'Set aside a change of [acme] that the database refused',
  },
  'plan.put': {
    subject: 'pro',
    before: { version: 2, plan: { ...NEW_PLAN, name: 'Pro', limits: { ...NEW_PLAN.limits, premiumCalls: 500 } } },
    after: { version: 3, plan: { ...NEW_PLAN, name: 'Pro', limits: { ...NEW_PLAN.limits, premiumCalls: 600 } } },
    says: 'Premium calls 500 → 600 on [Pro] ([version 3])',
  },
  'plan.archive': { subject: 'pro', after: {}, says: 'Archived the plan [pro]' },
  'plan.restore': { subject: 'pro', after: {}, says: 'Restored the plan [pro]' },
  'plan.migrate': {
    subject: 'pro',
    after: { jobId: 'j1', when: 'NOW', usagePlanVersionId: 'pro:v3' },
    says: '[Began to move] the customers of [pro] to [pro:v3], at once',
  },
  'key.create': { subject: 'key_1', after: KEY, says: 'Created the API key [web-prod] with usage:write' },
  'key.rotate': {
    subject: 'key_1',
    before: KEY,
    after: { ...KEY, expiresAt: '2026-11-26T00:00:00.000Z', rotatedTo: 'key_2' },
    says: 'Rotated the API key [web-prod]: the old one works until 26 Nov 2026, 00:00 UTC, [the new one] replaces it',
  },
  'key.update': {
    subject: 'key_1',
    before: KEY,
    after: { ...KEY, scopes: ['usage:write', 'usage:read'] },
    says: 'Scopes: added usage:read on the API key [web-prod]',
  },
  'key.revoke': { subject: 'key_1', before: KEY, after: KEY, says: 'Revoked the API key [web-prod]' },
  'webhook.put': {
    subject: 'billing',
    after: HOOK,
    says: 'Added the webhook [https://hooks.example.com] for Call denied',
  },
  'webhook.delete': { subject: 'billing', before: HOOK, says: 'Deleted the webhook https://hooks.example.com' },
  'webhook.rotate': {
    subject: 'billing',
    before: HOOK,
    after: { ...HOOK, previousSecretUntil: '2026-11-26T00:00:00.000Z' },
    says: 'Rotated the secret of the webhook [https://hooks.example.com]: the old one works until 26 Nov 2026, 00:00 UTC',
  },
  'webhook.test': {
    subject: 'billing',
    after: { eventId: 'evt_1', delivered: false, answerStatus: 500 },
    says: 'Tested the webhook [billing]: not delivered, answered 500',
  },
  'webhook.replay': {
    subject: 'billing',
    after: { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' },
    says: 'Sent the events from 1 Nov 2026, 00:00 UTC to 2 Nov 2026, 00:00 UTC again to the webhook [billing]',
  },
  'webhook.send_again': {
    subject: 'billing',
    after: { eventId: 'evt_1' },
    says: 'Sent [an event] again to the webhook [billing]',
  },
  'webhook.disable': {
    subject: 'billing',
    after: { enabled: false, reason: 'GONE' },
    says: 'Disabled the webhook [billing]: it answered 410',
  },
  'models.put': {
    subject: ORGANIZATION,
    before: { standard: ['openai/gpt-4o'], premium: [] },
    after: { standard: [{ model: 'openai/gpt-6' }, 'openai/gpt-4o'], premium: [], aliases: { fast: ['mini'] } },
    says: 'Mapped standard to [openai/gpt-6] and [openai/gpt-4o] and fast to [mini]',
  },
  'models.delete': { subject: ORGANIZATION, before: { standard: [] }, says: 'Removed all model mappings' },
  'models.switch': {
    subject: ORGANIZATION,
    before: { mapping: 'standard', entry: { model: 'openai/gpt-4o' } },
    after: { mapping: 'standard', entry: { model: 'openai/gpt-6' } },
    says: 'Replaced [openai/gpt-4o] by [openai/gpt-6] in the mapping standard',
  },
  'models.switch_back': {
    subject: ORGANIZATION,
    before: { mapping: 'standard', entry: { model: 'openai/gpt-6' } },
    after: { mapping: 'standard', entry: 'openai/gpt-4o' },
    says: 'Replaced [openai/gpt-6] by [openai/gpt-4o] in the mapping standard',
  },
  'price.put': {
    subject: 'acme/tuned',
    after: { inputUsdPerMillion: 2.5, outputUsdPerMillion: 10 },
    says: 'Set the own price of [acme/tuned]: input $2.50 per million, output $10.00 per million',
  },
  'price.delete': {
    subject: 'acme/tuned',
    before: [{ inputUsdPerMillion: 2.5 }],
    says: 'Removed the own price of [acme/tuned]',
  },
  'calls.reprice': {
    subject: 'acme/tuned',
    after: { modelKey: 'acme/tuned', from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z', dryRun: false },
    says: 'Began to price the calls of [acme/tuned] without a price, from 1 Nov 2026, 00:00 UTC to 2 Nov 2026, 00:00 UTC',
  },
  'vendor.put': {
    subject: 'openai',
    before: { baseUrl: 'https://api.openai.com/v1', keyHint: 'aaaa' },
    after: { baseUrl: 'https://api.openai.com/v1', keyHint: 'bbbb' },
    says: 'Key …aaaa → …bbbb on the vendor [openai]',
  },
  'vendor.delete': { subject: 'openai', before: {}, says: 'Removed the vendor openai' },
  'sampling.put': {
    subject: ORGANIZATION,
    before: { rate: 0, features: { include: [], exclude: [] } },
    after: { rate: 0.05, features: { include: ['chat'], exclude: [] } },
    says: 'Share of calls 0% → 5% and only these features: added chat on the sampling policy',
  },
  'sampling.delete': { subject: ORGANIZATION, says: 'Removed the sampling policy: no calls are kept' },
  'sample.delete': {
    subject: 'smp_1',
    before: { receivedAt: '2026-11-01T00:00:00.000Z' },
    says: 'Deleted a stored sample of 1 Nov 2026, 00:00 UTC',
  },
  'compression_profile.put': {
    subject: ORGANIZATION,
    before: { aggressiveness: 0.2 },
    after: { aggressiveness: 0.5 },
    says: 'Aggressiveness 0.2 → 0.5 on the compression profile',
  },
  'compression_job.start': {
    subject: ORGANIZATION,
    after: { jobId: 'j1' },
    says: 'Started [an estimate] of what compression saves',
  },
  'catalog.publish': {
    subject: '2026-11-25',
    before: { version: '2026-11-20', hash: 'a' },
    after: { version: '2026-11-25', differences: { added: ['a', 'b'], removed: [], repriced: [{}], lifecycle: [] } },
    says: 'Published the catalog 2026-11-25: 2 added, 1 with another price',
  },
  'catalog.upstream_held': {
    subject: 'catalog',
    after: { reason: 'too many changes' },
    says: 'Did not publish an imported catalog',
  },
  'catalog.upstream_failed': { subject: 'catalog', after: { reason: '503' }, says: 'Could not import a catalog' },
  'catalog.news': {
    subject: 'catalog',
    after: {
      ends: [{ modelKey: 'anthropic/claude-opus-4-5', shutdownAt: '2027-01-22', reportedBy: ['a'] }],
      missing: [{ modelKey: 'openai/gpt-7' }],
      prices: [{}, {}],
      more: 0,
    },
    says: 'Heard that [anthropic/claude-opus-4-5] ends on 22 Jan 2027, of 1 unknown model and of 2 other prices',
  },
  'catalog.news_failed': {
    subject: 'catalog',
    after: { reason: 'lists.example/a.json: it answered 404', lists: [{ list: 'lists.example/a.json' }] },
    says: 'Could not read 1 list of models',
  },
  'review.put': {
    subject: 'openai/gpt-5.1',
    after: { replacementModelKey: 'openai/gpt-6', reason: 'same answers' },
    says: 'Reviewed [openai/gpt-5.1]: replaced by [openai/gpt-6]',
  },
  'review.delete': { subject: 'openai/gpt-5.1', says: 'Took back the review of [openai/gpt-5.1]' },
  'operator.put': {
    subject: 'anna@example.com',
    before: { role: 'viewer' },
    after: { role: 'editor' },
    says: 'Changed the role of [anna@example.com] from viewer to editor',
  },
  'operator.delete': { subject: 'anna@example.com', says: 'Removed the operator anna@example.com' },
};

function buildEvent(action: string, { subject, before = null, after = null }: Omit<Case, 'says'>) {
  const at = '2026-11-25T12:00:00.000Z';
  const event = { eventId: 'evt_1', at, actor: 'anna@example.com', correlationId: 'c', organizationId: ORGANIZATION };
  return { ...event, action, subject, before, after };
}

function sentenceText(action: string, of: Omit<Case, 'says'>): string {
  return changeSentence(buildEvent(action, of))
    .map((part) => (typeof part === 'object' && !isFigure(part) ? `[${part.name ?? part.id}]` : part))
    .join('');
}

describe('an event reads as a sentence', () => {
  test.each(OPERATOR_ACTIONS)('%s', (action) => {
    expect(sentenceText(action, CASES[action])).toBe(CASES[action].says);
  });

  test('without JSON, names of fields or other words of code', () => {
    for (const action of OPERATOR_ACTIONS) {
      const words = sentenceText(action, CASES[action]).replaceAll(/\[[^\]]*\]/g, '');
      expect(words).not.toMatch(/[{}"[\]]|undefined|NaN|[a-z][A-Z]|[A-Z]{2,}_/);
    }
  });

  test('whatever an earlier release stored, or if nothing was stored', () => {
    for (const action of [...OPERATOR_ACTIONS, 'thing.of_before']) {
      for (const state of [null, 'text', 7, [], {}])
        expect(sentenceText(action, { subject: 'x', before: state, after: state })).toMatch(/^[A-Z[]/);
    }
    expect(sentenceText('thing.of_before', { subject: 'x' })).toBe('Thing of before: x');
  });

  test('with so many fields as it has room for, and if nothing changed, with none', () => {
    const [before, after] = [{ plan: NEW_PLAN }, { version: 4, plan: { ...NEW_PLAN, ...OTHER_PLAN } }];
    expect(sentenceText('plan.put', { subject: 'pro', before, after })).toBe(
      'Name New → Pro, at the limit block → downgrade, renews every month → every 2 weeks and 3 more fields on [Pro] ([version 4])',
    );
    expect(sentenceText('plan.put', { subject: 'pro', before, after: { ...before, version: 5 } })).toBe(
      'Saved [New] without a change ([version 5])',
    );
  });

  test('a scheduled move says where to and when, and one that is taken back says that', () => {
    const pending = { usagePlanVersionId: 'free:v1', effectiveAt: '2026-12-01T00:00:00.000Z' };
    expect(
      sentenceText('customer.change_plan', { subject: 'acme', before: VERSION, after: { ...VERSION, pending } }),
    ).toBe('Scheduled [acme] to move from [pro:v2] to [free:v1] on 1 Dec 2026, 00:00 UTC');
    expect(
      sentenceText('customer.change_plan', { subject: 'acme', before: { ...VERSION, pending }, after: VERSION }),
    ).toBe('Left [acme] on [pro:v2], and took back the scheduled move to [free:v1]');
  });
});

const OTHER_PLAN = {
  name: 'Pro',
  limitType: 'DOWNGRADE',
  replenish: { every: 2, unit: 'WEEK' },
  limits: { ...NEW_PLAN.limits, searches: 0 },
  rollingCalls: { limit: 60, windowSeconds: 60 },
  payg: { ...NEW_PLAN.payg, markupPercent: 20 },
};

describe('the fields of an event', () => {
  test('of a plan are in the words of its page', () => {
    const event = buildEvent('plan.put', {
      subject: 'pro',
      before: { plan: NEW_PLAN },
      after: { plan: { ...NEW_PLAN, ...OTHER_PLAN, reasoningLevel: 'LOW' } },
    });
    expect(changedFieldTexts(event).map(({ label, before, after }) => `${label}: ${before} → ${after}`)).toEqual([
      'Name: New → Pro',
      'At the limit: block → downgrade',
      'Reasoning ceiling: high → low',
      'Renews: every month → every 2 weeks',
      'Searches: unlimited → 0',
      'Rolling limit: none → 60 calls in 60 s',
      'Markup: 0% → 20%',
    ]);
  });

  test('have money in USD, times as times, and lists by their names', () => {
    expect(fieldValue('priceUsd', '20')).toBe('$20.00');
    expect(fieldValue('costUsdNano', '1500000000')).toBe('$1.50');
    expect(fieldValue('expiresAt', '2026-11-26T00:00:00.000Z')).toBe('26 Nov 2026, 00:00 UTC');
    expect(fieldValue('standard', ['openai/gpt-6', { model: 'openai/gpt-4o', switchTo: 'official' }])).toBe(
      'openai/gpt-6, openai/gpt-4o',
    );
    expect(fieldValue('sampleBytesMax', 1_048_576)).toBe('1 MiB');
    const tiers = [
      { upTo: '1000', priceUsd: '0.01', per: '1' },
      { upTo: null, priceUsd: '0.005', per: '1' },
    ];
    expect(fieldLabel('customMeters.CUSTOM1.overage')).toBe('Custom meter 1: price');
    expect(fieldValue('customMeters.CUSTOM1.overage', { model: 'GRADUATED', tiers })).toBe(
      '$0.01 per unit up to 1,000, then $0.005 per unit',
    );
  });

  test('a long list is cut', () => {
    const models = Array.from({ length: 500 }, (_, index) => `model-${index}`);
    expect(fieldValue('differences.added', models)).toMatch(/model-29 and 470 more$/);
  });
});

test('a reason is that of whoever gave it', () => {
  expect(statedReason(buildEvent('call.reverse', CASES['call.reverse']))).toBe('counted twice');
  expect(statedReason(buildEvent('webhook.disable', CASES['webhook.disable']))).toBeUndefined();
});
