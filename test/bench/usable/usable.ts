/**
 * How much of a balance agents can use before they are refused, by the length of their prompts, the balance and how holds
 * are made; and that nothing is spent beyond it, also if the server is killed and callers leave in the middle of the work.
 */
import { printed } from '../report.ts';
import { median } from '../rounds.ts';
import type { Column, Promised, Row, Suite, Table } from '../suite.ts';
import { HOLDS, type Holds, type Outcome, type Setting, startAgents } from './agents.ts';

/** The used part of the balance until the first refusal: $5, prompts of 200 KB. */
export const GOALS = { oneExact: 0.9, sixExact: 0.5, sixExpected: 0.94 };
const GOAL_AT = { promptKilobytes: 200, usd: 5 };

const PROMPTS_KILOBYTES = [20, 200, 600];
const BALANCES_USD = [1, 5, 25];
const SIX = 6;
const KILLS = 2;
/** Each setting has three runs. */
const WAYS = [
  { name: 'one at a time', atOnce: 1, kills: 0 },
  { name: 'six at once', atOnce: SIX, kills: 0 },
  { name: 'six, with kills', atOnce: SIX, kills: KILLS },
];
const SHORT = [
  { name: 'one at a time', atOnce: 1, kills: 0 },
  { name: 'two, with a kill', atOnce: 2, kills: 1 },
];
const SEED = 45;

const COLUMNS: readonly Column[] = [
  { key: 'untilRefused', heading: 'until refused', digits: 3 },
  { key: 'untilSpent', heading: 'with waiting', digits: 3 },
  { key: 'overshootUsd', heading: 'beyond, $', digits: 6 },
  { key: 'mischargedUsd', heading: 'unequal, $', digits: 6 },
  { key: 'calls', heading: 'calls', digits: 0 },
  { key: 'waits', heading: 'waits', digits: 0 },
];

export const usable: Suite = {
  about: 'how much of a balance agents can use before they are refused, and that nothing is spent beyond it',
  rounds: 1,
  async run({ rounds, short, scope, progress }) {
    progress('starting');
    const agents = await startAgents(scope);
    const ways = short ? SHORT : WAYS;
    const tables: Table[] = [];
    const beyond: Row[] = [];
    for (const holds of HOLDS.filter((mode) => agents.offers(mode))) {
      const rows: Row[] = [];
      for (const promptKilobytes of short ? PROMPTS_KILOBYTES.slice(0, 1) : PROMPTS_KILOBYTES) {
        for (const usd of short ? BALANCES_USD.slice(0, 1) : BALANCES_USD) {
          for (const { name, atOnce, kills } of ways) {
            const title = `${promptKilobytes} KB, $${usd}, ${name}`;
            const outcomes: Outcome[] = [];
            for (let round = 0; round < rounds; round += 1) {
              progress(`${holds}: ${title}`);
              const seed = SEED + round;
              outcomes.push(await agents.run({ holds, promptKilobytes, usd, atOnce, kills, seed }));
            }
            rows.push({
              name: title,
              figures: summarize(outcomes),
              promised: promisedOf({ holds, promptKilobytes, usd, atOnce, kills }),
            });
          }
        }
      }
      tables.push({ title: `${holds}: share of the balance`, columns: COLUMNS, rows });
      const overshootUsd = Math.max(...rows.map(({ figures }) => figures.overshootUsd ?? 0));
      const promised = holds === 'EXACT' ? { of: 'overshootUsd', atMost: 0 } : undefined;
      beyond.push({ name: holds, figures: { overshootUsd }, promised });
    }
    const overshoot = COLUMNS.filter(({ key }) => key === 'overshootUsd');
    return printed('What agents can use of a balance', [
      ...tables,
      { title: 'spent beyond the balance, at most', columns: overshoot, rows: beyond },
    ]);
  },
};

function summarize(outcomes: readonly Outcome[]): Row['figures'] {
  const medianOf = (of: (outcome: Outcome) => number | null) => {
    const known = outcomes.map(of).filter((figure) => figure !== null);
    return known.length === 0 ? null : median(known);
  };
  return {
    untilRefused: medianOf(({ untilRefused }) => untilRefused),
    untilSpent: medianOf(({ untilSpent }) => untilSpent),
    overshootUsd: Math.max(...outcomes.map(({ overshootNanoUsd }) => Number(overshootNanoUsd) / 1e9)),
    mischargedUsd: medianOf(({ mischargedNanoUsd }) =>
      mischargedNanoUsd === null ? null : Number(mischargedNanoUsd) / 1e9,
    ),
    calls: medianOf(({ calls }) => calls),
    waits: medianOf(({ waits }) => waits),
  };
}

function promisedOf({ holds, promptKilobytes, usd, atOnce, kills }: Omit<Setting, 'seed'>): Promised | undefined {
  if (promptKilobytes !== GOAL_AT.promptKilobytes || usd !== GOAL_AT.usd || kills > 0) return undefined;
  const goals: Record<Holds, number | undefined> = {
    EXACT: atOnce === 1 ? GOALS.oneExact : GOALS.sixExact,
    EXPECTED: atOnce === 1 ? undefined : GOALS.sixExpected,
  };
  const atLeast = goals[holds];
  return atLeast === undefined ? undefined : { of: 'untilRefused', atLeast };
}
