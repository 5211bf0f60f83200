/**
 * The public lookup recommends a replacement that an operator reviewed if the provider names nothing, as soon as the
 * change is acknowledged; an invalid review is refused and changes nothing.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { formatCitation } from '../../src/catalog/reviews.ts';
import { currentReviews } from '../../src/config/reviews.ts';
import { FullResolution, LightResolution, LOOKUP_PATH } from '../../src/contract/model-lookup.ts';
import { forgetAll } from '../../src/platform/isolate-memory.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const MODEL = 'openai/gpt-5.1-2025-11-13';
const REVIEW = { replacementModelKey: 'anthropic/claude-sonnet-5-5', reason: 'Passed our evaluation of October.' };

const get = async (path: string, init: RequestInit = {}) =>
  (await worker.fetch(`https://callmeter.test${LOOKUP_PATH}/${path}`, init as never)) as unknown as Response;
const full = async (path: string) => FullResolution.parse(await (await get(path)).json());
const put = (modelKey: string, body: object = REVIEW) =>
  operator.send('putReview', { params: { modelKey }, body: body as typeof REVIEW });
const remove = (modelKey: string) => operator.send('deleteReview', { params: { modelKey } });

afterEach(async () => {
  for (const { modelKey } of (await operator.send('listReviews')).data.items) await remove(modelKey);
});

describe('a review', () => {
  test('is recommended and cited from its acknowledgement on, and no longer once it is taken back', async () => {
    const before = await get('openai/gpt-5.1');
    expect(FullResolution.parse(await before.json())).toMatchObject({ recommendationSource: 'computed' });
    const { data } = await put('openai/gpt-5.1');
    expect(data).toEqual({ modelKey: MODEL, ...REVIEW, reviewedAt: expect.any(String) });
    const cited = formatCitation({ ...data, reviewedAtMs: Date.parse(data.reviewedAt) });
    expect(cited).toBe(`reviewed by an operator on ${data.reviewedAt.slice(0, 10)}: ${REVIEW.reason}`);
    const answer = await full('openai/gpt-5.1');
    expect(answer).toMatchObject({
      action: 'REPLACE',
      recommendedModelKey: REVIEW.replacementModelKey,
      recommendationSource: 'admin_review',
      generatedAt: data.reviewedAt,
      automation: { autoApplyRecommended: false },
    });
    expect(answer.warnings).toContain(`${REVIEW.replacementModelKey}: ${cited}`);
    expect(answer.alternatives[0]).toMatchObject({
      modelKey: REVIEW.replacementModelKey,
      confidence: 'reviewed',
      relation: 'similar_price_and_strength',
      rationale: cited,
      requiresEvaluation: false,
    });
    expect(answer.alternatives.filter(({ modelKey }) => modelKey === REVIEW.replacementModelKey)).toHaveLength(1);
    expect(answer.alternatives.length).toBeLessThanOrEqual(10);
    const light = LightResolution.parse(await (await get('openai/gpt-5.1?response=light')).json());
    expect(light).toMatchObject({
      recommendationSource: 'admin_review',
      recommendedModelKey: REVIEW.replacementModelKey,
    });

    const tag = before.headers.get('etag') ?? '';
    expect((await get('openai/gpt-5.1', { headers: { 'If-None-Match': tag } })).status).toBe(200);
    expect((await remove('openai/gpt-5.1')).data).toEqual({ modelKey: MODEL });
    expect(await full('openai/gpt-5.1')).toMatchObject({ recommendationSource: 'computed' });
    expect((await get('openai/gpt-5.1', { headers: { 'If-None-Match': tag } })).status).toBe(304);
  });

  test('is in the event log with what it replaces, and is read and listed', async () => {
    await put(MODEL);
    await put(MODEL, { replacementModelKey: 'openai/gpt-6.1-sol', reason: 'Cheaper.' });
    await put('gpt-5.4-nano', { replacementModelKey: 'openai/gpt-6-luna', reason: 'The line goes on.' });
    const { items } = (await operator.send('listEvents', { query: { limit: '2' } })).data;
    expect(items[1]).toMatchObject({
      action: 'review.put',
      subject: MODEL,
      before: REVIEW,
      after: { replacementModelKey: 'openai/gpt-6.1-sol' },
    });
    expect((await operator.send('readReview', { params: { modelKey: 'openai/gpt-5.1' } })).data).toMatchObject({
      modelKey: MODEL,
      reason: 'Cheaper.',
    });
    const first = (await operator.send('listReviews', { query: { limit: '1' } })).data;
    const second = (await operator.send('listReviews', { query: { limit: '1', cursor: first.nextCursor ?? '' } })).data;
    expect([first, second].map((page) => page.items.map(({ modelKey }) => modelKey))).toEqual([
      [MODEL],
      ['openai/gpt-5.4-nano-2026-03-17'],
    ]);
    expect(second.nextCursor).toBeNull();
  });

  test("is behind the provider's live word, and is listed for a model that is kept", async () => {
    await put('openai/gpt-4o', { replacementModelKey: 'openai/gpt-6.1-sol', reason: 'Stronger.' });
    const deprecated = await full('openai/gpt-4o');
    expect(deprecated).toMatchObject({ recommendationSource: 'provider', recommendedModelKey: 'openai/gpt-6-luna' });
    expect(deprecated.equivalents.map(({ confidence }) => confidence).slice(0, 3)).toEqual([
      'authoritative',
      'reviewed',
      'candidate',
    ]);
    // If the caller does not allow the provider's replacement, the review is next.
    expect(await full('openai/gpt-4o?allowedModelKeys=gpt-6.1-sol,gpt-6-sol')).toMatchObject({
      recommendationSource: 'admin_review',
      recommendedModelKey: 'openai/gpt-6.1-sol',
    });
    await put('anthropic/claude-opus-5', { replacementModelKey: 'anthropic/claude-opus-5-5', reason: 'Newer.' });
    const active = await full('anthropic/claude-opus-5');
    expect(active).toMatchObject({ action: 'KEEP', recommendationSource: 'none' });
    expect(active.equivalents[0]).toMatchObject({ modelKey: 'anthropic/claude-opus-5-5', confidence: 'reviewed' });
  });

  test("does not overrule the caller's lists, and says which of the caller's limits it misses", async () => {
    await put(MODEL, { replacementModelKey: 'anthropic/claude-opus-5-5', reason: 'Stronger.' });
    const own = await full('openai/gpt-5.1?allowedProviders=openai');
    expect(own).toMatchObject({
      recommendationSource: 'computed',
      recommendedModelKey: expect.stringMatching(/^openai/),
    });
    expect(own.warnings?.join()).toMatch(/claude-opus-5-5, which an operator reviewed, is not among the allowed/);
    const dear = await full('openai/gpt-5.1');
    expect(dear).toMatchObject({ recommendedModelKey: 'anthropic/claude-opus-5-5' });
    expect(dear.warnings?.join()).toMatch(/reviewed replacement anthropic\/claude-opus-5-5: price: \+/);
  });

  test('of a replacement that has left says nothing', async () => {
    await put(MODEL);
    await bindings.DB.prepare(`UPDATE catalog_reviews SET replacement_model_key = 'openai/gpt-4-0314'`).run();
    await scheduler.wait(Number(bindings.CONFIG_TTL_MS));
    const answer = await full('openai/gpt-5.1');
    expect(answer).toMatchObject({ recommendationSource: 'computed' });
    expect(answer.warnings).toContain('the reviewed replacement openai/gpt-4-0314 is retired or not in the catalog');
  });
});

describe('a review is refused, and changes nothing,', () => {
  test.each<[string, string, object, number, string]>([
    ['of a model that is not there', 'openai/gpt-99', REVIEW, 404, 'modelKey: openai/gpt-99 is not in the catalog'],
    ...([
      ['that names a model that is not there', 'openai/gpt-99', 'is not in the catalog'],
      ['that names the model itself', 'gpt-5.1', 'must not be the model itself'],
      ['that names a retired model', 'gpt-4-0314', 'must not be retired; openai/gpt-4-0314 is'],
    ].map(([name = '', replacementModelKey = '', rule = '']) => [
      name,
      MODEL,
      { ...REVIEW, replacementModelKey },
      400,
      `replacementModelKey: ${rule}`,
    ]) as [string, string, object, number, string][]),
    ['without a reason', MODEL, { ...REVIEW, reason: ' ' }, 400, 'reason: must not be blank'],
    ['with a reason of 501 characters', MODEL, { ...REVIEW, reason: 'x'.repeat(501) }, 400, 'reason: '],
    ['with another field', MODEL, { ...REVIEW, by: 'me' }, 400, 'by'],
  ])('%s', async (_name, modelKey, body, status, message) => {
    const reply = await put(modelKey, body);
    expect([reply.status, reply.refusal.message]).toEqual([status, expect.stringContaining(message)]);
    expect((await operator.send('listReviews')).data.items).toEqual([]);
  });

  test('above 200, while one of them may still be changed', async () => {
    await bindings.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
       INSERT INTO catalog_reviews SELECT 'openai/x' || i, 'openai/y', 'z', 0 FROM n`,
    ).run();
    expect((await put(MODEL)).status).toBe(200);
    expect((await put('openai/gpt-5.2')).refusal).toMatchObject({
      code: 'CONFLICT',
      message: 'there are at most 200 reviews',
    });
    expect((await put(MODEL, { ...REVIEW, reason: 'Again.' })).data.reason).toBe('Again.');
    await bindings.DB.prepare('DELETE FROM catalog_reviews').run();
  });

  test('where none is to be read or taken back', async () => {
    for (const id of ['readReview', 'deleteReview'] as const) {
      const reply = await operator.send(id, { params: { modelKey: MODEL } });
      expect([reply.status, reply.refusal.code]).toEqual([404, 'NOT_FOUND']);
    }
  });
});

test('while D1 is away the lookup goes on without reviews, and says so once D1 has not answered', async () => {
  forgetAll();
  let asked = 0;
  const prepare = () => {
    asked += 1;
    throw new Error('D1 is away');
  };
  const away = { ...bindings, DB: { prepare } as unknown as D1Database };
  const problem = "the operators' reviews could not be read";
  expect(await currentReviews(away, () => undefined)).toEqual({ reviews: new Map(), problem });
  // It is not asked again for every lookup.
  expect(await currentReviews(away, () => undefined)).toMatchObject({ problem });
  expect(asked).toBe(1);
});
