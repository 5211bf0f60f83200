/**
 * The counts of counting-worker.ts, and its clock.
 */

/** How a row is written. */
export type Write = 'inserts' | 'updates' | 'deletes' | 'alarms';

/** A transaction of D1 that wrote, as its answer told. */
export interface Transaction {
  ms: number;
  rowsWritten: number;
  /** The size of the database afterwards. */
  sizeBytes: number;
}

export interface Counts {
  /** By the counted unit. */
  figures: Record<string, number>;
  /** Rows written, with those of indexes, by owner and table. */
  written: Record<string, Record<Write, number>>;
  transactions: Transaction[];
}

/** The counts since the last question. */
export async function takeCounts(url: string): Promise<Counts> {
  const response = await fetch(`${url}/counts`, { method: 'POST' });
  if (!response.ok) throw new Error(`the counts were answered with ${response.status}`);
  return (await response.json()) as Counts;
}

/** Sets the clock of the service forward, and fires the alarms that are due by then. */
export async function passTime(url: string, ms: number): Promise<void> {
  const response = await fetch(`${url}/later/${ms}`, { method: 'POST' });
  if (!response.ok) throw new Error(`the passing of time was answered with ${response.status}`);
}
