/**
 * The service with a clock on each statement that its scheduled run sends to D1, and without an archive, so that only
 * the deletion is measured. It is only bundled and run locally; no deployment has this entry point.
 */

import type { Env } from '../../src/env.ts';
import service from '../../src/index.ts';

export * from '../../src/index.ts';

/** A statement of a scheduled run. */
export interface Slice {
  sql: string;
  ms: number;
  /** Rows that it changed. */
  changes: number;
}

let slices: Slice[] = [];

type Statement = Pick<D1PreparedStatement, 'bind' | 'run' | 'all' | 'raw' | 'first'> & { own: D1PreparedStatement };

function timedStatement(sql: string, own: D1PreparedStatement): Statement {
  const timed =
    <A extends unknown[]>(send: (...args: A) => Promise<unknown>) =>
    async (...args: A) => {
      const startMs = Date.now();
      const answer = await send.apply(own, args);
      const { meta } = (answer ?? {}) as Partial<D1Result>;
      slices.push({ sql, ms: Date.now() - startMs, changes: meta?.changes ?? 0 });
      return answer;
    };
  return {
    own,
    bind: (...values: unknown[]) => timedStatement(sql, own.bind(...values)) as unknown as D1PreparedStatement,
    run: timed(own.run) as never,
    all: timed(own.all) as never,
    raw: timed(own.raw as never) as never,
    first: timed(own.first as never) as never,
  };
}

function timedDatabase(db: D1Database): D1Database {
  return {
    prepare: (sql: string) => timedStatement(sql, db.prepare(sql)),
    batch: (statements: Statement[]) => db.batch(statements.map(({ own }) => own)),
  } as unknown as D1Database;
}

export default {
  ...service,
  async scheduled(controller: ScheduledController, env: Env, context: ExecutionContext): Promise<void> {
    const { ARCHIVE: _, ...bindings } = env as Env & { ARCHIVE?: unknown };
    await service.scheduled(controller, { ...bindings, DB: timedDatabase(env.DB) } as Env, context);
  },
  /** `GET /slices` answers the statements since it was asked last. */
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    if (new URL(request.url).pathname !== '/slices')
      return service.fetch(request as never, env, context) as unknown as Promise<Response>;
    const answer = Response.json(slices);
    slices = [];
    return answer;
  },
};
