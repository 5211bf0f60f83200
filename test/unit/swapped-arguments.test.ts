/**
 * The compiler refuses two arguments in each other's place. `npm run check` compiles this file: a line below
 * `@ts-expect-error` that compiles is an error there.
 */
import { expect, test } from 'vitest';
import { findCredentialById } from '../../src/config/credentials.ts';
import { findKey } from '../../src/config/keys.ts';
import type { Account } from '../../src/domain/account.ts';
import { beginCall, type Expected } from '../../src/domain/begin-call.ts';
import type { BeginRequest } from '../../src/domain/call.ts';
import { withMarkup } from '../../src/domain/charge.ts';
import { asCallId, asCustomerId, asOrganizationId, type CustomerKey } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { customerByName, rememberOwner } from '../../src/objects/addresses.ts';

const organizationId = asOrganizationId('organization');
const customerId = asCustomerId('customer');
const callId = asCallId('call');
const customer: CustomerKey = { organizationId, customerId };

/** Compiled, and never run. */
function swapped(env: Env, account: Account, request: BeginRequest, expected: Expected) {
  // @ts-expect-error a customer in the place of its organization
  customerByName(env, { organizationId: customerId, customerId: organizationId });
  // @ts-expect-error the customer in the place of the bindings
  customerByName(customer, env);

  // @ts-expect-error a call in the place of its customer
  rememberOwner({ organizationId, customerId: callId }, customerId);
  // @ts-expect-error the call first
  rememberOwner(callId, customer);

  const times = { deadlineAtMs: 2, nowMs: 1 };
  // @ts-expect-error a customer in the place of a call
  beginCall(account, customerId, request, expected, times);
  // @ts-expect-error the expectation in the place of the request
  beginCall(account, callId, expected, request, times);
  // @ts-expect-error two times without names
  beginCall(account, callId, request, expected, 2, 1);

  // @ts-expect-error the markup in the place of the cost
  withMarkup({ costNanoUsd: 25, markupPercent: 1_000n });
  // @ts-expect-error an amount and a percentage without names
  withMarkup(1_000n, 25);

  // @ts-expect-error an organization in the place of a key
  findCredentialById(env, organizationId, () => undefined);
  // @ts-expect-error a customer in the place of a key
  findKey(env, organizationId, customerId);
  // @ts-expect-error a text that nobody checked
  findKey(env, organizationId, 'key');
}

test("ids, amounts and times in each other's place do not compile", () => {
  expect(swapped).toBeTypeOf('function');
});
