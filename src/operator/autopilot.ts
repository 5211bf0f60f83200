/**
 * The autopilot of model mappings: replaces models before their providers shut them down if the entry's policy allows
 * it, and reverts a switch.
 *
 * A switch is a change like an operator's, in the same log, and its event is made from that log: if a run stopped
 * between the two, the next one makes the event. A repeated run switches nothing twice, and gives the same event the
 * same key.
 */

import { resolvePrice } from '../catalog/prices.ts';
import { currentCatalog } from '../config/catalog.ts';
import { loadOrganization, type OrganizationConfig } from '../config/credentials.ts';
import { findEvents } from '../config/events.ts';
import { findOrganizationRow, replaceMappings } from '../config/organizations.ts';
import { currentReviews } from '../config/reviews.ts';
import { refuse } from '../contract/errors.ts';
import type { SwitchedData, SwitchRefusedData } from '../contract/event-data.ts';
import { operations } from '../contract/operations.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { type AutopilotEntry, entriesByMapping, type MappingEntry, withEntry } from '../domain/model-mappings.ts';
import type { RateCard } from '../domain/price.ts';
import { promptThresholds } from '../domain/traffic-cost.ts';
import type { Env } from '../env.ts';
import { findOrganizationEvents, type NewOrganizationEvent } from '../history/organization-events.ts';
import { eventIdsFrom, newEventId } from '../platform/event-id.ts';
import { DAY_MS } from '../platform/time.ts';
import {
  type DueSwitch,
  decideSwitch,
  dueSwitch,
  findSuccessor,
  type Successor,
  type SwitchDecision,
  type SwitchFacts,
} from '../readings/radar/autopilot.ts';
import type { RadarView } from '../readings/radar/models.ts';
import { readTrafficOfModel } from '../readings/radar/read-radar.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { savedModels } from './model-mappings.ts';
import { change } from './operation.ts';

/** The actor in the event log. */
const ACTOR = 'autopilot';
const SWITCH_ACTION = 'models.switch';
/** For this many days a switch is reported again, in case the result of its run was not recorded. */
const TOLD_DAYS = 7;
/** The most switches and refusals that are reported. */
const TOLD_MAX = 200;
/** The most switches of one run; the next run makes the others. */
const SWITCHES_MAX = 20;

/** An event with its identifying key: only one of several events with the same key is recorded. */
export type AutopilotEvent = Omit<NewOrganizationEvent, 'type' | 'data'> & { key: string } & (
    | { type: 'model.switched'; data: SwitchedData }
    | { type: 'model.switch_refused'; data: SwitchRefusedData }
  );

export interface AutopilotRun {
  env: Env;
  organizationId: OrganizationId;
  nowMs: number;
  /** Keeps a background read alive. */
  defer: (work: Promise<unknown>) => void;
}

/** Makes the due switches of an organization, and returns the events to report. */
export async function runAutopilot(run: AutopilotRun): Promise<AutopilotEvent[]> {
  const { env, organizationId, nowMs, defer } = run;
  const mappings = (await findOrganizationRow(env, organizationId))?.models;
  if (!mappings) return [];
  const [inUse, reviews] = await Promise.all([currentCatalog(env, defer), currentReviews(env, defer)]);
  const view = { catalog: inUse.catalog, reviews: reviews.reviews, nowMs };
  const due = entriesByMapping(mappings).flatMap(([mapping, entries]) =>
    entries.flatMap((entry) => (typeof entry === 'string' ? [] : (dueSwitch(view, mapping, entry) ?? []))),
  );
  // As in the lookup, nothing is applied while the service is degraded.
  const isCertain = inUse.problem === null && reviews.problem === null;
  const refused = isCertain && due.length > 0 ? await makeSwitches(run, view, due) : [];
  return [...(await switchesToTell(run)), ...(await refusalsToTell(run, refused))];
}

/** Returns the refused switches. */
async function makeSwitches(
  run: AutopilotRun,
  view: Omit<RadarView, 'horizonDays'>,
  due: readonly DueSwitch[],
): Promise<SwitchRefusedData[]> {
  const organization = await loadOrganization(run.env, run.organizationId);
  if (!organization) return [];
  const refused: SwitchRefusedData[] = [];
  const facts = new Map<string, SwitchFacts>();
  let switches = 0;
  for (const one of due) {
    if (switches === SWITCHES_MAX) break;
    const successor = findSuccessor(view, one);
    // The calls of a model that stands in several places are summed once.
    const pair = `${one.entry.model} ${successor.modelKey}`;
    const known = facts.get(pair) ?? (await switchFacts(run.env, view, organization, one, successor));
    facts.set(pair, known);
    const decision = decideSwitch(view, one, successor, known);
    if (decision.to === null) {
      refused.push(decision.refused);
      continue;
    }
    await commitSwitch(run, one, decision);
    switches += 1;
  }
  return refused;
}

