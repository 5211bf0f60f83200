/**
 * What counting-worker.ts counts.
 */

/** A transaction of D1 that wrote, as its answer told. */
export interface Transaction {
  ms: number;
  rowsWritten: number;
  /** Of the database afterwards. */
  sizeBytes: number;
}

export interface Counts {
  /** By what they count. */
  figures: Record<string, number>;
  transactions: Transaction[];
}

/** What was counted since it was asked last. */
export async function takeCounts(url: string): Promise<Counts> {
  const response = await fetch(`${url}/counts`, { method: 'POST' });
  if (!response.ok) throw new Error(`the counts were answered with ${response.status}`);
  return (await response.json()) as Counts;
}
