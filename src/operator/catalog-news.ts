/**
 * The news in the price and deprecation lists of `CATALOG_NEWS_URLS` that the catalog lacks. Operators are told once,
 * by an event; the shutdown dates that lists name are stored for requests for the model. Neither changes the catalog.
 *
 * The event log remembers which news were reported. A list that cannot be read changes nothing: its earlier statements
 * stay.
 */
import { listLabel, readList } from '../catalog/lists.ts';
import { type CatalogNews, catalogNews, countNews, type SourceFacts, untoldNews } from '../catalog/news.ts';
import { currentCatalog, type ReportingList, readReportingLists, storeReportingLists } from '../config/catalog.ts';
import { findEvents } from '../config/events.ts';
import type { Env } from '../env.ts';
import type { CronOutcome } from '../objects/service-figures.ts';
import { sha256Hex } from '../platform/hash.ts';
import { log } from '../platform/log.ts';
import { utcDay } from '../platform/time.ts';
import { downloadJson } from './download.ts';
import { IMPORT_SUBJECT, importRequest, leaveEvent } from './import-events.ts';

/** The most lists of one run. */
const LISTS_MAX = 10;
/** The most items of one event; the next day reports more. */
const ITEMS_TOLD_MAX = 100;
/** The most shutdown dates that are kept of one list and provider. */
const ENDS_KEPT_MAX = 500;
/** The newest events, whose items are not reported again. */
const TOLD_EVENTS_MAX = 100;

interface NotRead {
  list: string;
  why: string;
}

/** Returns the outcome. It throws only if the event log or the catalog's store cannot be read or written. */
export async function hearNews(env: Env, nowMs: number, defer: (work: Promise<unknown>) => void): Promise<CronOutcome> {
  const { addresses, notRead } = parseAddresses(env.CATALOG_NEWS_URLS);
  const named = new Set(addresses.map(({ href }) => href));
  const earlier = await readReportingLists(env);
  if (addresses.length + notRead.length + earlier.length === 0) return { ok: true, message: null };
  const lists: ReportingList[] = [];
  // One at a time: each list may take much of the isolate's memory.
  for (const address of addresses) {
    const list = await readFrom(address, nowMs);
    if ('why' in list) notRead.push(list);
    else lists.push(list);
  }
  const { catalog } = await currentCatalog(env, defer);
  const news = catalogNews(
    catalog,
    lists.flatMap(({ facts }) => facts),
  );
  const told = await tellNews(env, news, nowMs);
  const read = new Set(lists.map(({ address }) => address));
  await storeReportingLists(env, [
    ...lists.map((list) => newEnds(list, news)).filter(({ facts }) => facts.length > 0),
    ...earlier.filter(({ address }) => named.has(address) && !read.has(address)),
  ]);
  const found = lists.length === 0 ? [] : [`${told} news of ${lists.length} lists`];
  if (notRead.length === 0) return { ok: true, message: found.join('') || null };
  const reason = notRead.map(({ list, why }) => `${list}: ${why}`).join('; ');
  await leaveEvent(importRequest(env, 'hearNews', nowMs), 'catalog.news_failed', { reason, lists: notRead });
  return { ok: false, message: [...found, reason].join('; ') };
}

/** `named` separates addresses by spaces or commas. */
function parseAddresses(named = ''): { addresses: URL[]; notRead: NotRead[] } {
  const texts = [...new Set(named.split(/[\s,]+/).filter(Boolean))];
  const addresses: URL[] = [];
  const notRead: NotRead[] = [];
  for (const [place, text] of texts.slice(0, LISTS_MAX).entries()) {
    const url = URL.parse(text);
    if (url?.protocol === 'https:' && url.username === '' && url.password === '') addresses.push(url);
    else notRead.push({ list: `address ${place + 1}`, why: 'it must be an https address without a user' });
  }
  if (texts.length > LISTS_MAX)
    notRead.push({ list: 'CATALOG_NEWS_URLS', why: `it names ${texts.length} lists, and ${LISTS_MAX} are read` });
  return { addresses, notRead };
}

async function readFrom(address: URL, nowMs: number): Promise<ReportingList | NotRead> {
  const list = listLabel(address);
  const downloaded = await downloadJson(address);
  if (!downloaded.ok) return { list, why: downloaded.why };
  try {
    const day = utcDay(nowMs);
    return { address: address.href, facts: readList(downloaded.value, { address, day }) };
  } catch (error) {
    log('warn', 'list_not_read', { list }, error);
    return { list, why: error instanceof Error ? error.message : String(error) };
  }
}

/** Reports the new items, and returns their number. */
async function tellNews(env: Env, news: CatalogNews, nowMs: number): Promise<number> {
  const earlier = await findEvents(
    env,
    { actions: ['catalog.news'], subject: IMPORT_SUBJECT },
    'newest',
    TOLD_EVENTS_MAX,
  );
  const untold = untoldNews(
    news,
    earlier.map(({ after }) => after as CatalogNews),
    ITEMS_TOLD_MAX,
  );
  if (countNews(untold) === 0) return 0;
  // Two runs at the same time report the same items, once.
  const key = await sha256Hex(JSON.stringify(untold));
  await leaveEvent(importRequest(env, 'hearNews', nowMs, key), 'catalog.news', untold);
  return countNews(untold);
}

/** The stored part of a list: the shutdown dates that are news, by the catalog's models. */
function newEnds({ address, facts }: ReportingList, { ends }: CatalogNews): ReportingList {
  const kept = facts.map(({ source, date, provider }): SourceFacts => {
    const own = ends.filter(
      ({ modelKey, reportedBy }) => modelKey.startsWith(`${provider}/`) && reportedBy.includes(source),
    );
    const byModel = own
      .slice(0, ENDS_KEPT_MAX)
      .map(({ modelKey, shutdownAt }) => [modelKey.slice(provider.length + 1), shutdownAt]);
    return { source, date, provider, ids: [], ends: Object.fromEntries(byModel), prices: {} };
  });
  return { address, facts: kept.filter((fact) => Object.keys(fact.ends).length > 0) };
}
