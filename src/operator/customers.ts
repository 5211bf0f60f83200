/**
 * What an operator reads of customers and changes: list, inspect, cancel, grant credit and take it back, erase.
 *
 * The object's own commands are idempotent, so a change is made there first and then logged.
 */

import type { CorrectionRequest } from '../contract/corrections.ts';
import type { CustomerListItem, CustomerUsageData, ListCustomersQuery } from '../contract/customers.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import type {
  ErasedCustomer,
  GrantCreditRequest,
  GrantedCredit,
  OperatorCustomer,
  RevokedCredit,
} from '../contract/operator-customers.ts';
import { listCustomers } from '../customer-list/list-customers.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { CustomerKey, OrganizationId } from '../domain/ids.ts';
import { tierModels } from '../domain/model-mappings.ts';
import { parseUsd } from '../domain/money.ts';
import type { LedgerEntry } from '../domain/wallet.ts';
import type { Env } from '../env.ts';
import { ask, customerByName, eraseObjects, finishErasure } from '../objects/addresses.ts';
import type { InspectedCustomer } from '../objects/customer-commands.ts';
import type { ProjectorState } from '../objects/projector-commands.ts';
import { projectorState, projectorsOf } from '../objects/projectors.ts';
import { watchOf } from '../objects/watches.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { sha256Hex } from '../platform/hash.ts';
import type { Page, PageRequest } from '../platform/page.ts';
import { markArchiveErased } from '../storage/archive.ts';
import { findOldEntry } from '../storage/credits.ts';
import { databaseNameOf } from '../storage/database.ts';
import { eraseProjection } from '../storage/erasure.ts';
import { eraseFromWebhooks } from '../webhooks/endpoints.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

export async function listOrganizationCustomers(
  env: Env,
  organizationId: OrganizationId,
  query: Omit<ListCustomersQuery, 'limit' | 'cursor'>,
  page: PageRequest | null,
  defer: (work: Promise<unknown>) => void,
): Promise<Answer<Page<CustomerListItem>>> {
  const organization = await findOrganization(env, organizationId);
  if (!organization) return noOrganization();
  return listCustomers({ env, organization: { organizationId, retention: organization }, defer }, query, page);
}

export async function inspectCustomer(
  env: Env,
  { organizationId, customerId }: CustomerKey,
): Promise<Answer<OperatorCustomer>> {
  const organization = await findOrganization(env, organizationId);
  if (!organization) return noOrganization();
  const command = { organizationId, ...(organization.models && { models: tierModels(organization.models) }) };
  const [answer, projectors] = await Promise.all([
    ask(customerByName(env, { organizationId, customerId }), (customer) => customer.inspect(command)),
    databaseNameOf(env, organizationId).then((name) => projectorState(env, [name], { organizationId, customerId })),
  ]);
  const inspected: Answer<InspectedCustomer> = answer;
  if (!inspected.ok) return inspected;
  const outbox = withProjectors(inspected.data.outbox, projectors);
  return { ...inspected, data: { ...inspected.data, outbox } };
}

/** What waits in the customer's object, and at the projectors. */
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

export function setCanceled(
  request: OperatorRequest,
  { organizationId, customerId }: CustomerKey,
  canceled: boolean,
): Promise<Answer<CustomerUsageData>> {
  return commitChange<CustomerUsageData>(request, async () => {
    const organization = await findOrganization(request.env, organizationId);
    if (!organization) return noOrganization();
    const command = { organizationId, ...(organization.models && { models: tierModels(organization.models) }) };
    const address = customerByName(request.env, { organizationId, customerId });
    const before = await ask(address, (customer) => customer.readUsage(command));
    if (!before.ok) return before;
    const after = await ask(address, (customer) => customer.setCanceled({ ...command, canceled }));
    if (!after.ok) return after;
    return {
      action: canceled ? 'customer.cancel' : 'customer.reactivate',
      organizationId,
      subject: customerId,
      before: { canceled: before.data.canceled },
      after: { canceled: after.data.canceled },
      statements: [],
      replaces: false,
      code: after.result.code,
      data: after.data,
    };
  });
}

