/**
 * The resources for 10 million, 100 million and a billion calls a day, their first bottleneck, and their cost, by the
 * model of deployment.ts; and the model beside a short measurement on this machine.
 */
import { printed } from '../report.ts';
import type { Column, Options, Suite, Table } from '../suite.ts';
import { PARTS, type Part } from './call-cost.ts';
import { CHECK_COLUMNS, checkRows } from './check.ts';
import { customerDays } from './customer-day.ts';
import { type Answer, answerFor } from './deployment.ts';
import { PLAN_DOLLARS } from './prices.ts';

const SCALES = [
  { heading: '10 million', callsPerDay: 10_000_000 },
  { heading: '100 million', callsPerDay: 100_000_000 },
  { heading: '1 billion', callsPerDay: 1_000_000_000 },
];

const columns = (digits: number) => SCALES.map(({ heading }): Column => ({ key: heading, heading, digits }));

type Figure = [name: string, of: (answer: Answer) => number];

const NEEDS: readonly Figure[] = [
  ['customers who call, thousands', ({ customers }) => customers / 1_000],
  ['organizations', ({ organizations }) => organizations],
  ['calls a second at the peak', ({ peakCallsPerSecond }) => peakCallsPerSecond],
  ['customers in memory, thousands', ({ objectsAwake }) => objectsAwake / 1_000],
  ['processors at the peak', ({ processors }) => processors],
  ['largest organization, % of calls', (answer) => answer.largestOrganizationShare * 100],
  ['largest customer, calls/s at peak', (answer) => answer.largestCustomerCallsPerSecond],
  ['past calls in objects, % of calls', ({ pastShare }) => pastShare * 100],
  ['D1 grows by GB a day', ({ d1BytesPerDay }) => d1BytesPerDay / 1e9],
  ['days that 50 databases hold', ({ daysKept }) => daysKept],
  ['days, largest organization', ({ largestDaysKept }) => largestDaysKept],
  ['databases for default retention', ({ databasesWanted }) => databasesWanted],
];

const queueFigures = (name: string, of: (answer: Answer) => Answer['typical'], rows: Figure[1]): readonly Figure[] => [
  [`${name}: transactions/s`, (answer) => of(answer).transactionsPerSecond],
  [`${name}: rows written/s`, rows],
  [`${name}: D1 busy, %`, (answer) => of(answer).utilization * 100],
  [`${name}: median ms to D1`, (answer) => of(answer).medianMs],
  [`${name}: 99th ms to D1`, (answer) => of(answer).p99Ms],
  [`${name}: changes waiting`, (answer) => of(answer).waiting],
  [`${name}: most waiting`, (answer) => of(answer).waitingMax],
];

const QUEUES: readonly Figure[] = [
  ...queueFigures(
    'typical',
    ({ typical }) => typical,
    ({ rowsPerSecond }) => rowsPerSecond,
  ),
  ...queueFigures(
    'largest',
    ({ largest }) => largest,
    ({ largestRowsPerSecond }) => largestRowsPerSecond,
  ),
];

const ROWS: readonly Part[] = [
  'rows that objects write',
  'rows that D1 writes',
  'rows deleted by the retention',
  'rows read',
];

export const simulation: Suite = {
  about: 'what 10 million to a billion calls a day need and cost, by a model',
  rounds: 1,
  seconds: 20,
  async run(options: Options) {
    const check = await checkRows(options);
    const answers = SCALES.map(({ heading, callsPerDay }) => {
      options.progress(`${heading} calls a day`);
      return { heading, answer: answerFor(callsPerDay) };
    });
    const table = (title: string, figures: readonly Figure[], digits: number): Table => ({
      title,
      columns: columns(digits),
      rows: figures.map(([name, of]) => ({
        name,
        figures: Object.fromEntries(answers.map(({ heading, answer }) => [heading, of(answer)])),
      })),
    });
    const loads = (answers[0]?.answer.loads ?? []).map(
      ({ what }): Figure => [what, (answer) => answer.loads.find((load) => load.what === what)?.share ?? 0],
    );
    const sumOf = ({ dollars }: Answer, parts: readonly Part[]) => parts.reduce((sum, part) => sum + dollars[part], 0);
    const money: readonly Figure[] = [
      ...PARTS.map((part): Figure => [part, ({ dollars }) => dollars[part]]),
      ['all rows', (answer) => sumOf(answer, ROWS)],
      ['all', (answer) => sumOf(answer, PARTS)],
    ];
    return printed('A model of the deployment', [
      { title: 'the model beside a measurement', columns: CHECK_COLUMNS, rows: check },
      table('calls a day', NEEDS, 1),
      table('a database at the peak', QUEUES, 1),
      table('of each limit, times', loads, 2),
      table('dollars of a million calls', money, 2),
      table('dollars', [['a month, with the plan', ({ dollarsPerMonth }) => dollarsPerMonth + PLAN_DOLLARS]], 0),
      customerDays(),
    ]);
  },
};
