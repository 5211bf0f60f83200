/**
 * The interface of a benchmark suite: it measures, releases everything it started, and returns its tables.
 */

export interface Options {
  /** Interleaved rounds; a figure is the median of them. */
  rounds: number;
  /** The seconds of load on each target in a round; 0 for only a few requests. */
  seconds: number;
  /** Calls of the largest history. */
  historyCalls: number;
  /** The customers of the largest organization. */
  customers: number;
  /** Only shows that the suite runs: without warm-ups, and with short rests. Its figures say nothing. */
  short: boolean;
  /** Whatever is started or made is put here, and is ended in reverse order. */
  scope: AsyncDisposableStack;
  /** The same, but in a short run of all suites that share servers. */
  shared: AsyncDisposableStack;
  /** Prints the present step. */
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
  /** The number of rounds by default. */
  rounds: number;
  /** The same; absent if a round has no fixed duration. */
  seconds?: number;
  run(options: Options): Promise<Print>;
}

/** Prints the measurements. */
export type Print = (machine: Machine, json: boolean) => void;

export interface Column {
  /** Its name in JSON, with the unit last if the heading does not contain it. */
  key: string;
  heading: string;
  digits: number;
}

/** The promised value of a figure. */
export interface Promised {
  /** The key of its column. */
  of: string;
  atLeast?: number;
  atMost?: number;
}

export interface Row {
  name: string;
  /** By the key of the column; `null` if there is no figure. */
  figures: Record<string, number | null>;
  promised?: Promised | undefined;
}

export interface Table {
  title: string;
  columns: readonly Column[];
  rows: Row[];
}
