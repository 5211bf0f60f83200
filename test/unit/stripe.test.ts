/**
 * Each charge is one meter event at Stripe, whatever happens on the way: the official package against a server that
 * answers as Stripe does.
 */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  REQUEST_TIMEOUT_MS,
  RETRY_AFTER_MS_MAX,
  reportCharge,
  type SettledCharge,
} from '../../durable-objects/customer/stripe.ts';
import { EVENT_NAME, SECRET_KEY, type StripeFault, type StripeServer, startStripe } from '../support/stripe-server.ts';

let stripe: StripeServer;
beforeEach(async () => {
  stripe = await startStripe();
});
afterEach(async () => {
  vi.useRealTimers();
  await stripe.close();
});

const NOW = Date.now();
const CHARGE: SettledCharge = {
  chargeId: 'chg_1',
  stripeCustomerId: 'cus_1',
  amountNanoUsd: 1_234_567_891n,
  atMs: NOW,
};
const DAY_MS = 86_400_000;

const report = (
  charge: Partial<SettledCharge> = {},
  config: { secretKey?: string; eventName?: string; apiBase?: string } = {},
) =>
  reportCharge(
    { secretKey: SECRET_KEY, apiBase: stripe.url, eventName: EVENT_NAME, ...config },
    { ...CHARGE, ...charge },
  );

/** Waits for the server to have read this many requests, while `setTimeout` stands still. */
async function requestsArrived(count: number): Promise<void> {
  while (stripe.requests.length < count) await setImmediate();
}

const answered = (status: number, body: object | string | null, headers: Record<string, string> = {}): StripeFault => ({
  status,
  body,
  headers,
});
const refused = (status: number, error: object, headers?: Record<string, string>) =>
  answered(status, { error }, headers);
const retry = (reason: string, retryAfterMs: number | null = null) => ({ status: 'RETRY', reason, retryAfterMs });
/** Nothing of the request can be at Stripe. */
const notThere = (reason: string, retryAfterMs: number | null = null) => ({
  ...retry(reason, retryAfterMs),
  isNotThere: true,
});
const rejected = (reason: string) => ({ status: 'REJECTED', reason });
const REPORTED = { status: 'REPORTED' };

describe('a charge that Stripe takes', () => {
  test('is one event with the exact amount, its customer, its time in seconds and its id', async () => {
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toEqual([
      {
        eventName: EVENT_NAME,
        stripeCustomerId: 'cus_1',
        value: '1234567891',
        identifier: 'chg_1',
        timestamp: Math.floor(NOW / 1000),
      },
    ]);
  });

  test('names the version of the API and its idempotency key, and sends no telemetry', async () => {
    await report();
    await report({ chargeId: 'chg_2' });
    expect(stripe.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['chg_1', 'chg_2']);
    for (const { headers } of stripe.requests) {
      expect(headers['stripe-version']).toBe('2026-10-28.endive');
      expect(headers).not.toHaveProperty('x-stripe-client-telemetry');
      // The facts about the machine that the package sends while its telemetry is on.
      const client = JSON.parse(String(headers['x-stripe-client-user-agent']));
      expect(Object.keys(client)).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(platform|telemetry_id)$/)]),
      );
    }
  });

  test.each([1n, 999_999_999_999_999n])('of %s nano-USD arrives to the last digit', async (amountNanoUsd) => {
    expect(await report({ amountNanoUsd })).toEqual(REPORTED);
    expect(stripe.events.map(({ value }) => value)).toEqual([amountNanoUsd.toString()]);
  });

  test('may be 34 days old', async () => {
    expect(await report({ atMs: NOW - 34 * DAY_MS })).toEqual(REPORTED);
  });

  test('that is reported twice, also at once, is one event', async () => {
    expect(await Promise.all([report(), report(), report()])).toEqual([REPORTED, REPORTED, REPORTED]);
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
  });
});

