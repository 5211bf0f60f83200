/**
 * The effects of the console's script in a real browser: a setup that notices the first call by itself, forms that are
 * sent once and lose nothing, copying; and the same pages without it.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { violations } from './accessibility.ts';
import { launch, openPage, signIn, type Watched } from './browser.ts';
import { sharedServer } from './server.ts';

const server = sharedServer();
let browser: Browser;
/** At least as long as the script waits before it reads again. */
const LIVE_MS = 2_500;

beforeAll(async () => {
  browser = await launch();
});

async function signedIn(options: Parameters<typeof openPage>[2] = {}): Promise<Watched> {
  const watched = await openPage(browser, server.url, options);
  await signIn(watched.page, server);
  return watched;
}

/** An organization with a plan and a key, and no call. */
async function createOrganization(name: string): Promise<{ org: string; api: Api; keyId: string }> {
  const org = (await server.operator.send('createOrganization', { body: { name } })).data.organizationId;
  const plan = { name: 'Free', limitType: 'BLOCK', limits: { premiumCalls: 5 } };
  await server.operator.send('putPlan', { params: { org, planId: 'free' }, body: plan });
  await server.operator.send('updateOrganization', { params: { org }, body: { defaultPlanId: 'free' } });
  const { key, keyId } = (await server.operator.send('createKey', { params: { org }, body: { name: 'Shop' } })).data;
  return { org, api: server.operator.with(key), keyId };
}

async function makeCall(api: Api): Promise<string> {
  const { callId } = (await api.send('beginCall', { body: { customerId: 'ada' } })).data;
  const usage = { modelUsed: 'openai/gpt-6-luna', inputTokens: 1_000, responseTokens: 100 };
  expect((await api.send('endCall', { body: { callId, ...usage } })).status).toBe(200);
  return callId;
}

const posts = (page: Page) => {
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(new URL(request.url()).pathname);
  });
  return sent;
};

