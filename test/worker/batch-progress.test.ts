/**
 * Promise: wherever the vendor's output file breaks, each line of a batch counts once, the progress matches the record,
 * and the rest stays held; and all stored data of a batch fit.
 */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import type { Tenant } from '../support/api.ts';
import { accountOf, ask, completion, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings } from '../support/worker.ts';

mockVendor();

/** For tests that record some thousand lines, on a loaded machine. */
const SLOW_MS = 120_000;

const batchStub = ({ organizationId }: Tenant, name: string) =>
  bindings.GATEWAY_BATCHES.getByName(`${organizationId}:${name}`);

/** The state of a batch, the holds of its customer's lines, and the counts. */
async function metering(tenant: Tenant, name: string, customerId: string) {
  type Progress = { output: number };
  const state = await runInDurableObject(
    batchStub(tenant, name),
    (_, { storage }) =>
      storage.get('state') as Promise<{ progress: Progress; rounds: number; finishedAtMs: number | null }>,
  );
  const { reserved, consumed } = await accountOf(tenant, customerId);
  return {
    done: state.progress.output,
    held: (reserved.premiumCalls ?? 0) + (reserved.standardCalls ?? 0),
    counted: (consumed.premiumCalls ?? 0) + (consumed.standardCalls ?? 0),
    rounds: state.rounds,
    finished: state.finishedAtMs !== null,
  };
}

/**
 * A vendor with one batch, and how much of its output file arrives before the connection breaks; `null` is all of it.
 */
function buildVendor(lines: readonly string[], model: string) {
  const place = { breaksAtByte: null as number | null, name: '' };
  const file = new TextEncoder().encode(lines.join('\n'));
  vendor.answers = (url, { metadata }) => {
    if (url.endsWith('/files/file_in/content'))
      return new Response(`${JSON.stringify({ body: { model } })}\n`.repeat(lines.length));
    if (metadata) place.name = (metadata as { service_request_id: string }).service_request_id;
    if (!url.endsWith('/files/file_out/content'))
      return Response.json({ id: 'batch_1', metadata, status: 'completed', output_file_id: 'file_out' });
    const { breaksAtByte } = place;
    if (breaksAtByte === null) return new Response(file);
    const some = file.slice(0, breaksAtByte);
    let sent = false;
    return new Response(
      new ReadableStream({
        type: 'bytes',
        pull(controller) {
          if (sent) controller.error(new Error('connection lost'));
          else if (some.length > 0) controller.enqueue(some);
          else controller.error(new Error('connection lost'));
          sent = true;
        },
      }),
    );
  };
  return place;
}

describe('an output file whose download breaks off', () => {
  const LINES = 23;
  const lines = Array.from({ length: LINES }, (_, index) =>
    JSON.stringify({
      custom_id: `line-${index}`,
      response: { status_code: 200, body: completion('gpt-5.2') },
      error: null,
    }),
  );
  /** The start of each line, in bytes. */
  const starts = lines.map((_, index) => lines.slice(0, index).reduce((sum, line) => sum + line.length + 1, 0));

  test.each(['at the beginning', 'in the middle', 'before the end'] as const)(
    '%s of any line, twice, counts each line once',
    async (where) => {
      const tenant = await newTenant();
      const customer = 'breaking';
      const place = buildVendor(lines, 'gpt-5.2');
      const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions', customer };
      expect((await ask(tenant.key, body, bindings, '/v1/batches')).response.status).toBe(200);
      let [done, rounds] = [0, 0];
      for (const [index, line] of lines.entries()) {
        const into =
          where === 'at the beginning' ? 0 : where === 'in the middle' ? Math.floor(line.length / 2) : line.length;
        place.breaksAtByte = (starts[index] ?? 0) + into;
        // Lines are recorded twenty at a time, and progress begins the count of rounds anew.
        if (index === 20) [done, rounds] = [20, 0];
        for (let round = 1; round <= 2; round += 1) {
          rounds += 1;
          await runDurableObjectAlarm(batchStub(tenant, place.name));
          expect(await metering(tenant, place.name, customer), `line ${index}, round ${round}`).toEqual({
            ...{ done, counted: done, held: LINES - done },
            ...{ rounds, finished: false },
          });
        }
      }
      place.breaksAtByte = null;
      await runDurableObjectAlarm(batchStub(tenant, place.name));
      expect(await metering(tenant, place.name, customer)).toMatchObject({
        ...{ done: LINES, counted: LINES, held: 0 },
        finished: true,
      });
    },
    SLOW_MS,
  );
});

test(
  'a run ends after 1,000 lines, and the next one continues',
  async () => {
    const tenant = await newTenant();
    const lines = Array.from({ length: 1_030 }, (_, index) =>
      JSON.stringify({
        custom_id: `line-${index}`,
        response: { status_code: 200, body: completion('gpt-4o-mini') },
        error: null,
      }),
    );
    const place = buildVendor(lines, 'gpt-4o-mini');
    const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions', customer: 'long' };
    expect((await ask(tenant.key, body, bindings, '/v1/batches')).response.status).toBe(200);
    await runDurableObjectAlarm(batchStub(tenant, place.name));
    expect(await metering(tenant, place.name, 'long')).toMatchObject({
      done: 1_000,
      counted: 1_000,
      held: 30,
      finished: false,
    });
    expect(await runDurableObjectAlarm(batchStub(tenant, place.name))).toBe(true);
    expect(await metering(tenant, place.name, 'long')).toMatchObject({
      done: 1_030,
      counted: 1_030,
      held: 0,
      finished: true,
    });
  },
  SLOW_MS,
);

describe('what is stored of a request for a batch', () => {
  const QUOTES = '"'.repeat(40_000);
  const create = (tenant: Tenant & { key: string }, more: object) =>
    ask(tenant.key, { input_file_id: 'file_in', endpoint: '/v1/chat/completions', ...more }, bindings, '/v1/batches', {
      'Idempotency-Key': 'large',
    });

  test('a request that is too large is answered with 413, and the vendor is not asked', async () => {
    const tenant = await newTenant();
    const { response } = await create(tenant, { note: 'n'.repeat(100_000) });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(error.message).toContain('100000 characters');
  });

  test.each([
    ['the largest answer that can be stored is replayed', QUOTES, [200, 'true']],
    ['a larger answer is sent once, and a retry is told that it was not stored', QUOTES.repeat(30), [409, 'true']],
  ])('%s', async (_, note, again) => {
    const tenant = await newTenant();
    vendor.answers = (url, { metadata }) =>
      url.endsWith('/content')
        ? new Response(JSON.stringify({ body: { model: 'gpt-5.2' } }))
        : Response.json({ id: 'batch_1', metadata, note, status: 'validating' });
    // Every quote takes two characters in the request, and four in its stored form.
    const asked = { note: QUOTES.slice(0, 40_000) };
    const first = await create(tenant, asked);
    expect([first.response.status, ((await first.response.json()) as { note: string }).note]).toEqual([200, note]);
    const retry = await create(tenant, asked);
    expect([retry.response.status, retry.response.headers.get('Idempotency-Replayed')]).toEqual(again);
    if (retry.response.status === 409) expect(await retry.response.text()).toContain('batch_1');
  });
});
