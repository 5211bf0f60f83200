/**
 * Records of calls in D1 as text, as releases before packed them: for tests that read or change one in SQL.
 */
import { REPEATED_VALUES, type Repeated, type StoredRecord, unpackRecord } from '../../src/history/packed-record.ts';

interface Row {
  organizationId: string;
  callId: string;
  record: StoredRecord;
  repeated: string;
}

/** The records of the calls of which the condition is true, by call. */
export async function readRecords(db: D1Database, where: string, ...values: unknown[]): Promise<Map<string, string>> {
  const rows = await readRows(db, where, values);
  return new Map(rows.map((row) => [row.callId, textOf(row)]));
}

/** Stores the records of the calls of which the condition is true as text. */
export async function storeRecordsAsText(db: D1Database, where: string, ...values: unknown[]): Promise<void> {
  const update = db.prepare('UPDATE calls SET record = ? WHERE organization_id = ? AND call_id = ?');
  const rows = await readRows(db, where, values);
  for (const row of rows) await update.bind(textOf(row), row.organizationId, row.callId).run();
}

async function readRows(db: D1Database, where: string, values: readonly unknown[]): Promise<Row[]> {
  const sql = `SELECT organization_id AS organizationId, call_id AS callId, record, ${REPEATED_VALUES} AS repeated FROM calls WHERE ${where}`;
  const { results } = await db
    .prepare(sql)
    .bind(...values)
    .all<Row>();
  return results;
}

const textOf = ({ record, repeated }: Row) => unpackRecord(record, JSON.parse(repeated) as Repeated);