test('the setup notices the first call by itself, says so, and keeps the focus', async () => {
  const { page, complaints, close } = await signedIn();
  const { org, api } = await createOrganization('Live Ltd');
  await page.clock.install();
  await page.goto(`/console/organizations/${org}/setup`);
  await page.getByText('3 of 5 steps done').waitFor();
  expect(await violations(page)).toEqual([]);
  const link = page.getByRole('link', { name: 'Create an API key' });
  await link.focus();
  await makeCall(api);
  const complete = page.getByText('The setup is complete.', { exact: true });
  await expect.poll(() => page.clock.fastForward(LIVE_MS).then(() => complete.count()), { interval: 200 }).toBe(1);
  await page.locator('.unseen[role=status]', { hasText: 'The setup is complete' }).waitFor({ state: 'attached' });
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Create an API key');
  expect(await violations(page)).toEqual([]);
  // A complete setup is not read any more.
  let reads = 0;
  page.on('request', () => {
    reads += 1;
  });
  for (let times = 0; times < 5; times += 1) await page.clock.fastForward(LIVE_MS);
  expect(reads).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test('without script the same page follows by reloading, and a form creates an organization', async () => {
  const { page, complaints, close } = await signedIn({ javaScriptEnabled: false });
  await page.goto('/console/organizations/new');
  await page.getByRole('textbox', { name: 'Name' }).fill('Plain Ltd');
  await page.getByRole('button', { name: 'Create organization' }).click();
  await page.getByText('0 of 5 steps done').waitFor();
  expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
  const [, org = ''] = /organizations\/([^/]+)\/setup/.exec(page.url()) ?? [];
  await server.operator.send('putPlan', {
    params: { org, planId: 'free' },
    body: { name: 'Free', limitType: 'BLOCK' },
  });
  await page.getByText('1 of 5 steps done').waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('a form is sent once, however often its button is pressed', async () => {
  const { page, complaints, close } = await signedIn();
  const sent = posts(page);
  await page.route('**/console/organizations', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  await page.goto('/console/organizations/new');
  await page.getByRole('textbox', { name: 'Name' }).fill('Twice Ltd');
  const state = await page.evaluate<string>(`(() => {
    const button = document.querySelector('main form button');
    for (let times = 0; times < 3; times += 1) button.click();
    return button.getAttribute('aria-disabled');
  })()`);
  expect(state).toBe('true');
  await page.waitForURL(/\/setup/);
  expect(sent).toEqual(['/console/organizations']);
  expect(complaints).toEqual([]);
  await close();
});

test('a form whose session has ended keeps what was typed, and is sent after the sign-in in another tab', async () => {
  const { page, complaints, close } = await signedIn();
  const sent = posts(page);
  await page.goto('/console/organizations/new');
  await page.getByRole('textbox', { name: 'Name' }).fill('Patient Ltd');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Create organization' }).click();
  await page.getByText('Your session has ended, and nothing was sent.').waitFor();
  expect(sent).toEqual([]);
  const opened = page.context().waitForEvent('page');
  await page.getByRole('link', { name: 'Sign in in a new tab' }).click();
  const other = await opened;
  await other.getByLabel('Operator token').fill(server.operatorToken);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await other.waitForURL(/\/console$/);
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Patient Ltd');
  await page.getByRole('button', { name: 'Create organization' }).click();
  await page.waitForURL(/\/setup/);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Setup');
  expect(complaints).toEqual([]);
  await close();
});

test('the page of a new key copies the commands of the first call, and they make it', async () => {
  const { page, complaints, close } = await signedIn({ permissions: ['clipboard-read', 'clipboard-write'] });
  const { org } = await createOrganization('Copy Ltd');
  await page.goto(`/console/organizations/${org}/keys/new`);
  await page.getByRole('textbox', { name: 'Name' }).fill('Backend');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = (await page.locator('.secret').textContent())?.trim() ?? '';
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const commands = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(commands).toContain(`KEY='${key}'`);
  expect(await violations(page)).toEqual([]);
  const { stdout } = await promisify(execFile)('bash', ['-c', commands]);
  expect(stdout).toContain('costUSD');
  expect(complaints).toEqual([]);
  await close();
});

test('a shortened call id is copied whole by keyboard, and the page says so; without script its title has it', async () => {
  const { page, complaints, close } = await signedIn({ permissions: ['clipboard-read', 'clipboard-write'] });
  const { org, api } = await createOrganization('Ids Ltd');
  const callId = await makeCall(api);
  const calls = `/console/organizations/${org}/calls`;
  const link = page.locator(`a[title="${callId}"]`);
  await expect.poll(() => page.goto(calls).then(() => link.count()), { interval: 500 }).toBe(1);
  expect((await link.textContent())?.trim()).toBe(`${callId.slice(0, 4)}…${callId.slice(-8)}`);
  for (const path of [calls, `${calls}/${callId}`]) {
    await page.goto(path);
    const button = page.getByRole('button', { name: 'Copy the call id' });
    await page.evaluate("navigator.clipboard.writeText('')");
    if (path === calls) {
      await link.focus();
      await page.keyboard.press('Tab');
    } else await button.focus();
    expect(await page.evaluate<string>("document.activeElement.getAttribute('aria-label')")).toBe('Copy the call id');
    await page.keyboard.press('Enter');
    await page.locator('.unseen[role=status]', { hasText: 'Copied' }).waitFor({ state: 'attached' });
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(callId);
    expect(await violations(page)).toEqual([]);
  }
  expect(complaints).toEqual([]);
  await close();
  const plain = await signedIn({ javaScriptEnabled: false });
  await plain.page.goto(calls);
  expect(await plain.page.locator(`a[title="${callId}"]`).count()).toBe(1);
  expect(await plain.page.getByRole('button', { name: 'Copy the call id' }).count()).toBe(0);
  await plain.close();
});

test('the pages that ask before a change pass axe-core', async () => {
  const { page, complaints, close } = await signedIn();
  const { org, keyId } = await createOrganization('Ask Ltd');
  const path = `/console/organizations/${org}`;
  for (const asked of [`${path}/keys/${keyId}/revoke`, `${path}/plans/free/migrate?when=NOW`, '/console/health']) {
    await page.goto(asked);
    expect([asked, await violations(page)]).toEqual([asked, []]);
  }
  expect(complaints).toEqual([]);
  await close();
});
