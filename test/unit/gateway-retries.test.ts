/**
 * The instructions of each refusal of the gateway to a client: its status, whether the same request may be repeated,
 * and when.
 */
import { expect, test } from 'vitest';
import { ERROR_STATUS } from '../../src/contract/errors.ts';
import { AttemptList } from '../../src/gateway/attempt-list.ts';
import { GATEWAY_ERRORS, refusalAnswer, refuseCall } from '../../src/gateway/error-envelope.ts';
import type { Attempt } from '../../src/gateway/models.ts';

type Code = keyof typeof ERROR_STATUS | keyof typeof GATEWAY_ERRORS;

/** Status, `x-should-retry` and `Retry-After`. */
const TABLE: Record<Code, [number, 'true' | 'false', string?]> = {
  BAD_REQUEST: [400, 'false'],
  FIELD_NOT_ALLOWED: [400, 'false'],
  METER_NOT_ENABLED: [400, 'false'],
  ENDPOINT_NOT_OFFERED: [400, 'false'],
  VENDOR_NOT_CONFIGURED: [400, 'false'],
  UNAUTHORIZED: [401, 'false'],
  CREDIT_REQUIRED: [402, 'false'],
  API_KEY_SCOPE_REQUIRED: [403, 'false'],
  BOUND_UNKNOWN: [403, 'false'],
  MODEL_NOT_PRICED: [403, 'false'],
  CUSTOMER_FORBIDDEN: [403, 'false'],
  CROSS_SITE_REQUEST: [403, 'false'],
  OPERATOR_ROLE_REQUIRED: [403, 'false'],
  ENTITLEMENT_DENIED: [403, 'false'],
  FEATURE_NOT_ALLOWED: [403, 'false'],
  MODEL_NOT_ALLOWED: [403, 'false'],
  NOT_FOUND: [404, 'false'],
  model_not_found: [404, 'false'],
  MODEL_RETIRED: [404, 'false'],
  CALL_NOT_FOUND: [404, 'false'],
  COMPRESSION_JOB_NOT_FOUND: [404, 'false'],
  CUSTOMER_NOT_FOUND: [404, 'false'],
  PLAN_NOT_FOUND: [404, 'false'],
  SUBSCRIPTION_NOT_FOUND: [404, 'false'],
  METHOD_NOT_ALLOWED: [405, 'false'],
  NOT_ACCEPTABLE: [406, 'false'],
  ANSWER_NOT_KEPT: [409, 'false'],
  CALL_ALREADY_FINALIZED: [409, 'false'],
  CALL_IN_FLIGHT: [409, 'true'],
  CONFLICT: [409, 'false'],
  CUSTOM_METER_CONFLICT: [409, 'true'],
  IDEMPOTENCY_KEY_CONFLICT: [409, 'false'],
  PRICE_UNAVAILABLE: [409, 'false'],
  PAYLOAD_TOO_LARGE: [413, 'false'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'false'],
  BALANCE_HELD: [429, 'true', '1'],
  QUOTA_EXCEEDED: [429, 'false', '1'],
  RATE_LIMITED: [429, 'true', '1'],
  INTERNAL_ERROR: [500, 'true'],
  VENDOR_ANSWER_BROKEN: [502, 'false'],
  VENDOR_ANSWER_TOO_LARGE: [502, 'false'],
  VENDOR_KEY_UNREADABLE: [502, 'false'],
  VENDOR_UNREACHABLE: [502, 'true'],
  VENDOR_STREAM_CUT: [502, 'true'],
  SERVICE_UNAVAILABLE: [503, 'true', '1'],
  VENDOR_TIMEOUT: [504, 'true'],
  CLIENT_LEFT: [504, 'false'],
};

const toldBy = (code: Code, more = {}) => {
  const { status, headers } = refusalAnswer(refuseCall(code, 'why', more).refusal);
  return [status, headers['x-should-retry'], headers['Retry-After']];
};

test('has every code', () => {
  expect(Object.keys(TABLE).sort()).toEqual([...Object.keys(ERROR_STATUS), ...Object.keys(GATEWAY_ERRORS)].sort());
});

test.each(Object.entries(TABLE))('%s is %j', (code, [status, retry, after]) => {
  expect(toldBy(code as Code)).toEqual([status, retry, after]);
});

test('a wait that is longer than what clients wait is not worth repeating', () => {
  expect(toldBy('RATE_LIMITED', { retryAfterSeconds: 59 })).toEqual([429, 'true', '59']);
  expect(toldBy('RATE_LIMITED', { retryAfterSeconds: 60 })).toEqual([429, 'false', '60']);
  expect(toldBy('CALL_IN_FLIGHT', { retryAfterSeconds: 2 })).toEqual([409, 'true', '2']);
});

test('the attempts are told if there were several, and fit into a header', () => {
  const attempts = new AttemptList();
  const attempt = (modelKey: string) => ({ modelKey }) as Attempt;
  attempts.add(attempt('openai/gpt-6-sol'), {
    kind: 'answer',
    status: 429,
    ok: false,
    headers: new Headers(),
    body: '',
  });
  expect(attempts.header).toEqual({});
  attempts.add(attempt('acme/a, b=1\n語'), { kind: 'timeout' });
  attempts.add(attempt('acme/keyless'), 'no-key');
  attempts.add(attempt('anthropic/claude-opus-5-5'), { kind: 'passing', status: 200 } as never);
  expect(attempts.header).toEqual({
    'x-service-attempts':
      'openai/gpt-6-sol=429, acme/a__b_1__=timeout, acme/keyless=no-key, anthropic/claude-opus-5-5=200',
  });
  const long = new AttemptList();
  for (let index = 0; index < 10; index += 1) long.add(attempt(`acme/${'x'.repeat(330)}`), { kind: 'timeout' });
  expect(long.header['x-service-attempts']?.length).toBeLessThan(1_000);
});