describe('a lost answer', () => {
  test('is a retry, and the retry after "recorded, then cut" ends as one event', async () => {
    stripe.fail('CUT_AFTER');
    expect(await report()).toEqual(retry('STRIPE_connection'));
    expect(stripe.events).toHaveLength(1);
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
  });

  test('ends as one event also if Stripe has forgotten the key and knows only the identifier', async () => {
    stripe.fail('CUT_AFTER');
    await report();
    stripe.forgetKeys();
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
  });

  test('that was cut before anything was recorded is reported by the retry', async () => {
    stripe.fail('CUT_BEFORE');
    expect(await report()).toEqual(retry('STRIPE_connection'));
    expect(stripe.events).toEqual([]);
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
  });

  test('ends at the timeout, and the key is then free again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    stripe.fail('HANG');
    const settled = vi.fn();
    const hanging = report().finally(settled);
    await requestsArrived(1);
    expect(await report()).toEqual(retry('STRIPE_idempotency_key_in_use'));
    await vi.advanceTimersByTimeAsync(REQUEST_TIMEOUT_MS - 1);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await hanging).toEqual(retry('STRIPE_timeout'));
    await vi.waitFor(async () => expect(await report()).toEqual(REPORTED));
    expect(stripe.events).toHaveLength(1);
  });

  test('of an unreachable Stripe is a retry', async () => {
    await stripe.close();
    expect(await report()).toEqual(retry('STRIPE_connection'));
    stripe = await startStripe();
  });
});

describe('a failure of Stripe', () => {
  test.each<[string, StripeFault, object]>([
    ['a rate limit says when', 'RATE_LIMIT', notThere('STRIPE_rate_limit', 2_000)],
    ['503', 'UNAVAILABLE', retry('STRIPE_api_error_503')],
    ['an HTML page', 'HTML', retry('STRIPE_invalid_answer')],
    ['an HTML page with 200', answered(200, '<html>captive portal</html>'), retry('STRIPE_invalid_answer')],
    ['JSON of a gateway', answered(502, { message: 'Bad Gateway' }), retry('STRIPE_http_502')],
    ['JSON of a gateway with an error that is text', answered(404, { error: 'Not Found' }), retry('STRIPE_http_404')],
    ['JSON null', answered(502, null), retry('STRIPE_invalid_answer')],
    [
      'a rate limit without a code',
      refused(429, { type: 'invalid_request_error' }),
      notThere('STRIPE_invalid_request_error_429'),
    ],
    ['a lock', refused(429, { type: 'invalid_request_error', code: 'lock_timeout' }), notThere('STRIPE_lock_timeout')],
    [
      'a rate limit with 400',
      refused(400, { type: 'invalid_request_error', code: 'rate_limit' }),
      retry('STRIPE_rate_limit'),
    ],
    [
      'a wait without end',
      refused(429, { code: 'rate_limit' }, { 'Retry-After': '99999999' }),
      notThere('STRIPE_rate_limit', RETRY_AFTER_MS_MAX),
    ],
    [
      'a wait that is a date',
      refused(503, { type: 'api_error' }, { 'Retry-After': new Date(NOW).toUTCString() }),
      retry('STRIPE_api_error_503'),
    ],
    [
      '403',
      refused(403, { type: 'invalid_request_error', code: 'more_permissions_required' }),
      notThere('STRIPE_more_permissions_required'),
    ],
    ['an empty error', refused(500, {}), retry('STRIPE_http_500')],
  ])('is a retry, and the retry is one event: %s', async (_name, fault, outcome) => {
    stripe.fail(fault);
    expect(await report()).toEqual(outcome);
    expect(stripe.events).toEqual([]);
    expect(stripe.requests).toHaveLength(1);
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
  });

  test('that Stripe repeats for the same key does not delay the charge for a day', async () => {
    stripe.fail('SERVER_ERROR');
    expect(await report()).toEqual(retry('STRIPE_api_error_500'));
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
    expect(stripe.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
      'chg_1',
      'chg_1',
      expect.stringMatching(/^chg_1\..{36}$/),
    ]);
  });

  test('that was repeated, with the next answer lost too, still ends as one event', async () => {
    stripe.fail('SERVER_ERROR');
    await report();
    stripe.fail(refused(500, { type: 'api_error' }, { 'Idempotent-Replayed': 'true' }));
    stripe.fail('CUT_AFTER');
    expect(await report()).toEqual(retry('STRIPE_connection'));
    expect(await report()).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
  });
});

