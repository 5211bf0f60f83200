/**
 * Customers for operators: list, inspect, cancel, grant and revoke credit, erase.
 *
 * The object's own commands are idempotent, so a change is made there first and then logged.
 */

import { findDatabaseName } from '../config/database.ts';
import { complete } from '../contract/complete.ts';
import { refuse } from '../contract/errors.ts';
import { type AnswerTo, operations } from '../contract/operations.ts';
import type { Organization } from '../contract/operator.ts';
import type { OperatorCustomer } from '../contract/operator-customers.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { CustomerId, CustomerKey } from '../domain/ids.ts';
import { tierModels } from '../domain/model-mappings.ts';
import { parseUsd } from '../domain/money.ts';
import type { LedgerEntry } from '../domain/wallet.ts';
import type { Env } from '../env.ts';
import { eraseFromWebhooks } from '../events/webhooks/endpoints.ts';
import { markArchiveErased } from '../history/archive/days.ts';
import { findOldEntry } from '../history/credits.ts';
import { eraseProjection } from '../history/erasure.ts';
import { ask, customerByName, eraseObjects, finishErasure } from '../objects/addresses.ts';
import type { InspectedCustomer } from '../objects/customer-commands.ts';
import type { ProjectorState } from '../objects/projector-commands.ts';
import { listProjectors, projectorState } from '../objects/projectors.ts';
import { organizationWatch } from '../objects/watches.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { sha256Hex } from '../platform/hash.ts';
import { customersCsv, listCustomers } from '../readings/customer-list/list-customers.ts';
import { corrected } from './corrections.ts';
import { type ChangeRequest, change, csvList, type Decided, read } from './operation.ts';

export const listOrganizationCustomers = csvList(
  operations.listOrganizationCustomers,
  ({ env, organization, defer, query, page }) => {
    const { organizationId } = organization;
    return listCustomers({ env, organization: { organizationId, retention: organization }, defer }, query, page);
  },
  customersCsv,
);

export const readCustomer = read(
  operations.readCustomer,
  async ({ env, organization, params: { org, customerId } }) => {
    const [answer, projectors] = await Promise.all([
      ask(customerByName(env, { organizationId: org, customerId }), (customer) =>
        customer.inspect(readingScope(organization)),
      ),
      findDatabaseName(env, org).then((name) => projectorState(env, [name], { organizationId: org, customerId })),
    ]);
    if (!answer.ok) return answer;
    return { ...complete(answer.data), outbox: withProjectors(answer.data.outbox, projectors) };
  },
);

/** The facts of the organization that the object needs to compute a customer's allowance. */
function readingScope({ organizationId, models }: Organization) {
  return { organizationId, ...(models && { models: tierModels(models) }) };
}

/** The changes that wait in the customer's object, and at the projectors. */
function withProjectors(
  object: InspectedCustomer['outbox'],
  { waiting, setAside, failures, lastError }: ProjectorState,
): OperatorCustomer['outbox'] {
  const atProjectors = waiting.oldestMs === null ? null : new Date(waiting.oldestMs).toISOString();
  return {
    pending: object.pending + waiting.changes,
    oldestAt: [object.oldestAt, atProjectors].filter((at) => at !== null).sort()[0] ?? null,
    failures: Math.max(object.failures, waiting.changes > 0 ? failures : 0),
    lastError: object.lastError ?? (waiting.changes > 0 ? lastError : null),
    setAside: setAside.rows,
  };
}

const subject = ({ params }: { params: { customerId: CustomerId } }) => params.customerId;

export const cancelCustomer = change(operations.cancelCustomer, {
  action: 'customer.cancel',
  subject,
  decide: (request) => setCanceled(request, true),
});

export const reactivateCustomer = change(operations.reactivateCustomer, {
  action: 'customer.reactivate',
  subject,
  decide: (request) => setCanceled(request, false),
});

type Canceling = typeof operations.cancelCustomer | typeof operations.reactivateCustomer;

