/**
 * Every form of the console needs a role, the same as its operation in the API, and a new one needs an admin.
 */
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { CONSOLE_PATH, type ConsoleEnv } from '../../src/console/context.ts';
import { mountPages } from '../../src/console/pages.ts';
import { roleFor } from '../../src/console/roles.ts';
import { operations } from '../../src/contract/operations.ts';
import { type OperatorRole, ROLES } from '../../src/contract/roles.ts';

/** The operation that each form stands for; the console's own are without one. */
const FORMS: Record<string, keyof typeof operations | OperatorRole> = {
  '/organizations': 'createOrganization',
  '/organizations/:org/settings': 'updateOrganization',
  '/organizations/:org/webhooks': 'putWebhook',
  '/organizations/:org/webhooks/:webhookId/edit': 'putWebhook',
  '/organizations/:org/webhooks/:webhookId/test': 'testWebhook',
  '/organizations/:org/webhooks/:webhookId/rotate': 'rotateWebhook',
  '/organizations/:org/webhooks/:webhookId/replay': 'replayWebhook',
  '/organizations/:org/webhooks/:webhookId/delete': 'deleteWebhook',
  '/organizations/:org/webhooks/:webhookId/deliveries/:eventId/send': 'sendDelivery',
  '/organizations/:org/customers/:customerId/credit': 'grantCredit',
  '/organizations/:org/customers/:customerId/credits/:creditId/revoke': 'revokeCredit',
  '/organizations/:org/customers/:customerId/cancel': 'cancelCustomer',
  '/organizations/:org/customers/:customerId/reactivate': 'reactivateCustomer',
  '/organizations/:org/customers/:customerId/erase': 'eraseCustomer',
  '/organizations/:org/customers/:customerId/plan': 'editor',
  '/organizations/:org/customers/:customerId/reverse-increment': 'operatorReverseMeterEvent',
  '/organizations/:org/calls/:callId/reverse': 'operatorReverseCall',
  '/organizations/:org/calls/:callId/amend': 'operatorAmendCall',
  '/organizations/:org/plans': 'putPlan',
  '/organizations/:org/plans/:planId': 'putPlan',
  '/organizations/:org/plans/:planId/migrate': 'migratePlan',
  '/organizations/:org/plans/:planId/archive': 'archivePlan',
  '/organizations/:org/plans/:planId/restore': 'restorePlan',
  '/organizations/:org/setup/hide': 'viewer',
  '/organizations/:org/setup/show': 'viewer',
  '/organizations/:org/keys': 'createKey',
  '/organizations/:org/keys/:keyId': 'updateKey',
  '/organizations/:org/keys/:keyId/rotate': 'rotateKey',
  '/organizations/:org/keys/:keyId/revoke': 'revokeKey',
  '/organizations/:org/models': 'setModels',
  '/organizations/:org/models/switch-back': 'switchModelBack',
  '/organizations/:org/prices': 'setPrice',
  '/organizations/:org/reprice': 'startRepricing',
  '/organizations/:org/vendors': 'setVendor',
  '/organizations/:org/sampling': 'setSampling',
  '/organizations/:org/samples/:sampleId/delete': 'deleteSample',
  '/organizations/:org/compression': 'operatorSaveCompressionProfile',
  '/organizations/:org/compression/jobs': 'operatorStartCompressionJob',
  '/catalog': 'publishCatalog',
  '/catalog/publish': 'publishCatalog',
  '/operators': 'putOperator',
  '/operators/:name/remove': 'deleteOperator',
};

const app = new Hono<ConsoleEnv>();
mountPages(app);
const pathsOf = (method: string) => [
  ...new Set(app.routes.filter((route) => route.method === method).map(({ path }) => path)),
];
/** The path with values, as a browser sends it. */
const sent = (path: string) => CONSOLE_PATH + path.replaceAll(/:(\w+)/g, (_, name: string) => `a%2Fb-${name}`);

function roleOf(form: keyof typeof operations | OperatorRole): OperatorRole {
  if (ROLES.includes(form as OperatorRole)) return form as OperatorRole;
  const { security } = operations[form as keyof typeof operations];
  if (security.kind !== 'operator') throw new Error(`${form} is no operation of the operator`);
  return security.role;
}

test('the table has every form of the console, and no other', () => {
  expect(pathsOf('POST').toSorted()).toEqual(Object.keys(FORMS).toSorted());
});

describe('a form needs the role of its operation', () => {
  test.each(Object.entries(FORMS))('%s: %s', (path, form) => {
    expect(roleFor('POST', sent(path))).toBe(roleOf(form));
  });
});

test('a form that nobody listed needs an admin, also under another method', () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    expect(roleFor(method, `${CONSOLE_PATH}/new/form`)).toBe('admin');
  expect(roleFor('POST', `${CONSOLE_PATH}/organizations/x/keys/y/z`)).toBe('admin');
});

test('a viewer reads every page but those with what customers sent', () => {
  const more = pathsOf('GET').filter((path) => roleFor('GET', sent(path)) !== 'viewer');
  expect(more).toEqual(['/organizations/:org/samples/:sampleId']);
});
