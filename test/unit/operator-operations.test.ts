/**
 * An operator's operation can be reached in every way: by API, command and console, and a document names it. Everything
 * that can be put can be read and deleted.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/operator-commands.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';
import { implemented } from '../../src/operator/implemented.ts';

/** Puts without a DELETE, each with its substitute. */
const KEPT: Readonly<Record<string, string>> = {
  '/operator/organizations/{org}/plans/{planId}': 'customers have its versions, and calls refer to them',
  '/v1/compression/profile': 'a profile that compresses nothing is put instead',
  '/operator/organizations/{org}/compression/profile': 'a profile that compresses nothing is put instead',
};

const all: Operation[] = Object.values(operations);
const paths = all.filter(({ method }) => method === 'PUT').map(({ path }) => path);
const has = (method: string, path: string) => all.some((one) => one.method === method && one.path === path);

describe('every path that can be put', () => {
  test.each(paths)('%s can be read', (path) => {
    expect(has('GET', path)).toBe(true);
  });

  test.each(paths)('%s can be deleted, or is an exception with a reason', (path) => {
    expect(has('DELETE', path)).toBe(!(path in KEPT));
  });

  test('an exception is a path that can be put', () => {
    expect(paths).toEqual(expect.arrayContaining(Object.keys(KEPT)));
  });
});

const ofOperator = all.filter(({ security }) => security.kind === 'operator');
const textsIn = (folder: string, ending: RegExp) =>
  readdirSync(join(PROJECT_DIR, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file))
    .map((file) => readFileSync(join(PROJECT_DIR, folder, file), 'utf8'))
    .join('\n');
const DOCUMENTS = `${textsIn('docs', /\.md$/)}${readFileSync(join(PROJECT_DIR, 'README.md'), 'utf8')}`;
const CONSOLE = textsIn('src/console', /\.tsx?$/);

/** Operations that no page names: the page that shows the same, or the reason for none. */
const WITHOUT_NAME: Readonly<Record<string, { page: string } | { reason: string }>> = {
  listOrganizations: { page: 'pages/organizations.tsx' },
  readOrganization: { page: 'app.tsx' },
  readOrganizationSetup: { page: 'pages/setup.tsx' },
  readIdentity: { page: 'navigation.tsx' },
  listOrganizationCustomers: { page: 'pages/customers.tsx' },
  listOrganizationCalls: { page: 'pages/calls.tsx' },
  readOrganizationAnomalies: { page: 'pages/anomalies.tsx' },
  readOrganizationForecast: { page: 'customer/usage-tab.tsx' },
  readOrganizationMargin: { page: 'pages/margin.tsx' },
  listCustomerMargins: { page: 'margin-customers.tsx' },
  readModels: { page: 'pages/models.tsx' },
  listPrices: { page: 'pages/models.tsx' },
  readPrices: { page: 'pages/models.tsx' },
  listVendors: { page: 'pages/vendors.tsx' },
  readAttention: { page: 'attention-view.tsx' },
  listDatabases: { page: 'pages/health.tsx' },
  readOperator: { page: 'pages/operators.tsx' },
  readOrganizationUsageContext: { reason: 'applications plan their calls with it' },
  operatorCreateCustomer: { reason: 'applications create their customers; for an operator it is a command' },
  operatorReplenish: { reason: 'a usage period begins again for tests and support alone' },
  deleteModels: { reason: 'a page saves mappings with nothing in them' },
  deletePrices: { reason: 'a page replaces a price; a model goes back to the catalog by a command' },
  deleteVendor: { reason: 'calls to the vendor stop at once, so its name is typed' },
  deleteSampling: { reason: 'a page saves a policy that samples nothing' },
  listReviews: { reason: 'reviews come from the files of a catalog' },
  putReview: { reason: 'reviews come from the files of a catalog' },
  deleteReview: { reason: 'reviews come from the files of a catalog' },
  listSharedStripeCustomers: { reason: 'a deployment has some once, after its update' },
  releaseStripeCustomer: { reason: 'a deployment has some once, after its update' },
  listOutbox: { reason: 'what the database refuses is looked at by who mends the service' },
  resendOutbox: { reason: 'what the database refuses is looked at by who mends the service' },
  listArchive: { reason: 'the page of health says how far the archive is' },
  verifyArchive: { reason: 'it takes many requests, one after the other' },
  exportSamples: { reason: 'programs read the lines' },
  exportHistory: { reason: 'programs read the lines' },
};

describe('every operation of the operator', () => {
  test.each(ofOperator.map((operation) => [operation.operationId, operation] as const))(
    '%s has a command, a document, and a page or a reason for none',
    (id, { path }) => {
      const commands = COMMANDS.filter((command) => command.id === id);
      expect(commands).not.toEqual([]);
      const words = commands.map(({ noun, verb }) => [noun, verb].filter(Boolean).join(' '));
      const address = new RegExp(`${path.replaceAll(/[.:]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/ `"]+')}(?![/\\w])`);
      const isDocumented =
        address.test(DOCUMENTS) ||
        words.some((text) => DOCUMENTS.includes(`operator -- ${text}`) || DOCUMENTS.includes(`\`${text}`));
      expect([id, isDocumented]).toEqual([id, true]);
      const isNamed = new RegExp(`\\b${id}\\b`).test(CONSOLE);
      expect([id, isNamed]).toEqual([id, !(id in WITHOUT_NAME)]);
    },
  );

  test('a page that shows the same exists', () => {
    const files = Object.values(WITHOUT_NAME).flatMap((other) => ('page' in other ? [other.page] : []));
    expect(files.filter((file) => !existsSync(join(PROJECT_DIR, 'src/console', file)))).toEqual([]);
  });

  test.each(Object.entries(implemented))('%s is logged if it changes something', (id, { operation, action }) => {
    expect(operation.operationId).toBe(id);
    expect(action !== undefined).toBe(operation.method !== 'GET');
  });
});
