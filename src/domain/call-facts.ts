/**
 * The facts that the end of a call states besides its usage: each travels from the request to the answers unchanged.
 *
 * A new one is a line in `Facts` and in `FACTS`, a schema in `contract/call-facts.ts`, and, if it is listed, a column
 * in `history/schema/calls.ts`. All other code takes them by the names of `FACTS`.
 */

export interface Facts {
  providerUsed?: string | undefined;
  modelUsed?: string | undefined;
  reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  reasoningEffortSource?: 'provider_response' | 'provider_request' | 'gateway_config' | 'model_default' | undefined;
  reasoningMode?: string | undefined;
  reasoningBudgetTokens?: number | undefined;
  /** The requested service tier, in the vendor's word; the tier in `usage` served the call and is billed. */
  requestedServiceTier?: string | undefined;
}

/**
 * The answers that show a fact. `end`: only that of the end. `read`: also readings of the call. `list`: also the list
 * of calls, from a column of its own.
 */
const FACTS = {
  providerUsed: 'list',
  modelUsed: 'list',
  reasoningEffort: 'end',
  reasoningEffortSource: 'end',
  reasoningMode: 'end',
  reasoningBudgetTokens: 'end',
  requestedServiceTier: 'read',
} as const satisfies Record<keyof Facts, 'end' | 'read' | 'list'>;

type By<Told> = { [Name in keyof Facts]-?: (typeof FACTS)[Name] extends Told ? Name : never }[keyof Facts];

export type EndFacts = Pick<Facts, By<'end'>>;
export type ReadFacts = Pick<Facts, By<'read'>>;
export type ListedFacts = Pick<Facts, By<'list'>>;

/** Listed facts are null if nothing was reported, in outcomes as in readings. */
export type RecordedListed = { [Name in keyof ListedFacts]-?: Exclude<ListedFacts[Name], undefined> | null };

/** The facts in the form of a call's outcome. */
export interface RecordedFacts extends EndFacts, ReadFacts, RecordedListed {}

const NAMES = Object.keys(FACTS) as (keyof Facts)[];
const READ = NAMES.filter((name): name is By<'read'> => FACTS[name] === 'read');
export const LISTED = NAMES.filter((name): name is By<'list'> => FACTS[name] === 'list');

/** The facts of a report or of an outcome; null counts as absent. */
export function pickFacts(of: Facts | RecordedFacts): Required<Facts> {
  return Object.fromEntries(NAMES.map((name) => [name, of[name] ?? undefined])) as unknown as Required<Facts>;
}

/**
 * Splits the facts off a request or an outcome. The type of the rest has no fact, so that a caller can check
 * that it used everything.
 */
export function takeFacts<Fields extends Facts | RecordedFacts>(
  fields: Fields,
): { facts: Required<Facts>; rest: Omit<Fields, keyof Facts> } {
  const rest: Partial<Fields> = { ...fields };
  for (const name of NAMES) delete rest[name];
  return { facts: pickFacts(fields), rest: rest as Omit<Fields, keyof Facts> };
}

/** The facts that readings show, in the form of the outcome. */
export function readFacts(outcome: ReadFacts): Required<ReadFacts> {
  return Object.fromEntries(READ.map((name) => [name, outcome[name]])) as unknown as Required<ReadFacts>;
}

/** The listed facts; all null for a call without an outcome. */
export function listedFacts(of: ListedFacts | RecordedListed | null): RecordedListed {
  return Object.fromEntries(LISTED.map((name) => [name, of?.[name] ?? null])) as RecordedListed;
}
