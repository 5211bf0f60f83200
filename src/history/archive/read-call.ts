/**
 * Finds a call in the archive. A call's id contains its approximate begin (`beginOfCall`), the manifest of that day
 * names the members with calls of that time, and each of them is read alone.
 */

import type { Call } from '../../domain/call.ts';
import type { CallId, OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import { type BeginOfCall, beginOfCall } from '../../objects/addresses.ts';
import { DAY_MS } from '../../platform/time.ts';
import { findErasedAt, type HistoryDay } from './days.ts';
import { type Manifest, readManifest, readMember } from './manifest.ts';
import { parseRow, unpackLines } from './members.ts';

/** The most members that one search reads. Nearly every call is in the first, or in the one after it. */
const MEMBERS_MAX = 24;
/** A day that is rewritten meanwhile is searched again. */
const ATTEMPTS_MAX = 2;

interface Search {
  callId: CallId;
  begin: BeginOfCall;
  /** The number that may still be read. */
  members: number;
}

/** `null` if the archive does not have it, if it belongs to an erased customer, or if there is no archive. */
export async function findArchivedCall(env: Env, organizationId: OrganizationId, callId: CallId): Promise<Call | null> {
  if (!env.ARCHIVE) return null;
  const begin = await beginOfCall(env, organizationId, callId);
  if (!begin) return null;
  const search: Search = { callId, begin, members: MEMBERS_MAX };
  const firstMs = Math.floor(begin.fromMs / DAY_MS) * DAY_MS;
  for (let dayMs = firstMs; dayMs <= begin.toMs && search.members > 0; dayMs += DAY_MS) {
    const call = await findOnDay(env, { organizationId, dayMs }, search);
    if (!call) continue;
    const erasedAtMs = await findErasedAt(env, { organizationId, customerId: call.customerId });
    return erasedAtMs !== null && call.startedAtMs < erasedAtMs ? null : call;
  }
  return null;
}

async function findOnDay(env: Env, day: HistoryDay, search: Search): Promise<Call | null> {
  for (let attempt = 1; ; attempt += 1) {
    const manifest = await readManifest(env, day);
    if (!manifest) return null;
    try {
      return await findIn(env, day, manifest, search);
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}

async function findIn(env: Env, day: HistoryDay, manifest: Manifest, search: Search): Promise<Call | null> {
  const { callId, begin } = search;
  const name = `"id":${JSON.stringify(callId)},`;
  for (const index of likelyMembers(manifest, begin)) {
    if (search.members <= 0) return null;
    search.members -= 1;
    for (const line of await unpackLines(await readMember(env, day, manifest, index))) {
      if (!line.includes(name)) continue;
      const row = parseRow(line);
      if (row.id === callId) return JSON.parse(row.record) as Call;
    }
  }
  return null;
}

/** The members that may have a call with this begin, the likeliest first. */
function likelyMembers({ members }: Manifest, { fromMs, aboutMs, toMs }: BeginOfCall): number[] {
  const found: { index: number; distanceMs: number }[] = [];
  for (const [index, { kind, fromMs: firstMs }] of members.entries()) {
    if (kind !== 'call') break;
    const next = members[index + 1];
    const lastMs = next?.kind === 'call' ? next.fromMs : Number.POSITIVE_INFINITY;
    if (lastMs < fromMs || firstMs > toMs) continue;
    found.push({ index, distanceMs: Math.max(0, firstMs - aboutMs, aboutMs - lastMs) });
  }
  return found.sort((a, b) => a.distanceMs - b.distanceMs || a.index - b.index).map(({ index }) => index);
}
