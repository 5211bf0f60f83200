/**
 * Operator: a customer as the operator sees it, credits, cancellation, erasure, refused changes.
 */
import { CorrectionRequest } from '../corrections.ts';
import {
  ChangePlanBody,
  ChangePlanData,
  CustomerListItem,
  CustomerUsageData,
  ListCustomersQuery,
  ProvisionCustomerBody,
  ProvisionCustomerData,
} from '../customers.ts';
import { customerId, ListQuery, listOf, text } from '../fields.ts';
import {
  ErasedCustomer,
  GrantCreditRequest,
  GrantedCredit,
  OperatorCustomer,
  RevokedCredit,
} from '../operator-customers.ts';
import { ResentOutbox, SetAsideChange } from '../outbox.ts';
import { admin, editor, type Operation, operation, organizationParam, viewer } from './operation.ts';

const customerParam = organizationParam.extend({ customerId });

/** The operator's key stands in the header. */
const KEYS = { idempotencyKey: true, idempotency: true } as const;

export const operatorCustomers = {
  listOrganizationCustomers: operation({
    operationId: 'listOrganizationCustomers',
    summary: "List an organization's customers with what they have used and cost",
    method: 'GET',
    path: '/operator/organizations/{org}/customers',
    security: viewer,
    params: organizationParam,
    query: ListCustomersQuery,
    code: 'CUSTOMERS_LISTED',
    data: listOf(CustomerListItem),
    csv: true,
  }),
  operatorCreateCustomer: operation({
    operationId: 'operatorCreateCustomer',
    summary: 'Create a customer, or get the one that exists, as the operator',
    method: 'POST',
    path: '/operator/organizations/{org}/customers',
    security: editor,
    params: organizationParam,
    body: ProvisionCustomerBody.omit({ ...KEYS, customerName: true }),
    code: 'CUSTOMER_READY',
    data: ProvisionCustomerData,
  }),
  operatorChangePlan: operation({
    operationId: 'operatorChangePlan',
    summary: "Change a customer's plan, as the operator",
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/change_plan',
    security: editor,
    params: customerParam,
    body: ChangePlanBody.omit(KEYS),
    code: 'PLAN_CHANGED',
    data: ChangePlanData,
  }),
  operatorReplenish: operation({
    operationId: 'operatorReplenish',
    summary: 'Start a new usage cycle of a customer now, with a pending plan change applied, as the operator',
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/replenish',
    security: editor,
    params: customerParam,
    code: 'CUSTOMER_REPLENISHED',
    data: ChangePlanData,
  }),
  readCustomer: operation({
    operationId: 'readCustomer',
    summary: 'Read a customer as the operator sees it',
    method: 'GET',
    path: '/operator/organizations/{org}/customers/{customerId}',
    security: viewer,
    params: customerParam,
    code: 'CUSTOMER_READ',
    data: OperatorCustomer,
  }),
  cancelCustomer: operation({
    operationId: 'cancelCustomer',
    summary: "Cancel a customer's subscription",
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/cancel',
    security: editor,
    params: customerParam,
    code: 'CUSTOMER_CANCELED',
    data: CustomerUsageData,
  }),
  reactivateCustomer: operation({
    operationId: 'reactivateCustomer',
    summary: 'Reactivate a canceled subscription',
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/reactivate',
    security: editor,
    params: customerParam,
    code: 'CUSTOMER_REACTIVATED',
    data: CustomerUsageData,
  }),
  grantCredit: operation({
    operationId: 'grantCredit',
    summary: 'Grant USD credit, or units of a custom meter',
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/credits',
    security: editor,
    params: customerParam,
    body: GrantCreditRequest,
    code: 'CREDIT_GRANTED',
    data: GrantedCredit,
  }),
  revokeCredit: operation({
    operationId: 'revokeCredit',
    summary: 'Take back what is left of a credit',
    method: 'POST',
    path: '/operator/organizations/{org}/customers/{customerId}/credits/{creditId}/revoke',
    security: editor,
    params: customerParam.extend({ creditId: text(64).describe('The credit') }),
    body: CorrectionRequest,
    code: 'CREDIT_REVOKED',
    data: RevokedCredit,
  }),
  eraseCustomer: operation({
    operationId: 'eraseCustomer',
    summary: 'Erase a customer everywhere',
    method: 'DELETE',
    path: '/operator/organizations/{org}/customers/{customerId}',
    security: admin,
    params: customerParam,
    code: 'CUSTOMER_ERASED',
    data: ErasedCustomer,
  }),
  listOutbox: operation({
    operationId: 'listOutbox',
    summary: "List customers' changes that D1 refused and that are set aside",
    method: 'GET',
    path: '/operator/organizations/{org}/outbox',
    security: viewer,
    params: organizationParam,
    query: ListQuery,
    code: 'OUTBOX_LISTED',
    data: listOf(SetAsideChange),
  }),
  resendOutbox: operation({
    operationId: 'resendOutbox',
    summary: 'Queue changes that are set aside for D1 again',
    method: 'POST',
    path: '/operator/organizations/{org}/outbox/resend',
    security: editor,
    params: organizationParam,
    code: 'OUTBOX_RESENT',
    data: ResentOutbox,
  }),
} as const satisfies Record<string, Operation>;
