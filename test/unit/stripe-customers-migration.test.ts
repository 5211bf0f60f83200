/**
 * Promise: older ids at Stripe stay with their customers' organizations, in any database.
 */

import { expect, test } from 'vitest';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import {
  claimStripeCustomer,
  gatherStripeCustomers,
  hasStripeCustomer,
  listSharedStripeCustomers,
} from '../../src/history/stripe-customers.ts';
import { asD1, MIGRATION_NAMES, migrate, openD1 } from '../support/d1.ts';

const MIGRATION = '0016_edges_of_history.sql';

test('customers of before have their ids, those of other databases too', async () => {
  const before = MIGRATION_NAMES.slice(0, MIGRATION_NAMES.indexOf(MIGRATION));
  using first = openD1(before);
  using second = openD1(before);
  first.exec(`INSERT INTO organizations (organization_id, name, created_at_ms, database)
    VALUES ('one', 'One', 0, 'DB'), ('two', 'Two', 0, 'DB_2'), ('three', 'Three', 0, 'DB')`);
  const rows = [
    [first, 'one', 'ann', 'cus_shared'],
    [first, 'one', 'bob', null],
    [second, 'two', 'cid', 'cus_two'],
    [second, 'two', 'dan', 'cus_shared'],
  ] as const;
  for (const [db, organizationId, customerId, stripeCustomerId] of rows)
    db.prepare(
      `INSERT INTO customers (organization_id, customer_id, stripe_customer_id, subscription_id, subscription_version,
        plan_id, usage_plan_version_id, created_at_ms, last_replenished_at_ms, next_replenish_at_ms, revision)
       VALUES (?, ?, ?, 's', 1, 'p', 'p:v1', 0, 0, 0, 1)`,
    ).run(organizationId, customerId, stripeCustomerId);
  for (const name of MIGRATION_NAMES.slice(MIGRATION_NAMES.indexOf(MIGRATION)))
    for (const db of [first, second]) migrate(db, name);
  const env = { DB: asD1(first), DB_2: asD1(second), CONFIG_TTL_MS: 0 } as unknown as Env;
  const has = (organizationId: string, id: string) => hasStripeCustomer(env, asOrganizationId(organizationId), id);

  expect([await has('one', 'cus_shared'), await has('two', 'cus_two'), await has('one', 'cus_two')]).toEqual([
    true,
    true,
    false,
  ]);
  await gatherStripeCustomers(env, 'DB_2');
  await gatherStripeCustomers(env, 'DB_2');
  expect([await has('two', 'cus_two'), await has('two', 'cus_shared'), await has('one', 'cus_two')]).toEqual([
    true,
    true,
    false,
  ]);
  expect(await listSharedStripeCustomers(env, null, 10)).toEqual([
    {
      stripeCustomerId: 'cus_shared',
      organizations: [
        { organizationId: 'one', customers: 1 },
        { organizationId: 'two', customers: 1 },
      ],
    },
  ]);
  const claim = (organizationId: string, stripeCustomerId: string) =>
    claimStripeCustomer(env, {
      organizationId: asOrganizationId(organizationId),
      customerId: asCustomerId('new'),
      stripeCustomerId,
    });
  expect([await claim('two', 'cus_shared'), await claim('three', 'cus_two')]).toEqual([true, false]);
});
