/**
 * The interface of a benchmark suite: it measures, releases everything it started, and returns what to print.
 */

export interface Options {
  /** Interleaved rounds; a figure is the median of them. */
  rounds: number;
  /** Of load on each target in a round; 0 for a few requests alone. */
  seconds: number;
  /** Calls of the largest history. */
  historyCalls: number;
  /** Of the largest organization. */
  customers: number;
  /** Only shows that the suite runs: without warm-ups, and with short rests. Its figures say nothing. */
  short: boolean;
  /** Whatever is started or made is put here, and is ended in reverse order. */
  scope: AsyncDisposableStack;
  /** The same, but in a short run of all suites that share servers. */
  shared: AsyncDisposableStack;
  /** Says what is being done. */
  progress: (line: string) => void;
}

export interface Machine {
  cpus: number;
  model: string;
  memoryGiB: number;
  node: string;
}

export interface Suite {
  /** One line for the help. */
  about: string;
  /** Not a part of `all`. */
  apart?: true;
  /** Uses servers that others may use too. */
  shares?: true;
  /** Where nobody says otherwise. */
  rounds: number;
  /** The same; absent where a round takes as long as it takes. */
  seconds?: number;
  run(options: Options): Promise<Print>;
}

/** Prints what was measured. */
export type Print = (machine: Machine, json: boolean) => void;

export interface Column {
  /** Its name in JSON, with the unit last where the heading does not say it. */
  key: string;
  heading: string;
  digits: number;
}

/** What a figure must be. */
export interface Promised {
  /** The key of its column. */
  of: string;
  atLeast?: number;
  atMost?: number;
}

export interface Row {
  name: string;
  /** By the key of the column; `null` where there is nothing to say. */
  figures: Record<string, number | null>;
  promised?: Promised | undefined;
}

export interface Table {
  title: string;
  columns: readonly Column[];
  rows: Row[];
}