describe('a key that Stripe rejects', () => {
  test.each([['sk_test_of_somebody_else'], ['rk_live_other']])(
    'is a retry, so that nothing is lost until the key is corrected: %s',
    async (secretKey) => {
      expect(await report({}, { secretKey })).toEqual(notThere('STRIPE_invalid_request_error_401'));
      expect(await report()).toEqual(REPORTED);
      expect(stripe.events).toHaveLength(1);
    },
  );
});

describe('a charge that Stripe refuses', () => {
  test.each<[string, Partial<SettledCharge>, string]>([
    ['a customer that it does not know', { stripeCustomerId: 'nobody' }, 'STRIPE_resource_missing'],
    ['a charge of 36 days ago', { atMs: NOW - 36 * DAY_MS }, 'STRIPE_timestamp_too_far_in_past'],
    ['a charge of the future', { atMs: NOW + 600_000 }, 'STRIPE_timestamp_in_future'],
    ['a million USD and more', { amountNanoUsd: 10n ** 15n }, 'STRIPE_meter_event_value_too_many_digits'],
    ['an id that is too long', { chargeId: 'c'.repeat(101) }, 'STRIPE_parameter_invalid_string'],
    ['no customer', { stripeCustomerId: '' }, 'STRIPE_parameter_missing'],
  ])('is rejected with the reason: %s', async (_name, charge, reason) => {
    expect(await report(charge)).toEqual(rejected(reason));
    expect(stripe.events).toEqual([]);
  });

  test.each<[string, StripeFault, string]>([
    [
      'its parameter where there is no code',
      refused(400, { type: 'invalid_request_error', param: 'payload[value]' }),
      'STRIPE_invalid_value',
    ],
    [
      'type and status where there is nothing else',
      refused(404, { type: 'invalid_request_error', code: null }),
      'STRIPE_invalid_request_error_404',
    ],
  ])('names %s', async (_name, fault, reason) => {
    stripe.fail(fault);
    expect(await report()).toEqual(rejected(reason));
  });

  test('for a missing meter is accepted once the meter exists', async () => {
    expect(await report({}, { eventName: 'later' })).toEqual(rejected('STRIPE_no_meter'));
    stripe.meters.add('later');
    expect(await report({}, { eventName: 'later' })).toEqual(REPORTED);
    expect(stripe.events).toHaveLength(1);
  });

  test('because its id belongs to another charge leaves the first unchanged', async () => {
    await report();
    expect(await report({ amountNanoUsd: 5n })).toEqual(rejected('STRIPE_idempotency_error_400'));
    expect(stripe.events.map(({ value }) => value)).toEqual(['1234567891']);
  });

  test.each([
    ['v1', { type: 'invalid_request_error', message: 'An event already exists with identifier chg_1.' }],
    [
      'v2',
      {
        code: 'duplicate_meter_event',
        message: 'A meter event with a duplicate identifier has already been submitted.',
      },
    ],
  ])('because it is a duplicate counts as reported, in the form of %s', async (_api, error) => {
    stripe.fail(refused(400, error));
    expect(await report()).toEqual(REPORTED);
    expect(stripe.requests).toHaveLength(1);
  });
});

test('a reason holds neither the key nor text that Stripe wrote', async () => {
  const echo = `Invalid API Key provided: ${SECRET_KEY}`;
  const faults = [400, 401, 403, 404, 409, 429, 500].flatMap((status) => [
    refused(status, { type: SECRET_KEY, code: SECRET_KEY, param: SECRET_KEY, message: echo }),
    refused(status, {
      type: echo,
      code: echo,
      param: `payload[${SECRET_KEY}]`,
      message: `No active meter found for ${echo}`,
    }),
    answered(status, { error: echo, error_description: echo }),
    answered(status, { message: echo }),
    answered(status, echo),
  ]);
  for (const fault of faults) {
    stripe.fail(fault);
    const outcome = await report();
    expect(outcome).toMatchObject({ reason: expect.stringMatching(/^STRIPE_[a-z]+(_[a-z]+)*(_\d{3})?$/) });
    expect(JSON.stringify(outcome)).not.toContain(SECRET_KEY.slice('sk_test_'.length));
    expect(JSON.stringify(outcome)).not.toMatch(/Invalid API Key|sk_test/);
  }
  expect(stripe.events).toEqual([]);
});
