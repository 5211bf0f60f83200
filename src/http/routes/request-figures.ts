/**
 * Counts the requests that this isolate answers, and the time of each until its answer began. It sends the sums to the
 * object that stores them, at most every few seconds, beside a request. Sums that an isolate holds when it ends are
 * lost.
 */
import type { MiddlewareHandler } from 'hono';
import type { RequestKind } from '../../contract/health-history.ts';
import { type RequestFigures, recordRequests } from '../../operator/service-figures.ts';
import { remember } from '../../platform/isolate-memory.ts';
import { countLatency, noLatencies } from '../../platform/latency.ts';
import { log } from '../../platform/log.ts';
import { HOUR_MS } from '../../platform/time.ts';
import { type AppEnv, deferrer } from '../middleware/context.ts';

const SEND_MS = 10_000;

/** The kinds of at most two hours: they are sent before a third hour begins. */
const held = remember(() => new Map<string, RequestFigures>());
const sentMs = remember(() => 0);

export const requestFigures: MiddlewareHandler<AppEnv> = async (c, next) => {
  const startedMs = Date.now();
  await next();
  const nowMs = Date.now();
  const kind = requestKind(c.req.path);
  if (kind !== null && isServed(c.res.status)) count(kind, c.res.status, { startedMs, nowMs });
  if (held.value.size === 0 || nowMs - sentMs.value < SEND_MS) return;
  const figures = [...held.value.values()];
  held.value = new Map();
  sentMs.value = nowMs;
  deferrer(c)(
    recordRequests(c.env, figures).catch((error: unknown) => log('warn', 'request_figures_not_recorded', {}, error)),
  );
};

/** `null` for pages, and for operators' requests. */
function requestKind(path: string): RequestKind | null {
  if (path === '/call_begin') return 'begin';
  if (path === '/call_end') return 'end';
  if (/^\/(console|operator|embed|docs)(\/|$)/.test(path)) return null;
  return /^\/(v1(beta)?|call)(\/|$)/.test(path) ? 'gateway' : 'other';
}

/** Requests of strangers and for missing objects tell nothing about the service. */
function isServed(status: number): boolean {
  return status !== 401 && status !== 404 && status !== 405;
}

function count(kind: RequestKind, status: number, { startedMs, nowMs }: { startedMs: number; nowMs: number }): void {
  const hourMs = nowMs - (nowMs % HOUR_MS);
  const key = `${hourMs} ${kind}`;
  const figures = held.value.get(key) ?? { hourMs, kind, requests: 0, serverErrors: 0, latencies: noLatencies() };
  figures.requests += 1;
  if (status >= 500) figures.serverErrors += 1;
  countLatency(figures.latencies, nowMs - startedMs);
  held.value.set(key, figures);
}