async function setCanceled(
  { env, organization, params: { org, customerId } }: ChangeRequest<Canceling>,
  canceled: boolean,
): Promise<Decided<Canceling>> {
  const command = readingScope(organization);
  const address = customerByName(env, { organizationId: org, customerId });
  const before = await ask(address, (customer) => customer.readUsage(command));
  if (!before.ok) return before;
  const after = await ask(address, (customer) => customer.setCanceled({ ...command, canceled }));
  if (!after.ok) return after;
  return {
    before: { canceled: before.data.canceled },
    after: { canceled: after.data.canceled },
    data: complete(after.data),
  };
}

export const grantCredit = change(operations.grantCredit, {
  action: 'credit.grant',
  subject,
  decide: async ({ env, params: { org, customerId }, body: grant, onceKey }) => {
    const fingerprint = await sha256Hex(canonicalJson(grant));
    const answer = await ask(customerByName(env, { organizationId: org, customerId }), (customer) =>
      customer.grant({
        organizationId: org,
        unit: grant.kind === 'USD' ? 'USD' : grant.meterSlot,
        amount: grant.kind === 'USD' ? String(parseUsd(grant.amountUsd)) : String(grant.units),
        expiresAtMs: grant.expiresAt === undefined ? null : Date.parse(grant.expiresAt),
        reference: grant.reference ?? null,
        idempotencyKey: onceKey,
        fingerprint,
      }),
    );
    if (!answer.ok) return answer;
    const { warnings: _warnings, ...granted } = answer.data;
    return { before: null, after: { ...grant, ...granted }, data: complete(answer.data) };
  },
});

/** Revokes the remaining credit. A second revocation gets the answer of the first, and is not logged again. */
export const revokeCredit = change(operations.revokeCredit, {
  action: 'credit.revoke',
  subject,
  decide: async ({ env, params: { org, customerId, creditId }, body: { reason } }) => {
    const revoke = (old: LedgerEntry | null): Promise<AnswerTo<'revokeCredit'>> =>
      ask(customerByName(env, { organizationId: org, customerId }), (customer) =>
        customer.revoke({ organizationId: org, creditId, reason, old }),
      );
    let answer = await revoke(null);
    if (!answer.ok && answer.refusal.code === 'NOT_FOUND') {
      const old = await findOldEntry(env, { organizationId: org, customerId }, creditId);
      if (old) answer = await revoke(old);
    }
    return corrected(answer);
  },
});

/**
 * Erases the customer's data outside of its objects. Until that is done, a new customer with the same id has no data
 * there.
 */
async function eraseHistory(
  env: Env,
  customer: CustomerKey,
  { database, nowMs }: { database: DatabaseName; nowMs: number },
) {
  try {
    await Promise.all(
      listProjectors(env, database).map((address) => ask(address, (projector) => projector.erase(customer))),
    );
    const waiting = await organizationWatch(env, customer.organizationId).erase(customer.customerId);
    if (env.ARCHIVE) await markArchiveErased(env, customer, nowMs);
    const rows = await eraseProjection(env, customer);
    // Webhooks no longer read rows that D1 has erased.
    await eraseFromWebhooks(env, customer);
    return { ...rows, events: rows.events + waiting };
  } finally {
    await finishErasure(env, customer);
  }
}

/**
 * Erases a customer: the object, its call ids, its rows in D1, and, in the archive's next runs, its archived rows. Each
 * part may be repeated, so an erasure that broke off is finished by sending it again. The event log records the
 * erasure.
 */
export const eraseCustomer = change(operations.eraseCustomer, {
  action: 'customer.erase',
  subject,
  decide: async ({ env, params: { org: organizationId, customerId }, nowMs }) => {
    const customer = { organizationId, customerId };
    const database = await findDatabaseName(env, organizationId);
    const objects = await eraseObjects(env, customer);
    const erased = { ...objects, ...(await eraseHistory(env, customer, { database, nowMs })) };
    if (!Object.values(erased).some(Boolean)) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    return { before: null, after: erased, data: { customerId, erased } };
  },
});
