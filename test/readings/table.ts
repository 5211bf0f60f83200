/**
 * A table of `npm run test:readings`: rows of figures with the goals that they have to meet.
 */
export interface Goal {
  atLeast?: number;
  atMost?: number;
}

export interface Figure {
  value: number;
  goal?: Goal;
}

interface Row {
  name: string;
  /** In the order of the columns; `null` if there is none. */
  figures: (Figure | null)[];
}

export interface Table {
  title: string;
  columns: string[];
  rows: Row[];
}

export interface RunOptions {
  /** Fewer moments of each series. */
  short: boolean;
  /** A clone of the Numenta Anomaly Benchmark, and `hour.csv` of the UCI bike sharing data, if present. */
  nab?: string | undefined;
  bike?: string | undefined;
  onProgress(line: string): void;
  signal: AbortSignal;
}

/** A part of the command: makes its tables, and returns the finished ones when the signal comes. */
export interface Part {
  name: string;
  about: string;
  run(options: RunOptions): Promise<Table[]>;
}

const NAME_WIDTH = 26;
const FIGURE_WIDTH = 17;

export function isMet({ value, goal }: Figure): boolean {
  return value >= (goal?.atLeast ?? Number.NEGATIVE_INFINITY) && value <= (goal?.atMost ?? Number.POSITIVE_INFINITY);
}

/** A figure that misses its goal has a `!`. */
export function renderTable({ title, columns, rows }: Table): string {
  const heading = [title.padEnd(NAME_WIDTH), ...columns.map((column) => column.padStart(FIGURE_WIDTH))].join('');
  const lines = rows.map(({ name, figures }) => {
    const cells = figures.map((figure) => (figure ? `${figure.value.toFixed(3)}${isMet(figure) ? ' ' : '!'}` : ''));
    return [name.padEnd(NAME_WIDTH), ...cells.map((cell) => cell.padStart(FIGURE_WIDTH))].join('').trimEnd();
  });
  return [heading, ...lines].join('\n');
}
