/**
 * The baseline Worker: it only responds with a constant, with one transaction of an object (an insert, an upsert and a
 * select), or with a vendor's response.
 *
 * It uses the service's own configuration, so that only the code differs.
 */
import { DurableObject } from 'cloudflare:workers';

/** As long as the record of a call is about. */
const RECORD = 'x'.repeat(500);
const constant = JSON.stringify({ ok: true });

interface Env {
  CUSTOMERS: DurableObjectNamespace<Customer>;
}

export class Customer extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL)',
    );
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, count INTEGER NOT NULL)');
  }

  transact(): number {
    const { storage } = this.ctx;
    return storage.transactionSync(() => {
      storage.sql.exec('INSERT INTO records (record) VALUES (?)', RECORD);
      storage.sql.exec(
        'INSERT INTO counts (name, count) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET count = count + 1',
        'records',
      );
      return storage.sql.exec<{ count: number }>('SELECT count FROM counts WHERE name = ?', 'records').one().count;
    });
  }
}

export {
  Customer as CallDirectory,
  Customer as CompressionJob,
  Customer as CustomerBatches,
  Customer as GatewayBatch,
  Customer as OrganizationWatch,
  Customer as PlanMigration,
  Customer as Projector,
  Customer as Repricing,
  Customer as WebhookEndpoint,
};

const json = (body: string) => new Response(body, { headers: { 'Content-Type': 'application/json' } });

export default {
  /**
   * `POST /object/NAME` is a transaction of the object of that name; a request with the header `x-vendor` passes to
   * that address; everything else is the constant.
   */
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    const vendor = request.headers.get('x-vendor');
    if (vendor !== null) {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-bench' };
      return fetch(vendor + pathname, { method: 'POST', headers, body: request.body });
    }
    const [, route, name] = pathname.split('/');
    if (route !== 'object' || !name) return json(constant);
    await request.text();
    return json(JSON.stringify({ count: await env.CUSTOMERS.getByName(name).transact() }));
  },
};
