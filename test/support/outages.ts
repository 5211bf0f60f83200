/**
 * What each kind of request is answered while something that the service needs is away. `test/scenario/outages.test.ts`
 * takes each of them away and compares; `docs/operate.md` shows the same table.
 */

/** The isolate has read the configuration before, unless the kind says otherwise. */
const KINDS = {
  begin: 'Begin',
  beginCold: 'Begin, cold isolate',
  beginKeyed: 'Begin, own key',
  end: 'End',
  increment: 'Increment',
  gateway: 'Gateway call',
  changePlan: 'Plan change',
  readings: 'Readings',
  lookup: 'Lookup',
  lookupCold: 'Lookup, cold isolate',
  console: 'Console',
  retention: 'Retention',
} as const;
export type Kind = keyof typeof KINDS;

/** What an answer amounts to. */
const OUTCOMES = {
  yes: 'answered as usual, and D1 has it within seconds',
  later: 'answered as usual, and D1 has it once this is back',
  degraded: 'answered from the built-in catalog or without reviews, and the answer says so',
  'stand-in': 'answered; the price is that of the built-in catalog, the call says so, and a repricing mends it',
  '503': '503 `SERVICE_UNAVAILABLE` with `Retry-After`; nothing is recorded',
  '502': "the vendor's failure, and the call is recorded as failed",
  fails: 'the run fails, deletes no history, and the next one does its work',
} as const;
type Outcome = keyof typeof OUTCOMES;

export interface Outage {
  /** What is away. */
  away: string;
  /** The kinds that are not answered as usual. */
  differs: Partial<Record<Kind, Outcome>>;
}

/** Whatever writes history. */
const LATER = {
  begin: 'later',
  beginCold: 'later',
  beginKeyed: 'later',
  end: 'later',
  increment: 'later',
  gateway: 'later',
  changePlan: 'later',
} as const;

export const OUTAGES = {
  configuration: {
    away: "D1, the configuration's database",
    differs: { beginCold: '503', changePlan: '503', lookupCold: 'degraded', console: '503', retention: 'fails' },
  },
  history: {
    away: "D1, the history's database",
    differs: { ...LATER, readings: '503', console: '503', retention: 'fails' },
  },
  kv: { away: 'KV', differs: { beginCold: 'stand-in', lookupCold: 'degraded' } },
  r2: { away: 'R2', differs: { retention: 'fails' } },
  projector: { away: 'The projector', differs: LATER },
  directory: { away: 'The call directory', differs: { beginKeyed: '503' } },
  watch: { away: "The organization's watch", differs: {} },
  vendor: { away: 'A vendor', differs: { gateway: '502' } },
  stripe: { away: 'Stripe', differs: {} },
  webhook: { away: "A webhook's receiver", differs: {} },
} as const satisfies Record<string, Outage>;
export type OutageName = keyof typeof OUTAGES;

/** What a kind of request is answered. */
export function expectedOutcome({ differs }: Outage, kind: Kind): Outcome {
  return differs[kind] ?? 'yes';
}

/** The table of the document, and the meaning of its words. */
export function outageTable(): string {
  const kinds = Object.keys(KINDS) as Kind[];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rows = Object.values(OUTAGES).map((outage) =>
    line([outage.away, ...kinds.map((kind) => expectedOutcome(outage, kind))]),
  );
  const words = Object.entries(OUTCOMES).sort(([one], [other]) => (one < other ? -1 : 1));
  const meanings = words.map(([outcome, meaning]) => `- \`${outcome}\`: ${meaning}.`);
  const table = [line(['Away', ...Object.values(KINDS)]), `|${'---|'.repeat(kinds.length + 1)}`, ...rows];
  return [...table, '', ...meanings].join('\n');
}
