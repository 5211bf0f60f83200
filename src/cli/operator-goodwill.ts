/**
 * Goodwill from the command line: a USD credit of the charge of a call or an increment, granted once. The record and
 * its cost stay.
 */

import { type GoodwillDecision, goodwillOfCall, goodwillOfEvent } from '../contract/goodwill.ts';
import { asCustomerId } from '../domain/ids.ts';
import { callOperation, type Data } from './operator-client.ts';
import type { Target } from './operator-target.ts';
import { UsageError } from './usage-error.ts';

/** Reports useful facts on standard error. */
type Tell = (line: string) => void;

/** The most entries of one increment: one for its charge, one for its units, and a few for a reversal. */
const ENTRIES_MAX = '200';

export async function goodwillForCall(
  target: Target,
  { org = '', callId = '' }: Record<string, string>,
  _body: unknown,
  tell: Tell,
): Promise<Data<'grantCredit'>> {
  const { data: call } = await callOperation(target, 'readOrganizationCall', { params: { org, callId } });
  return grant(target, org, tell, goodwillOfCall(call));
}

export async function goodwillForEvent(
  target: Target,
  { org = '', eventId = '' }: Record<string, string>,
  { customerId }: Record<string, unknown>,
  tell: Tell,
): Promise<Data<'grantCredit'>> {
  if (typeof customerId !== 'string') throw new UsageError('--customer-id is required for goodwill');
  const input = { params: { org, customerId }, query: { eventId, limit: ENTRIES_MAX } };
  const { items } = (await callOperation(target, 'listCustomerLedger', input)).data;
  return grant(target, org, tell, goodwillOfEvent(eventId, asCustomerId(customerId), items));
}

async function grant(
  target: Target,
  org: string,
  tell: Tell,
  decision: GoodwillDecision,
): Promise<Data<'grantCredit'>> {
  if (!decision.ok) throw new Error(decision.reason);
  const { customerId, grant: body, idempotencyKey } = decision.goodwill;
  const params = { org, customerId };
  // The service remembers a key for two days, the ledger for years.
  const query = { cause: 'GRANT', reference: body.reference ?? '', limit: '1' };
  const [earlier] = (await callOperation(target, 'listCustomerLedger', { params, query })).data.items;
  if (earlier) {
    tell(`goodwill was granted for it already, at ${earlier.at}`);
    return { creditId: earlier.creditId ?? '', balanceUsd: earlier.balance };
  }
  return (await callOperation(target, 'grantCredit', { params, body, idempotencyKey })).data;
}
