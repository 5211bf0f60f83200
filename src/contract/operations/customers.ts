/**
 * Customers in an organization's view: create, read usage, change plan, replenish, list.
 */
import { z } from 'zod';
import {
  ChangePlanBody,
  ChangePlanData,
  CustomerListItem,
  CustomerUsageData,
  ListCustomersQuery,
  ProvisionCustomerData,
  ProvisionCustomerRequest,
  ReplenishBody,
  UsagePlan,
} from '../customers.ts';
import { customerId, ListQuery, pageSchema } from '../fields.ts';
import { apiKey, type Operation, operation } from './operation.ts';

const customerParam = z.object({ customerId });

export const customers = {
  provisionCustomer: operation({
    operationId: 'provisionCustomer',
    summary: 'Create a customer, or read the existing one',
    method: 'POST',
    path: '/customers',
    security: { kind: 'apiKey', scopes: ['customers:write'], legacyGrant: 'customers:provision' },
    body: ProvisionCustomerRequest,
    code: 'CUSTOMER_READY',
    data: ProvisionCustomerData,
    refusals: ['SUBSCRIPTION_NOT_FOUND', 'IDEMPOTENCY_KEY_CONFLICT'],
  }),
  readUsage: operation({
    operationId: 'readUsage',
    summary: "Read a customer's entitlements and meters without a call",
    method: 'GET',
    path: '/customers/{customerId}/usage',
    security: apiKey('usage:read'),
    params: customerParam,
    code: 'CUSTOMER_READY',
    data: CustomerUsageData,
    refusals: ['SUBSCRIPTION_NOT_FOUND'],
  }),
  changePlan: operation({
    operationId: 'changePlan',
    summary: "Change a customer's plan",
    method: 'POST',
    path: '/customers/{customerId}/change_plan',
    security: apiKey('customers:write'),
    params: customerParam,
    body: ChangePlanBody,
    code: 'PLAN_CHANGED',
    data: ChangePlanData,
    refusals: ['PLAN_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND', 'CONFLICT', 'IDEMPOTENCY_KEY_CONFLICT'],
  }),
  replenishCustomer: operation({
    operationId: 'replenishCustomer',
    summary: 'Start a new usage cycle now, with a pending plan change applied',
    method: 'POST',
    path: '/customers/{customerId}/replenish',
    security: apiKey('customers:write'),
    params: customerParam,
    body: ReplenishBody,
    code: 'CUSTOMER_REPLENISHED',
    data: ChangePlanData,
    refusals: ['SUBSCRIPTION_NOT_FOUND', 'IDEMPOTENCY_KEY_CONFLICT'],
  }),
  listCustomers: operation({
    operationId: 'listCustomers',
    summary: 'List customers with their usage and cost, which are up to a minute old',
    method: 'GET',
    path: '/customers',
    security: apiKey('customers:read'),
    query: ListCustomersQuery,
    code: 'CUSTOMERS_LISTED',
    data: pageSchema(CustomerListItem),
    csv: true,
  }),
  listUsagePlans: operation({
    operationId: 'listUsagePlans',
    summary: 'List usage plans in their newest version',
    method: 'GET',
    path: '/usage-plans',
    security: apiKey('customers:read'),
    query: ListQuery,
    code: 'USAGE_PLANS_LISTED',
    data: pageSchema(UsagePlan),
  }),
} as const satisfies Record<string, Operation>;