export function grantCredit(
  request: OperatorRequest,
  { organizationId, customerId }: CustomerKey,
  grant: GrantCreditRequest,
): Promise<Answer<GrantedCredit>> {
  return commitChange<GrantedCredit>(request, async () => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const fingerprint = await sha256Hex(canonicalJson(grant));
    // The object may be asked twice, and must not grant twice.
    const idempotencyKey = request.idempotencyKey ?? crypto.randomUUID();
    const answer = await ask(customerByName(request.env, { organizationId, customerId }), (customer) =>
      customer.grant({
        organizationId,
        unit: grant.kind === 'USD' ? 'USD' : grant.meterSlot,
        amount: grant.kind === 'USD' ? String(parseUsd(grant.amountUsd)) : String(grant.units),
        expiresAtMs: grant.expiresAt === undefined ? null : Date.parse(grant.expiresAt),
        reference: grant.reference ?? null,
        idempotencyKey,
        fingerprint,
      }),
    );
    if (!answer.ok) return answer;
    const { warnings: _warnings, ...granted } = answer.data;
    return {
      action: 'credit.grant',
      organizationId,
      subject: customerId,
      before: null,
      after: { ...grant, ...granted },
      statements: [],
      replaces: false,
      code: answer.result.code,
      data: answer.data,
    };
  });
}

/** Takes back what is left of a credit. A second revocation gets the answer of the first, and is not logged again. */
export function revokeCredit(
  request: OperatorRequest,
  { organizationId, customerId }: CustomerKey,
  creditId: string,
  { reason }: CorrectionRequest,
): Promise<Answer<RevokedCredit>> {
  return commitChange<RevokedCredit>(request, async () => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const revoke = (old: LedgerEntry | null): Promise<Answer<RevokedCredit>> =>
      ask(customerByName(request.env, { organizationId, customerId }), (customer) =>
        customer.revoke({ organizationId, creditId, reason, old }),
      );
    let answer = await revoke(null);
    if (!answer.ok && answer.refusal.code === 'NOT_FOUND') {
      const old = await findOldEntry(request.env, { organizationId, customerId }, creditId);
      if (old) answer = await revoke(old);
    }
    if (!answer.ok || answer.replayed) return answer;
    return {
      action: 'credit.revoke',
      organizationId,
      subject: customerId,
      before: null,
      after: answer.data,
      statements: [],
      replaces: false,
      code: answer.result.code,
      data: answer.data,
    };
  });
}

/** Erases what others than the customer's objects have. A new customer of the same id has nothing there until that is done. */
async function eraseHistory(
  env: Env,
  customer: CustomerKey,
  { database, nowMs }: { database: DatabaseName; nowMs: number },
) {
  try {
    await Promise.all(
      projectorsOf(env, database).map((address) => ask(address, (projector) => projector.erase(customer))),
    );
    const waiting = await watchOf(env, customer.organizationId).erase(customer.customerId);
    if (env.ARCHIVE) await markArchiveErased(env, customer, nowMs);
    const rows = await eraseProjection(env, customer);
    // What is no longer in D1 is read by none of them any more.
    await eraseFromWebhooks(env, customer);
    return { ...rows, events: rows.events + waiting };
  } finally {
    await finishErasure(env, customer);
  }
}

/**
 * Erases a customer: the object, its call ids, its rows in D1, and, in the next runs of the archive, there. Each part may be repeated, so an erasure that broke off
 * is finished by sending it again. The event log records the erasure.
 */
export function eraseCustomer(
  request: OperatorRequest,
  { organizationId, customerId }: CustomerKey,
): Promise<Answer<ErasedCustomer>> {
  return commitChange<ErasedCustomer>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const database = await databaseNameOf(request.env, organizationId);
    const objects = await eraseObjects(request.env, { organizationId, customerId });
    const erased = {
      ...objects,
      ...(await eraseHistory(request.env, { organizationId, customerId }, { database, nowMs })),
    };
    if (!Object.values(erased).some(Boolean)) return refuse('CUSTOMER_NOT_FOUND', 'no such customer');
    return {
      action: 'customer.erase',
      organizationId,
      subject: customerId,
      before: null,
      after: erased,
      statements: [],
      replaces: false,
      code: 'CUSTOMER_ERASED',
      data: { customerId, erased },
    };
  });
}
