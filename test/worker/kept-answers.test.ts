/**
 * Promise: vendors' answers that are kept for retries take at most 64 MiB of a customer. A retry whose answer gave way says
 * so, with what is recorded of the call; it is not charged, and no vendor is asked again.
 */
import { runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { KEPT_BYTES_MAX } from '../../durable-objects/customer/tables/kept-answers.ts';
import { answerNotKept } from '../../src/contract/errors.ts';
import { anthropicError } from '../../src/gateway/dialects/anthropic.ts';
import { googleError } from '../../src/gateway/dialects/google.ts';
import { refusalAnswer } from '../../src/gateway/error-envelope.ts';
import { answers, ask, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { type Clockwork, withObject } from '../support/object.ts';
import { bindings, customerStub } from '../support/worker.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

mockVendor();

const START = Date.UTC(2027, 2, 1);
const HOUR = 3_600_000;
const LARGE = 'a'.repeat(1_900_000);

function makeCall(object: Clockwork, name: string, atMs: number): void {
  const opened = object.beginServiceCall(name, atMs);
  if (!opened.ok) throw new Error('refused');
  const usage = { ...NO_USAGE, inputTokens: 3, responseTokens: 5 };
  const report = { usage, modelUsed: 'openai/gpt-5.2' };
  expect(object.endServiceCall(opened.admission.callId, atMs, report, { response: { name, body: LARGE } }).ok).toBe(
    true,
  );
}

/** What a retry of the request gets. */
function retry(object: Clockwork, name: string, atMs: number) {
  const again = object.beginServiceCall(name, atMs, { openedBy: 'a retry' });
  if (!again.ok) return again.refusal.code;
  return {
    replayed: again.replayed,
    body: again.stored && JSON.parse(again.stored).response.name,
    gaveWay: again.gaveWay,
  };
}

describe('kept answers of a customer', () => {
  it('are bounded in bytes: the oldest give way, and their retries get the figures of the call', async () => {
    await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
      const calls = Math.ceil(KEPT_BYTES_MAX / LARGE.length) + 3;
      for (let n = 0; n < calls; n += 1) {
        makeCall(object, `call-${n}`, START + n);
        // What is counted in memory and what is stored agree.
        if (n === calls - 2) await object.restart();
      }
      const [kept] = object.query<{ bytes: number }>('SELECT SUM(length(text)) AS bytes FROM call_answers');
      expect(kept?.bytes).toBeLessThanOrEqual(KEPT_BYTES_MAX);
      expect(kept?.bytes).toBeGreaterThan(KEPT_BYTES_MAX - 2 * LARGE.length);
      const figures = { modelUsed: 'openai/gpt-5.2', inputTokens: 3, responseTokens: 5, costUsdNano: null };
      expect(retry(object, 'call-0', START + HOUR)).toMatchObject({
        replayed: true,
        body: null,
        gaveWay: { ...figures, status: 'COMPLETED' },
      });
      const last = `call-${calls - 1}`;
      expect(retry(object, last, START + HOUR)).toEqual({ replayed: true, body: last, gaveWay: null });
    });
  });

  it('are forgotten with the other answers of their calls, 48 hours after these ended', async () => {
    await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
      makeCall(object, 'a', START);
      object.housekeep(START + 48 * HOUR - 1);
      expect(retry(object, 'a', START + 48 * HOUR - 1)).toMatchObject({ body: 'a' });
      object.housekeep(START + 48 * HOUR);
      expect(retry(object, 'a', START + 49 * HOUR)).toBe('IDEMPOTENCY_KEY_CONFLICT');
      expect([object.rows('call_answers'), object.rows('kept_answers')]).toEqual([0, 0]);
    });
  });
});

describe('a retry whose answer gave way', () => {
  it('is 409 ANSWER_NOT_KEPT with the figures of the call, and asks no vendor', async () => {
    const tenant = await newTenant();
    let asked = 0;
    vendor.answers = (url, body) => {
      asked += 1;
      return answers(url, body);
    };
    const send = () => ask(tenant.key, {}, bindings, '/v1/chat/completions', { 'Idempotency-Key': 'once' });
    const first = await send();
    expect(first.response.status).toBe(200);
    await first.rest();
    await runInDurableObject(customerStub(tenant.organizationId, 'default'), (_, { storage }) => {
      storage.sql.exec('INSERT INTO kept_answers (end_byte, call_id, bytes) VALUES (100000000, ?, 1)', 'a later one');
      storage.sql.exec('DELETE FROM call_answers');
    });
    const again = await send();
    expect([again.response.status, again.response.headers.get('x-should-retry')]).toEqual([409, 'false']);
    expect(await again.response.json()).toMatchObject({
      error: {
        code: 'ANSWER_NOT_KEPT',
        call: {
          callId: 'once',
          status: 'COMPLETED',
          inputTokens: 10,
          responseTokens: 4,
          costUsdNano: expect.any(String),
        },
      },
    });
    expect(asked).toBe(1);
  });

  it('has the same figures in the forms of Anthropic and Google', () => {
    const call = {
      callId: 'c',
      status: 'COMPLETED',
      modelUsed: 'm',
      inputTokens: 1,
      responseTokens: 2,
      costUsdNano: '3',
    };
    const [anthropic, google] = [anthropicError, googleError].map((form) =>
      JSON.parse(refusalAnswer(answerNotKept(call), form).body),
    );
    expect(anthropic.error.call).toEqual(call);
    expect(JSON.parse(google.error.details[0].metadata.call)).toEqual(call);
  });
});
