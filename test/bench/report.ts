/**
 * Reports figures as a table or as JSON: with the machine's properties, the promised figures, and whether this run met
 * them.
 */
import { cpus, totalmem } from 'node:os';
import type { Column, Machine, Print, Promised, Row, Table } from './suite.ts';

const NAME_WIDTH = 34;
const FIGURE_WIDTH = 13;

export function machineHere(): Machine {
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? '',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
}

function describeMachine({ cpus, model, memoryGiB, node }: Machine): string {
  return `${cpus} x ${model}, ${memoryGiB} GiB, Node ${node}`;
}

export function printed(suite: string, tables: Table[]): Print {
  return (machine, json) => {
    if (json) {
      const shown = tables.map(({ title, columns, rows }) => ({
        title,
        rows: rows.map((row) => rowAsJson(columns, row)),
      }));
      console.log(JSON.stringify({ suite, machine, tables: shown }, null, 2));
      return;
    }
    console.log(`${suite}\n${describeMachine(machine)}`);
    for (const table of tables) console.log(`\n${renderTable(table)}`);
    console.log();
  };
}

function rowAsJson(columns: readonly Column[], { name, figures, promised }: Row): object {
  const rounded = columns.map(({ key, digits }) => {
    const figure = figures[key] ?? null;
    return [key, figure === null ? null : Number(figure.toFixed(digits))] as const;
  });
  return {
    name,
    ...Object.fromEntries(rounded),
    promised: promised ?? null,
    kept: promised ? isKept(figures, promised) : null,
  };
}

function renderTable({ title, columns, rows }: Table): string {
  const promises = rows.some(({ promised }) => promised);
  const heading = [title.padEnd(NAME_WIDTH), ...columns.map((column) => column.heading.padStart(FIGURE_WIDTH))];
  const lines = rows.map(({ name, figures, promised }) => {
    const cells = columns.map(({ key, digits }) => (figures[key]?.toFixed(digits) ?? '').padStart(FIGURE_WIDTH));
    return [name.padEnd(NAME_WIDTH), ...cells, promised ? wanted(figures, promised) : ''].join('').trimEnd();
  });
  return [[...heading, promises ? 'promised'.padStart(FIGURE_WIDTH) : ''].join('').trimEnd(), ...lines].join('\n');
}

function wanted(figures: Row['figures'], promised: Promised): string {
  const bound = promised.atLeast === undefined ? `<= ${promised.atMost}` : `>= ${promised.atLeast}`;
  return `${bound.padStart(FIGURE_WIDTH)}${isKept(figures, promised) ? '' : '  missed'}`;
}

function isKept(figures: Row['figures'], { of, atLeast, atMost }: Promised): boolean {
  const figure = figures[of] ?? Number.NaN;
  return figure >= (atLeast ?? Number.NEGATIVE_INFINITY) && figure <= (atMost ?? Number.POSITIVE_INFINITY);
}
