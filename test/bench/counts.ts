/**
 * The counts of counting-worker.ts.
 */

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
  transactions: Transaction[];
}

/** The counts since the last question. */
export async function takeCounts(url: string): Promise<Counts> {
  const response = await fetch(`${url}/counts`, { method: 'POST' });
  if (!response.ok) throw new Error(`the counts were answered with ${response.status}`);
  return (await response.json()) as Counts;
}
