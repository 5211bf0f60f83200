/**
 * Statements in a deployment's lists that its catalog lacks: the daily import reports them to operators once, the
 * shutdown dates are shown beside the models as "reported by" until a person confirms them, and nothing changes a
 * status or a price. A list that cannot be read changes nothing, and gives the reason.
 *
 * The lists have the contents of the packages of a release day on which a notice was missed.
 */
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import type { CatalogModel } from '../../src/catalog/model.ts';
import type { CatalogNews } from '../../src/catalog/news.ts';
import type { Env } from '../../src/env.ts';
import handlers from '../../src/index.ts';
import { createTenant } from '../support/api.ts';
import { beforeTheNotice, catalogWith, OPUS, PACKAGES, saidBy } from '../support/packages-of-release.ts';
import { bindings, operator, worker } from '../support/worker.ts';
import { ORIGIN, Visitor } from './console-visitor.ts';

const KEY = `anthropic/${OPUS}`;
const NOTICE = 'https://eol.example/feeds/anthropic.json?token=s3cret';
const IDS = 'https://eol.example/feeds/google.json';
const PRICES = 'https://npm.example/pi-ai/dist/providers/data/anthropic.json';
const REPORT = '2027-01-22, reported by eol.example/feeds/anthropic.json of 2026-11-23';

type Told = CatalogNews & { more: number };

const visitor = new Visitor();
/** The answer of each address. */
const answers = new Map<string, () => Response | Promise<Response>>();

/** The catalog of the day: without the notice, without a model, and with another price. */
function catalogOfTheDay(): object {
  const ofTheDay = catalogWith(
    'claude-fable-5-2',
    (model) => ({ ...model, pricing: model.pricing && { ...model.pricing, outputUsdPerMillion: 50 } }) as CatalogModel,
    catalogWith(OPUS, beforeTheNotice),
  );
  const isKept = ({ model }: { model: string }) => model !== 'gemini-4-hydrogen';
  return {
    models: ofTheDay.models.filter(isKept),
    transitions: ofTheDay.transitions.filter((one) => isKept(one) && one.model !== OPUS),
  };
}

/** A package of the day as a list of deprecations. */
async function publishedList(name: string): Promise<object> {
  const [{ provider, ids = [], ends = {} } = { provider: 'openai' }] = await saidBy(name);
  const generated = `${PACKAGES.get(name)?.date}T12:00:00.000Z`;
  const models = ids.map((id) => ({ id, ...(ends[id] && { shutdown: ends[id] }) }));
  return { spec: 'model-eol/0.1', publisher: provider, generated, models };
}

async function publish(document: object): Promise<void> {
  expect((await operator.send('publishCatalog', { body: document as never })).status).toBe(200);
}

/** The daily job, as Cloudflare runs it. */
async function runImport(urls = [NOTICE, IDS, PRICES].join(' ')): Promise<{ ok: boolean; message: string | null }> {
  const env: Env = { ...bindings, CATALOG_NEWS_URLS: urls };
  const context = createExecutionContext();
  await handlers.scheduled({ cron: '47 3 * * *', scheduledTime: Date.now(), noRetry() {} } as never, env, context);
  await waitOnExecutionContext(context);
  const { cron } = (await operator.send('readHealthHistory')).data;
  const [last] = cron.filter(({ name }) => name === 'import').toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  if (!last) throw new Error('the run is not on record');
  return { ok: last.ok, message: last.message };
}

async function listEvents(action: 'catalog.news' | 'catalog.news_failed') {
  return (await operator.send('listEvents', { query: { action, limit: '200' } })).data.items;
}

async function told(): Promise<Told[]> {
  return (await listEvents('catalog.news')).map(({ after }) => after as Told);
}

async function lookUp(query = '') {
  const response = await worker.fetch(`${ORIGIN}/v1/model-alternatives/${KEY}${query}`);
  return {
    etag: response.headers.get('ETag'),
    body: (await response.json()) as Record<string, unknown> & { warnings: string[] },
  };
}

const reportedEnds = async () => (await operator.send('readCatalog')).data.reportedEnds;

beforeAll(async () => {
  await visitor.signIn();
  await createTenant(operator);
});

