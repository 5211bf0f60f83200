/**
 * The databases that a delivery may meet.
 */
import { bindings } from './worker.ts';

const prepare = bindings.DB.prepare.bind(bindings.DB);
/** D1 as it is, as it cannot be reached, and as its answer is lost. */
export const DATABASES = {
  there: bindings.DB,
  away: { prepare, batch: () => Promise.reject(new Error('away')) } as unknown as D1Database,
  late: {
    prepare,
    async batch(statements: D1PreparedStatement[]) {
      await bindings.DB.batch(statements);
      throw new Error('the answer was lost');
    },
  } as unknown as D1Database,
};
