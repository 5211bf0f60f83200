/**
 * A page of another site in the browser of an admin whom Cloudflare Access let in: no request that it can make the
 * browser send changes anything at the operator API, even if the cookie of Access goes with every request. A page of
 * the service may do it.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { OPERATOR_HEADER } from '../../src/contract/envelope.ts';
import { type AccessServer, AUDIENCE, startAccess, startOpenDoor } from '../support/access-server.ts';
import { createTenant } from '../support/api.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { launch } from './browser.ts';
import { type OwnServer, startBrowserServer } from './server.ts';

const ADMIN = 'admin@example.com';

let access: AccessServer;
let server: OwnServer;
let door: Loopback;
let shop: Loopback;
let browser: Browser;
/** The attacked targets: paths that change something without a body. */
let targets: string[];

beforeAll(async () => {
  access = await startAccess();
  const vars = { ACCESS_TEAM_DOMAIN: access.url, ACCESS_AUD: AUDIENCE };
  [server, browser] = await Promise.all([startBrowserServer(inject('shared').bundleDir, vars), launch()]);
  door = await startOpenDoor(server.url, access, ADMIN);
  shop = await serveOnLoopback((_, response) =>
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Shop</title>'),
  );
  const { operator } = server;
  await operator.send('putOperator', { params: { name: ADMIN }, body: { role: 'admin' } });
  const { organizationId: org } = await createTenant(operator);
  const params = { org };
  expect((await operator.send('operatorCreateCustomer', { params, body: { customerId: 'alice' } })).status).toBe(200);
  const { keyId } = (await operator.send('createKey', { params, body: { name: 'backend' } })).data;
  const organization = `/operator/organizations/${org}`;
  targets = [
    `${organization}/customers/alice/replenish`,
    `${organization}/customers/alice/cancel`,
    `${organization}/plans/test/archive`,
    `${organization}/keys/${keyId}/rotate`,
  ];
});
afterAll(async () => {
  await Promise.all([server?.stop(), access?.close(), door?.close(), shop?.close()]);
});

const lastEvent = async () => (await server.operator.send('listEvents', { query: { limit: '1' } })).data.items[0];

/** The status of a request from the page's script; `null` if the browser hides it from the page or does not send it. */
function send(page: Page, url: string, init: RequestInit): Promise<number | null> {
  return page.evaluate(
    ([address, sent]) =>
      fetch(address, sent).then(
        ({ status }) => status,
        () => null,
      ),
    [url, init] as const,
  );
}

test('a page of another site changes nothing, by a form, by a script, or with the header that it may not send', async () => {
  const page = await browser.newPage();
  // Another site than 127.0.0.1.
  const site = shop.url.replace('127.0.0.1', 'localhost');
  const before = await lastEvent();
  for (const path of targets) {
    await page.goto(site);
    for (const enctype of ['application/x-www-form-urlencoded', 'text/plain']) {
      await page.setContent(
        `<form method="post" action="${door.url}${path}" enctype="${enctype}"><button>Win</button></form>`,
      );
      const answered = page.waitForResponse((response) => response.request().method() === 'POST');
      await page.click('button');
      expect((await answered).status()).toBe(403);
      await page.goto(site);
    }
    // An opaque answer has the status 0.
    for (const init of [
      { method: 'POST', mode: 'no-cors', credentials: 'include' },
      {
        method: 'POST',
        mode: 'no-cors',
        credentials: 'include',
        headers: { 'Content-Type': 'text/plain' },
        body: '{}',
      },
      { method: 'POST', credentials: 'include' },
      { method: 'POST', credentials: 'include', headers: { [OPERATOR_HEADER]: '1' } },
    ] as const)
      expect([0, null]).toContain(await send(page, door.url + path, init));
  }
  expect(await lastEvent()).toEqual(before);
  await page.close();
});

test('a page of the service sends what a page of another site may not', async () => {
  const page = await browser.newPage();
  await page.goto(`${door.url}/health`);
  const [replenish = ''] = targets;
  expect(await send(page, replenish, { method: 'POST' })).toBe(403);
  expect(await send(page, replenish, { method: 'POST', headers: { [OPERATOR_HEADER]: '1' } })).toBe(200);
  expect(await lastEvent()).toMatchObject({ actor: ADMIN });
  await page.close();
});