async function switchFacts(
  env: Env,
  view: Omit<RadarView, 'horizonDays'>,
  organization: OrganizationConfig,
  { entry, model }: DueSwitch,
  successor: Successor,
): Promise<SwitchFacts> {
  const vendors = new Set(organization.vendors.keys());
  const ratesFor = async (modelUsed: string): Promise<RateCard | null> => {
    const price = await resolvePrice(view.catalog, organization.prices, { modelUsed }, view.nowMs);
    return price.available ? price.card : null;
  };
  if (successor.modelKey === null) return { vendors, prices: { from: null, to: null }, traffic: [] };
  const [from, to] = await Promise.all([ratesFor(entry.model), ratesFor(successor.modelKey)]);
  const thresholds = [...new Set([from, to].flatMap((card) => (card ? promptThresholds(card) : [])))];
  const traffic = await readTrafficOfModel(env, organization, view, model, thresholds);
  return { vendors, prices: { from, to }, traffic };
}

/** Replaces the entry, unless an operator changed it meanwhile. */
async function commitSwitch(
  { env, organizationId, nowMs }: AutopilotRun,
  { mapping, entry }: DueSwitch,
  { to, switched }: Extract<SwitchDecision, { to: string }>,
): Promise<void> {
  const request: OperatorRequest = {
    ...{ env, actor: ACTOR, correlationId: crypto.randomUUID(), idempotencyKey: null },
    ...{ operationId: 'switchModel', input: null },
  };
  const after: AutopilotEntry = {
    ...entry,
    model: to,
    switchedFrom: entry.model,
    switchedAt: new Date(nowMs).toISOString(),
  };
  await commitChange<null, string, 'CONFLICT'>(request, async () => {
    const found = await findEntry(env, organizationId, mapping, (other) => isSame(other, entry));
    if (!found) return refuse('CONFLICT', 'the mapping was changed meanwhile');
    return {
      action: SWITCH_ACTION,
      organizationId,
      subject: organizationId,
      before: { mapping, entry },
      after: { mapping, entry: after, switched },
      statements: [
        replaceMappings(env, organizationId, found.mappings, withEntry(found.mappings, mapping, found.entry, after)),
      ],
      replaces: true,
      code: 'MODELS_SAVED',
      data: null,
    };
  });
}

/** Restores the model that the autopilot replaced, without its autopilot. */
export const switchModelBack = change(operations.switchModelBack, {
  action: 'models.switch_back',
  subject: ({ params }) => params.org,
  decide: async ({ body: { mapping, model }, nowMs, ...request }) => {
    const { env, organization } = request;
    const { organizationId } = organization;
    const wasSwitched = (entry: MappingEntry) =>
      typeof entry !== 'string' && entry.model === model && entry.switchedFrom !== undefined;
    const found = await findEntry(env, organizationId, mapping, wasSwitched);
    if (!found || typeof found.entry === 'string' || found.entry.switchedFrom === undefined) {
      const message = `model: the autopilot did not set ${JSON.stringify(model)} in the mapping ${JSON.stringify(mapping)}`;
      return refuse('NOT_FOUND', message);
    }
    const after = found.entry.switchedFrom;
    const mappings = withEntry(found.mappings, mapping, found.entry, after);
    return {
      before: { mapping, entry: found.entry },
      after: { mapping, entry: after },
      statements: [replaceMappings(env, organizationId, found.mappings, mappings)],
      replaces: true,
      data: await savedModels(request, mappings, nowMs),
    };
  },
});

async function findEntry(
  env: Env,
  organizationId: OrganizationId,
  mapping: string,
  isMeant: (entry: MappingEntry) => boolean,
) {
  const mappings = (await findOrganizationRow(env, organizationId))?.models;
  if (!mappings) return null;
  const [, entries = []] = entriesByMapping(mappings).find(([name]) => name === mapping) ?? [];
  const entry = entries.find(isMeant);
  return entry === undefined ? null : { mappings, entry };
}

const isSame = (one: MappingEntry, other: MappingEntry) => JSON.stringify(one) === JSON.stringify(other);

/** The switches of the last days. The event has the log's id of the change. */
async function switchesToTell({ env, organizationId, nowMs }: AutopilotRun): Promise<AutopilotEvent[]> {
  const fromId = eventIdsFrom(nowMs - TOLD_DAYS * DAY_MS);
  const rows = await findEvents(env, { organizationId, actions: [SWITCH_ACTION], fromId }, 'newest', TOLD_MAX);
  return rows.map(({ eventId, atMs, after }) => {
    const { switched } = after as { switched: SwitchedData };
    return { key: eventId, eventId, type: 'model.switched', atMs, customerId: null, data: switched };
  });
}

/** The refusals that were not reported before, by model and reasons. */
async function refusalsToTell(
  { env, organizationId, nowMs }: AutopilotRun,
  refused: readonly SwitchRefusedData[],
): Promise<AutopilotEvent[]> {
  if (refused.length === 0) return [];
  const type = 'model.switch_refused';
  const { items } = await findOrganizationEvents(env, organizationId, { type }, { limit: TOLD_MAX, after: null });
  const told = new Set(items.map(({ data }) => keyOfRefusal(data as SwitchRefusedData)));
  return refused.flatMap((data): AutopilotEvent[] => {
    const key = keyOfRefusal(data);
    return told.has(key) ? [] : [{ key, eventId: newEventId(nowMs), type, atMs: nowMs, customerId: null, data }];
  });
}

/** The key leaves out the figures, which change with the traffic. */
function keyOfRefusal({ mapping, model, reasons }: SwitchRefusedData): string {
  return ['switch_refused', mapping, model, ...reasons.map(({ code }) => code).sort()].join(' ');
}
