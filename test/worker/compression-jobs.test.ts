/**
 * Estimates over HTTP: the savings of a profile on stored samples, in the background, whatever happens meanwhile
 * (contract 4.16).
 */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CompressionJob as CompressionJobObject } from '../../durable-objects/compression-job.ts';
import { enterEstimate, forgetOldEstimates, leaveEstimate, RUNNING_ESTIMATES_MAX } from '../../src/config/estimates.ts';
import { type CompressionJob, DEFAULT_COMPRESSION_PROFILE, TECHNIQUE_NAMES } from '../../src/contract/compression.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';

/** 2.50 USD per million input tokens. */
const MODEL = 'gpt-4o';
const NANO_PER_TOKEN = 2_500n;

describe('an estimate', () => {
  const WORDY = 'Please note that, in order to answer, you should be very brief.   Thank you very much in advance!';
  const ROWS = JSON.stringify(
    Array.from({ length: 12 }, (_, id) => ({ id, name: `name ${id}`, active: id % 2 === 0 })),
    null,
    2,
  );
  let own: Tenant;
  beforeAll(async () => {
    own = await createTenant(operator);
    const samples = [
      { sampleId: 'text', model: MODEL, input: WORDY, customerId: 'ann', feature: 'chat' },
      {
        sampleId: 'messages',
        model: MODEL,
        input: [{ role: 'user', content: `Data:\n${ROWS}\nSum it up.` }],
        feature: 'chat',
      },
      {
        sampleId: 'request',
        model: MODEL,
        input: { system: WORDY, messages: [{ role: 'assistant', content: WORDY }] },
      },
      { sampleId: 'unpriced', input: WORDY },
      { sampleId: 'other', model: 'no-such-model', input: { anything: [1, 2, 3] } },
    ];
    for (const sample of samples) await own.api.send('storeSample', { body: { provider: 'openai', ...sample } });
  });
  const start = (body: object = {}, headers: Record<string, string> = {}, of = own) =>
    of.api.send('startCompressionJob', { body, headers });
  const read = (jobId: string, of = own) => of.api.send('readCompressionJob', { params: { jobId } });
  const stub = (jobId: string) => bindings.COMPRESSION_JOBS.getByName(jobId);

  /** One alarm of the job, and no other after it. */
  const step = (jobId: string) =>
    runInDurableObject(stub(jobId), async (job, { storage }) => {
      await storage.deleteAlarm();
      await (job as CompressionJobObject).alarm();
      await storage.deleteAlarm();
    });

  async function completed(jobId: string, of = own): Promise<CompressionJob> {
    for (let round = 0; round < 100; round += 1) {
      await step(jobId);
      const { data } = await read(jobId, of);
      if (data.status === 'COMPLETED') return data;
    }
    throw new Error('the job did not end');
  }

  test('runs over every sample with the profile, and reports tokens and money by technique', async () => {
    const profile = { ...DEFAULT_COMPRESSION_PROFILE, aggressiveness: 1 };
    const started = await start({ profile });
    expect(started.body.result.code).toBe('COMPRESSION_JOB_STARTED');
    expect(started.data).toEqual({ jobId: expect.stringMatching(/^[0-9a-f-]{36}$/), status: 'RUNNING' });
    const job = await completed(started.data.jobId);
    expect(job).toMatchObject({
      jobId: started.data.jobId,
      status: 'COMPLETED',
      progress: { total: 5, done: 5 },
      profile,
      unpricedSamples: 2,
      unreadableSamples: 0,
      failures: 0,
      lastError: null,
    });
    expect(job.savedTokens).toBe(job.originalTokens - job.compressedTokens);
    expect(job.savedTokens).toBeGreaterThan(0);
    expect(job.tokenSavingsRatio).toBe(job.savedTokens / job.originalTokens);
    const sum = (of: (technique: CompressionJob['byTechnique'][number]) => number) =>
      job.byTechnique.reduce((total, one) => total + of(one), 0);
    expect(sum(({ savedTokens }) => savedTokens)).toBe(job.savedTokens);
    expect(sum(({ costAvoidedUsdNano }) => Number(costAvoidedUsdNano))).toBe(Number(job.costAvoidedUsdNano));
    expect(job.costAvoidedUSD).toBe(Number(job.costAvoidedUsdNano) / 1e9);
    const names = job.byTechnique.map(({ technique }) => technique);
    expect(names).toEqual(TECHNIQUE_NAMES.filter((name) => names.includes(name)));
    expect(names).toEqual(expect.arrayContaining(['toon', 'politeness', 'filler']));
    expect(job).toMatchObject({ countedBy: 'ESTIMATE', meaningMayChange: true, exampleSampleId: 'messages' });
    expect(job.techniques.map(({ name, savedTokens }) => [name, savedTokens])).toEqual(
      job.byTechnique.map(({ technique, savedTokens }) => [technique, savedTokens]),
    );
    for (const { originalTokens, compressedTokens, savedTokens } of job.techniques) {
      expect(originalTokens - compressedTokens).toBe(savedTokens);
      expect(compressedTokens).toBeGreaterThan(0);
    }
    const toon = job.byTechnique.find(({ technique }) => technique === 'toon');
    expect(toon).toMatchObject({
      samples: 1,
      costAvoidedUsdNano: String(BigInt(toon?.savedTokens ?? 0) * NANO_PER_TOKEN),
    });
    expect(Date.parse(job.finishedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(job.startedAt));
  });

  test("takes the organization's profile and its own price if there are some", async () => {
    const priced = await createTenant(operator);
    const params = { org: priced.organizationId, modelKey: 'openai/gpt-4o' };
    await operator.send('setPrice', { params, body: { inputUsdPerMillion: 100, outputUsdPerMillion: 100 } });
    const profile = { techniques: ['politeness'], aggressiveness: 1, protectedPhrases: [], minInputTokens: 0 };
    await priced.api.send('saveCompressionProfile', { body: profile });
    await priced.api.send('storeSample', { body: { provider: 'openai', model: MODEL, input: WORDY } });
    const job = await completed((await start({}, {}, priced)).data.jobId, priced);
    expect(job.profile).toEqual(profile);
    expect(job.byTechnique.map(({ technique }) => technique)).toEqual(['politeness']);
    expect(job.costAvoidedUsdNano).toBe(String(job.savedTokens * 100_000));
  });

  test.each<[object, number]>([
    [{ customerId: 'ann' }, 1],
    [{ feature: 'chat' }, 2],
    [{ customer: { id: 'ann' }, feature: 'other' }, 0],
    [{ to: '2026-01-01T00:00:00Z' }, 0],
    [{ from: '2026-01-01T00:00:00Z' }, 5],
    [{ from: '2099-01-01T00:00:00Z', to: '2099-01-02T00:00:00Z' }, 0],
  ])('of %j looks at %i samples', async (filter, total) => {
    expect((await completed((await start(filter)).data.jobId)).progress).toEqual({ total, done: total });
  });

  test('leaves out samples that expired or were stored after it began', async () => {
    const late = await createTenant(operator);
    for (const sampleId of ['live', 'expired'])
      await late.api.send('storeSample', { body: { sampleId, provider: 'openai', input: WORDY } });
    await bindings.DB.prepare(
      `UPDATE samples SET expires_at_ms = 1 WHERE organization_id = ? AND sample_id = 'expired'`,
    )
      .bind(late.organizationId)
      .run();
    // Only samples received before this instant are of the job.
    await scheduler.wait(2);
    const { jobId } = (await start({}, {}, late)).data;
    await late.api.send('storeSample', { body: { sampleId: 'later', provider: 'openai', input: WORDY } });
    expect((await completed(jobId, late)).progress).toEqual({ total: 1, done: 1 });
  });

  test('shows its progress, and continues after a restart', async () => {
    const large = await createTenant(operator);
    const input = `${WORDY}\n\n${'A plain sentence that stays. '.repeat(9_000)}`;
    for (let n = 0; n < 18; n += 1) {
      await large.api.send('storeSample', {
        body: { sampleId: `large-${n}`, provider: 'openai', model: MODEL, input },
      });
    }
    const whole = (await start({}, {}, large)).data.jobId;
    const expected = await completed(whole, large);

    const { jobId } = (await start({}, {}, large)).data;
    const seen: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      await evictDurableObject(stub(jobId));
      await step(jobId);
      const { data } = await read(jobId, large);
      seen.push(data.progress.done);
      if (data.status === 'COMPLETED') break;
    }
    // Eight at a time fit into memory together.
    expect(new Set(seen).size).toBeGreaterThanOrEqual(2);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    const job = (await read(jobId, large)).data;
    const { jobId: _id, startedAt: _started, finishedAt: _finished, ...figures } = job;
    expect(expected).toMatchObject(figures);
    expect(job).toMatchObject({ status: 'COMPLETED', progress: { total: 18, done: 18 } });
  });

  test('retries when D1 fails, and counts samples that cannot be read', async () => {
    const broken = await createTenant(operator);
    for (const sampleId of ['fine', 'unreadable'])
      await broken.api.send('storeSample', { body: { sampleId, provider: 'openai', input: WORDY } });
    await bindings.DB.prepare(
      `UPDATE samples SET payload = 'no JSON' WHERE organization_id = ? AND sample_id = 'unreadable'`,
    )
      .bind(broken.organizationId)
      .run();
    const { jobId } = (await start({}, {}, broken)).data;
    await runInDurableObject(stub(jobId), async (_, { storage }) => {
      const state = await storage.get<object>('state');
      // At its beginning, at a place that no query can be made of.
      const place = { after: { receivedAtMs: {}, sampleId: '' }, finishedAtMs: null, done: 0, unreadable: 0 };
      await storage.put('state', { ...state, ...place });
    });
    await step(jobId);
    const failed = (await read(jobId, broken)).data;
    expect(failed).toMatchObject({ status: 'RUNNING', failures: 1, lastError: expect.any(String) });
    await runInDurableObject(stub(jobId), async (_, { storage }) => {
      await storage.put('state', { ...(await storage.get<object>('state')), after: null });
    });
    expect(await completed(jobId, broken)).toMatchObject({
      progress: { total: 2, done: 2 },
      unreadableSamples: 1,
      failures: 1,
    });
  });

  test('is one job per idempotency key, and 409 with another payload', async () => {
    const headers = { 'Idempotency-Key': 'estimate-1' };
    const first = await start({ feature: 'chat' }, headers);
    expect(first.headers.get('Idempotency-Replayed')).toBeNull();
    const again = await start({ feature: 'chat' }, headers);
    expect([again.headers.get('Idempotency-Replayed'), again.data.jobId]).toEqual(['true', first.data.jobId]);
    expect((await start({ feature: 'other' }, headers)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    const other = await createTenant(operator);
    expect((await start({ feature: 'chat' }, headers, other)).data.jobId).not.toBe(first.data.jobId);
  });

  test('is refused while ten of the organization run, and starts nothing; one that ends makes room', async () => {
    const busy = await createTenant(operator);
    const { organizationId } = busy;
    const enter = (jobId: string) => enterEstimate(bindings, organizationId, jobId, Date.now());
    const entered = await Promise.all(Array.from({ length: 30 }, (_, n) => enter(`job-${n}`)));
    expect(entered.filter(Boolean)).toHaveLength(RUNNING_ESTIMATES_MAX);
    const running = entered.indexOf(true);
    expect(await enter(`job-${running}`)).toBe(true);

    const refused = await start({}, { 'Idempotency-Key': 'estimate-11' }, busy);
    expect([refused.status, refused.refusal.code, refused.headers.get('Retry-After')]).toEqual([
      429,
      'RATE_LIMITED',
      '30',
    ]);
    expect((await start({}, {}, own)).status).toBe(200);

    await leaveEstimate(bindings, organizationId, `job-${running}`);
    const begun = await start({}, { 'Idempotency-Key': 'estimate-11' }, busy);
    expect([begun.status, begun.headers.get('Idempotency-Replayed')]).toEqual([200, null]);
    // A retry does not count as another estimate, even if there is no room.
    expect((await start({}, { 'Idempotency-Key': 'estimate-11' }, busy)).data.jobId).toBe(begun.data.jobId);
    await completed(begun.data.jobId, busy);
    expect((await start({}, {}, busy)).status).toBe(200);
  });

  test('that never reported its end counts as running for a day', async () => {
    const { organizationId } = await createTenant(operator);
    const dayAgoMs = Date.now() - 24 * 3_600_000;
    for (let n = 0; n < RUNNING_ESTIMATES_MAX; n += 1)
      await enterEstimate(bindings, organizationId, `job-${n}`, dayAgoMs);
    expect(await enterEstimate(bindings, organizationId, 'early', dayAgoMs + 1_000)).toBe(false);
    expect(await enterEstimate(bindings, organizationId, 'late', Date.now() + 1_000)).toBe(true);
    await forgetOldEstimates(bindings, Date.now() + 1_000);
    const { results } = await bindings.DB.prepare('SELECT job_id FROM running_estimates WHERE organization_id = ?')
      .bind(organizationId)
      .all();
    expect(results).toEqual([{ job_id: 'late' }]);
  });

  test('that is missing and one of another organization are the same 404', async () => {
    const { jobId } = (await start()).data;
    const other = await createTenant(operator);
    const replies = [await read('missing'), await read(crypto.randomUUID()), await read(jobId, other)];
    for (const { status, refusal } of replies)
      expect([status, refusal.code]).toEqual([404, 'COMPRESSION_JOB_NOT_FOUND']);
    expect(new Set(replies.map(({ body }) => JSON.stringify(body.error))).size).toBe(1);
  });

  test.each([
    ['from', { from: 'x' }],
    ['to', { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }],
    ['customerId', { customerId: 5 }],
    ['profile.aggressiveness', { profile: { aggressiveness: 2 } }],
    ['profile.techniques.0', { profile: { techniques: ['x'] } }],
  ])('names %s in %j', async (field, body) => {
    const { status, refusal } = await start(body);
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toContain(field);
  });
});
