/**
 * `npm run test:attack`: attacks a local server as a stranger, as a customer's browser and as another organization, and
 * reports the result of each attack.
 */
import { runSuite } from '../support/command-line.ts';
import type { Outcome } from './model.ts';
import { ATTACKS, runAttacks } from './run.ts';

const HELP = `npm run test:attack [-- --short]

Starts a server of its own and attacks it on loopback. Each attack prints its figures: what was answered, what another
tenant's requests took meanwhile, by how much the server's memory grew. Exits with 1 where a promise was broken. A figure
that misses its goal is printed as missed and breaks nothing: goals are for a quiet machine. Ctrl+C ends the run after the
attack that is under way.

  --only NAMES   some attacks, separated by commas; --list names them
  --short        fewer requests, as CI runs it
  --list         the attacks and what each must not achieve
  --json         the report as JSON on standard output
  --help         this text`;

await runSuite({
  help: HELP,
  options: {
    only: { type: 'string' },
    short: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
  read({ only, short, list }) {
    const names = only?.split(',') ?? ATTACKS.map(({ name }) => name);
    const unknown = names.filter((name) => !ATTACKS.some((attack) => attack.name === name));
    if (unknown.length > 0) throw new Error(`--only: there is no attack ${unknown.join(', ')}; --list names them`);
    return { attacks: ATTACKS.filter(({ name }) => names.includes(name)), short, list };
  },
  async run({ list, ...asked }, { json, ...running }) {
    if (list) {
      for (const { name, by, promise } of ATTACKS) console.log(`${name.padEnd(22)} ${by.padEnd(9)} ${promise}`);
      return true;
    }
    const outcomes = await runAttacks({ ...asked, ...running });
    const broken = outcomes.reduce((sum, outcome) => sum + outcome.broken.length, 0);
    if (json) console.log(JSON.stringify(outcomes, null, 2));
    else {
      for (const outcome of outcomes) print(outcome);
      console.log(broken === 0 ? `${outcomes.length} attacks, every promise held` : `${broken} promises broken`);
    }
    return broken === 0;
  },
});

function print({ name, promise, figures, goals, broken }: Outcome): void {
  console.log(`${name}: ${promise}`);
  for (const [figure, value] of Object.entries(figures)) {
    const goal = goals[figure];
    const verdict =
      goal === undefined
        ? ''
        : Number(value) <= goal
          ? `  (goal: at most ${goal})`
          : `  (goal: at most ${goal}, MISSED)`;
    console.log(`  ${figure.padEnd(44)} ${value}${verdict}`);
  }
  for (const sentence of broken) console.log(`  BROKEN  ${sentence}`);
}