beforeEach(async () => {
  answers.clear();
  const [notice, ids] = [await publishedList('@anthropic-ai/sdk'), await publishedList('@google/genai')];
  const prices = PACKAGES.get('@earendil-works/pi-ai')?.files['dist/providers/data/anthropic.json'] ?? '';
  answers.set(NOTICE, () => Response.json(notice));
  answers.set(IDS, () => Response.json(ids));
  answers.set(PRICES, () => new Response(prices));
  vi.stubGlobal('fetch', async (address: URL | string) => {
    const answer = answers.get(String(address));
    if (!answer) throw new TypeError('nobody is there');
    return answer();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('on the day of the release', () => {
  let before: Awaited<ReturnType<typeof lookUp>>;

  beforeAll(async () => {
    await publish(catalogOfTheDay());
    before = await lookUp();
  });

  test('what the lists say and the catalog does not is one event of operators, with source and date', async () => {
    expect(await runImport()).toEqual({
      ok: true,
      message: 'disabled: CATALOG_UPSTREAM_URL is not set; 4 news of 3 lists',
    });
    expect(await told()).toEqual([
      {
        ends: [
          {
            modelKey: KEY,
            shutdownAt: '2027-01-22',
            ours: null,
            reportedBy: ['eol.example/feeds/anthropic.json of 2026-11-23'],
          },
        ],
        // The second one is in lists of ids alone, and left out on purpose.
        missing: ['gemini-4-hydrogen', 'nano-banana-pro-preview'].map((name) => ({
          modelKey: `google/${name}`,
          nearest: null,
          reportedBy: ['eol.example/feeds/google.json of 2026-11-12'],
        })),
        prices: [
          {
            modelKey: 'anthropic/claude-fable-5-2',
            rate: 'output',
            usdPerMillion: 40,
            ours: 50,
            reportedBy: [
              `npm.example/pi-ai/dist/providers/data/anthropic.json, read ${new Date().toISOString().slice(0, 10)}`,
            ],
          },
        ],
        more: 0,
      },
    ]);
    const [event] = await listEvents('catalog.news');
    expect(event).toMatchObject({ actor: 'upstream import', organizationId: null, subject: 'catalog' });
    expect(JSON.stringify(event)).not.toContain('s3cret');
  });

  test('operators see it: in the log, under what needs attention, and on the page of the catalog', async () => {
    const { data } = await operator.send('readAttention');
    const item = data.items.find(({ kind }) => kind === 'CATALOG_NEWS');
    expect(item).toMatchObject({ organizationId: null, count: 1, isMore: false });
    const response = await worker.fetch(ORIGIN + item?.list, {
      headers: { Authorization: `Bearer ${bindings.OPERATOR_TOKEN}` },
    });
    expect(((await response.json()) as { data: { items: unknown[] } }).data.items).toHaveLength(1);

    const overview = await visitor.read('/console');
    const link = /<a href="(\/console\/events\?[^"]*)">1 report of what the catalog lacks/.exec(overview.html)?.[1];
    const log = await visitor.read((link ?? '').replaceAll('&amp;', '&'));
    expect(log.text).toContain(`Heard that ${KEY} ends on 22 Jan 2027, of 2 unknown models and of 1 other price`);
    const catalog = await visitor.read('/console/catalog');
    expect(catalog.text).toContain('Reported, not confirmed');
    expect(catalog.text).toContain('eol.example/feeds/anthropic.json of 2026-11-23');
    expect((await visitor.read(`/console/catalog/models/${KEY}`)).text).toContain(REPORT);
    expect(await reportedEnds()).toEqual([
      expect.objectContaining({ modelKey: KEY, shutdownAt: '2027-01-22', ours: null }),
    ]);
  });

  test('the end stands beside the model as reported, and its status stays', async () => {
    const after = await lookUp();
    const { warnings, ...rest } = after.body;
    const { warnings: warned, ...was } = before.body;
    expect(warnings).toEqual([...warned, `a shutdown on ${REPORT}, is not confirmed`]);
    expect(rest).toEqual(was);
    expect(rest.lifecycle).toMatchObject({ status: 'ACTIVE' });
    expect(rest.lifecycle).not.toHaveProperty('shutdownAt');
    // A holder of the answer without the warning gets the one with it.
    expect(after.etag).not.toBe(before.etag);
    const light = await lookUp('?response=light');
    expect(light.body).toMatchObject({ action: 'KEEP', lifecycle: { status: 'ACTIVE' } });

    const page = await (await worker.fetch(`${ORIGIN}/models/${KEY}`)).text();
    expect(page).toContain(REPORT);
    expect(page).toContain('Keep it.');
    const other = await (await worker.fetch(`${ORIGIN}/models/anthropic/claude-opus-5-5`)).text();
    expect(other).not.toContain('reported by');
  });

  test('the same news is told once, whoever says it, and by two runs at the same time', async () => {
    const now = await told();
    await runImport();
    const again = 'https://other.example/anthropic.json';
    const notice = await publishedList('@anthropic-ai/sdk');
    answers.set(again, () => Response.json(notice));
    await runImport(`${NOTICE}, ${IDS},${PRICES} ${again}`);
    expect(await told()).toEqual(now);
    expect((await reportedEnds())[0]?.reportedBy).toHaveLength(2);

    answers.set(again, () =>
      Response.json({ ...notice, models: [{ id: 'claude-haiku-5-5', shutdown: '2027-03-01' }] }),
    );
    await Promise.all([runImport(`${NOTICE} ${again}`), runImport(`${NOTICE} ${again}`)]);
    const [latest, ...others] = await told();
    expect(others).toEqual(now);
    expect(latest?.ends.map(({ modelKey, shutdownAt }) => [modelKey, shutdownAt])).toEqual([
      ['anthropic/claude-haiku-5-5', '2027-03-01'],
    ]);
  });

  test.each<[string, () => Response | Promise<Response>, string]>([
    ['is not there', () => new Response('not found', { status: 404 }), 'it answered 404'],
    ['is no JSON', () => new Response('<html>'), 'it is not JSON'],
    ['has another form', () => Response.json({ models: { 'gpt-7': 1 } }), 'it has none of the forms that are read'],
    ['is too large', () => new Response(`"${'a'.repeat(12 * 1024 * 1024)}"`), 'it has more than 10485760 bytes'],
    ['has too many values', () => new Response(`[${'0,'.repeat(600_000)}0]`), 'it has more than 500000 JSON values'],
    ['cannot be reached', () => Promise.reject(new TypeError('no such host')), 'it cannot be reached'],
  ])('a list that %s changes nothing, and is told', async (_name, answer, why) => {
    await runImport();
    const [news, ends, failures] = [await told(), await reportedEnds(), await listEvents('catalog.news_failed')];
    answers.set(NOTICE, answer);
    const run = await runImport();
    expect([run.ok, run.message]).toEqual([false, expect.stringContaining(why)]);
    const [failure, ...others] = await listEvents('catalog.news_failed');
    expect(others).toEqual(failures);
    const { lists, reason } = (failure?.after ?? {}) as { lists: { list: string; why: string }[]; reason: string };
    expect(lists).toEqual([{ list: 'eol.example/feeds/anthropic.json', why: expect.stringContaining(why) }]);
    expect(reason).toBe(`${lists[0]?.list}: ${lists[0]?.why}`);
    expect(lists[0]?.why).toMatch(/^it /);
    expect([await told(), await reportedEnds()]).toEqual([news, ends]);
  });

  test('lists whose addresses differ by their query alone are two, of which each keeps what it said', async () => {
    const other = NOTICE.replace('token=s3cret', 'of=others');
    answers.set(other, () => new Response('', { status: 500 }));
    await runImport();
    const ends = await reportedEnds();
    answers.set(NOTICE, () => new Response('', { status: 500 }));
    answers.set(other, () =>
      Response.json({ spec: 'model-eol/0.1', publisher: 'anthropic', models: [{ id: 'claude-opus-5' }] }),
    );
    expect((await runImport(`${NOTICE} ${other}`)).ok).toBe(false);
    expect(await reportedEnds()).toEqual(ends);
  });

  test('a list that does not answer is given up', async () => {
    const timeouts: number[] = [];
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((afterMs) => {
      timeouts.push(afterMs);
      return timeout(50);
    });
    vi.stubGlobal(
      'fetch',
      (_address: URL, { signal }: RequestInit) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    );
    expect(await runImport(NOTICE)).toMatchObject({ ok: false, message: expect.stringContaining('within 30 seconds') });
    expect(timeouts).toEqual([30_000]);
  });

  test('only https addresses are read, and of too many the first ten', async () => {
    const asked: string[] = [];
    vi.stubGlobal('fetch', async (address: URL) => {
      asked.push(address.href);
      return new Response('', { status: 404 });
    });
    const many = Array.from({ length: 10 }, (_, n) => `https://lists.example/${n}.json`);
    const { message } = await runImport(
      ['http://lists.example/a.json', 'https://me:pw@lists.example/b.json', ...many].join('\n'),
    );
    expect(asked).toEqual(many.slice(0, 8));
    expect(message).toContain('address 1: it must be an https address without a user; address 2: it must be');
    expect(message).toContain('CATALOG_NEWS_URLS: it names 12 lists, and 10 are read');
    expect(message).not.toContain('pw');
  });

  test('more than an event has room for is told by the next days', async () => {
    const now = await told();
    const many = Array.from({ length: 150 }, (_, n) => ({ id: `claude-quartz-${n}` }));
    answers.set(NOTICE, () => Response.json({ spec: 'model-eol/0.1', publisher: 'anthropic', models: many }));
    for (let day = 0; day < 3; day += 1) await runImport(NOTICE);
    const latest = (await told()).slice(0, -now.length);
    expect(latest.map(({ missing, more }) => [missing.length, more])).toEqual([
      [50, 0],
      [100, 50],
    ]);
    expect(new Set(latest.flatMap(({ missing }) => missing.map(({ modelKey }) => modelKey))).size).toBe(150);
  });

  test('what is published ends the report at once', async () => {
    await runImport();
    expect(await reportedEnds()).toHaveLength(1);
    await publish({ models: BUILT_IN_CATALOG.models, transitions: BUILT_IN_CATALOG.transitions });
    expect(await reportedEnds()).toEqual([]);
    const { body } = await lookUp();
    expect(body.lifecycle).toMatchObject({ status: 'DEPRECATED', shutdownAt: '2027-01-22' });
    expect(body.warnings.join()).not.toContain('reported by');
    expect((await operator.send('readCatalog')).data.models).toBe(BUILT_IN_CATALOG.models.length);
  });

  test('a list that is no longer named reports nothing any more', async () => {
    await publish(catalogOfTheDay());
    await runImport();
    expect((await reportedEnds()).map(({ modelKey }) => modelKey)).toEqual([KEY]);
    await runImport('');
    expect(await reportedEnds()).toEqual([]);
  });
});
