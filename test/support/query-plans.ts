/**
 * How D1 answers the queries of a function: each line of their query plans.
 */
import type { Env } from '../../src/env.ts';
import { bindings } from './worker.ts';

/** The plans of the queries with values that a function sends to D1. */
export async function queryPlansOf(send: (env: Env) => Promise<unknown>): Promise<string[]> {
  const sent: D1PreparedStatement[] = [];
  const DB = {
    prepare(sql: string) {
      const explained = bindings.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`);
      const statement = bindings.DB.prepare(sql);
      return {
        unbound: statement,
        bind(...values: unknown[]) {
          sent.push(explained.bind(...values));
          return statement.bind(...values);
        },
      };
    },
    batch: (statements: (D1PreparedStatement | { unbound: D1PreparedStatement })[]) =>
      bindings.DB.batch(statements.map((one) => ('unbound' in one ? one.unbound : one))),
  } as unknown as D1Database;
  await send({ ...bindings, DB });
  const plans = await Promise.all(sent.map((statement) => statement.all<{ detail: string }>()));
  return plans.flatMap(({ results }) => results.map(({ detail }) => detail));
}
