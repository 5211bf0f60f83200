/**
 * The usage widget in a page of another origin: it renders, renews its token through that page before it expires,
 * accepts none from other windows, and stops working when its key is revoked.
 */
import type { ServerResponse } from 'node:http';
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID } from '../../src/cli/demo-organization.ts';
import { type Api, makeCalls } from '../support/api.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { violations } from './accessibility.ts';
import { launch } from './browser.ts';
import { takePicture } from './pictures.ts';
import { sharedServer } from './server.ts';

const GROUND = [200, 40, 90];

const server = sharedServer();
let browser: Browser;
let host: Loopback;
let hostOrigin: string;
let embeds: Api;
let keyId: string;
/** The request of the page's own backend, and the number of its requests. */
let request: Record<string, unknown>;
let sessions: number;
/** How the session route fails, once each, before it answers. */
let failures: Send[];

beforeAll(async () => {
  browser = await launch();
  host = await serveOnLoopback(async (incoming, response) => (await answer(incoming.url ?? '/'))(response));
  hostOrigin = host.url.replace('127.0.0.1', 'localhost');
  await makeCalls(server.demo, 'ours', 3);
  await makeCalls(server.demo, 'theirs', 17);
});
afterAll(() => host?.close());

beforeEach(async () => {
  const params = { org: DEMO_ORGANIZATION_ID };
  const created = (await server.operator.send('createKey', { params, body: { name: 'widget', prefix: 'ek-' } })).data;
  keyId = created.keyId;
  embeds = server.operator.with(created.key);
  request = { customerId: 'ours', origins: [hostOrigin], variant: 'detailed' };
  sessions = 0;
  failures = [];
});

type Send = (response: ServerResponse) => void;

/** The embedding page and its backend. */
async function answer(url: string): Promise<Send> {
  const html =
    (body: string): Send =>
    (response) =>
      response
        .writeHead(200, { 'Content-Type': 'text/html' })
        .end(
          `<!doctype html><html lang="en"><title>Shop</title><body style="margin:0;background:rgb(${GROUND})">${body}</body></html>`,
        );
  if (url === '/usage-session') {
    sessions += 1;
    const failure = failures.shift();
    if (failure) return failure;
    const { body } = await embeds.send('createEmbedSession', { body: request });
    return (response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }
  if (url === '/callback') {
    return html(`<h1>Account</h1><div id="place"></div>
      <script>window.usageSession = () => fetch('/usage-session', { method: 'POST' }).then((answer) => answer.json());</script>
      <script src="${server.url}/embed.js" data-callback="usageSession" data-target="#place" data-title="Your usage"></script>`);
  }
  if (url.startsWith('/failing-callback')) {
    const callback = new URL(url, hostOrigin).searchParams.get('callback');
    return html(`<h1>Account</h1><script>window.usageSession = ${callback};</script>
      <script src="${server.url}/embed.js" data-callback="usageSession"></script>`);
  }
  if (url === '/without-script') {
    const { embedUrl } = (await embeds.send('createEmbedSession', { body: request })).data;
    return html(
      `<h1>Account</h1><iframe src="${embedUrl}" title="Usage" style="border:0;height:600px;color-scheme:light"></iframe>`,
    );
  }
  return html(`<h1>Account</h1><script src="${server.url}/embed.js" data-session-url="/usage-session"></script>`);
}

async function openHost(path = '/', options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ baseURL: hostOrigin, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  const requested: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (sent) => {
    requested.push(sent.url());
    if (![hostOrigin, server.url].includes(new URL(sent.url()).origin)) complaints.push(`request: ${sent.url()}`);
  });
  await page.clock.install();
  await page.goto(path);
  return { page, complaints, requested, close: () => context.close() };
}

const inside = (page: Page) => page.frameLocator('iframe').first();
const frameOf = (page: Page) => page.frames().find((frame) => frame.url() === `${server.url}/embed`) as Frame;

test.each(['/', '/callback'])(
  'shows its customer in the page %s at its full height, and passes axe-core',
  async (path) => {
    const { page, complaints, close } = await openHost(path);
    await inside(page).getByText('3 calls in this period').waitFor();
    await expect.poll(async () => (await page.locator('iframe').boundingBox())?.height).toBeGreaterThan(200);
    const frame = frameOf(page);
    const scrolls = await frame.evaluate<number>(
      'document.documentElement.scrollHeight - document.documentElement.clientHeight',
    );
    expect(scrolls).toBeLessThanOrEqual(1);
    expect(await violations(frame as unknown as Page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  },
);

test.each(['/', '/without-script'])(
  'leaves its token in no address and no history entry of the page %s',
  async (path) => {
    const { page, complaints, requested, close } = await openHost(path);
    await inside(page).getByText('in this period').waitFor();
    const addresses = [...requested, ...page.frames().map((frame) => frame.url())];
    expect(addresses.filter((address) => /eyJ|token=/.test(address))).toEqual([]);
    // The script takes the token out of the document as it starts.
    await expect
      .poll(() =>
        frameOf(page).evaluate<string>('document.documentElement.outerHTML + location.href + document.referrer'),
      )
      .not.toContain('eyJ');
    const { entries } = await (await page.context().newCDPSession(page)).send('Page.getNavigationHistory');
    expect(entries.filter(({ url, userTypedURL }) => /eyJ|token=/.test(`${url} ${userTypedURL}`))).toEqual([]);
    // The blank page that the browser began with, and this one. A frame that a script adds may have an entry of its own:
    // on a loaded machine Chromium sometimes takes the page of its form for a new one (5 of 40 times beside busy loops).
    expect(entries.length).toBeLessThanOrEqual(path === '/' ? 3 : 2);
    expect(complaints).toEqual([]);
    await close();
  },
);

test('shows that the session has ended if its address has no token', async () => {
  const { page, close } = await openHost();
  await page.goto(`${server.url}/embed`);
  await page.getByText('This view has ended').waitFor();
  await close();
});

/** Holds back the frame's requests for a token until `releaseRequests` is called in the page. */
const HOLD_REQUESTS = `(() => {
  const held = [];
  const hold = (event) => {
    if (event.data.type !== 'callmeter:token-request') return;
    event.stopImmediatePropagation();
    held.push(event);
  };
  addEventListener('message', hold, true);
  window.releaseRequests = () => {
    removeEventListener('message', hold, true);
    for (const { data, origin, source } of held) dispatchEvent(new MessageEvent('message', { data, origin, source }));
  };
})()`;

/**
 * Until shortly before the token expires, and until the widget has read with the new one; what it reads with the old one
 * meanwhile does not count. The clocks of page and frame go on one after the other: the page answers once its own has, or its
 * answer would count as late.
 */
async function renewal(page: Page): Promise<void> {
  const token = page
    .waitForResponse((response) => response.url().includes('/usage-session'))
    .then(async (response) => ((await response.json()) as { data: { token: string } }).data.token);
  const read = page.waitForResponse(
    async (response) =>
      response.url().includes('/embed/data') &&
      (await response.request().headerValue('Authorization')) === `Bearer ${await token}`,
  );
  await page.evaluate(HOLD_REQUESTS);
  await page.clock.fastForward('04:05');
  await page.evaluate('releaseRequests()');
  await (await read).finished();
}

test('renews its token through the page before it expires, and shows new usage', async () => {
  const { page, complaints, requested, close } = await openHost();
  await inside(page).getByText('3 calls in this period').waitFor();
  // From here on time passes by `fastForward` alone: a slow machine must not look like a page that does not answer.
  await page.clock.pauseAt(Date.now() + 30_000);
  expect(sessions).toBe(1);
  expect(
    (await server.demo.send('beginCall', { body: { customerId: 'ours', requested: { premium: true } } })).data.allowed
      .premium,
  ).toBe(true);
  await renewal(page);
  expect(sessions).toBe(2);
  await inside(page).getByText('4 calls in this period').waitFor();
  await renewal(page);
  expect(sessions).toBe(3);
  await page.clock.fastForward('01:00');
  await inside(page).getByText('4 calls in this period').waitFor();
  // No token travelled in an address: the first one in a form, the new ones in headers.
  expect(requested.filter((url) => new URL(url).search !== '')).toEqual([]);
  expect(
    requested.filter((url) => url.startsWith(`${server.url}/embed`) && new URL(url).pathname === '/embed'),
  ).toHaveLength(2);
  expect(
    requested.filter((url) => url.includes('/embed/data')).every((url) => url === `${server.url}/embed/data`),
  ).toBe(true);
  expect(complaints).toEqual([]);
  await close();
});

const failsWith =
  (status: number, type: string, body: string): Send =>
  (response) =>
    response.writeHead(status, { 'Content-Type': type }).end(body);

test.each([
  ['answers 500', failsWith(500, 'text/plain', 'broken'), '/usage-session: status 500'],
  ['answers 401', failsWith(401, 'application/json', '{}'), '/usage-session: status 401'],
  ['answers HTML', failsWith(200, 'text/html', '<!doctype html>'), '/usage-session: no JSON'],
  ['answers without a session', failsWith(200, 'application/json', '{"embedUrl":null}'), 'no token'],
  ['answers null', failsWith(200, 'application/json', 'null'), 'no token'],
  ['breaks the connection', ((response) => response.destroy()) as Send, 'fetch'],
] as const)('says it in its place where the session route %s, and recovers', async (_, failure, reason) => {
  failures = [failure, failure];
  const { page, complaints, close } = await openHost();
  const word = page.getByRole('status').filter({ hasText: 'Your usage cannot be shown at the moment.' });
  await word.waitFor();
  await expect
    .poll(() => complaints.filter((text) => text.includes('Callmeter usage widget')).join())
    .toContain(reason);
  await expect.poll(async () => page.clock.fastForward('00:01').then(() => sessions), { interval: 400 }).toBe(3);
  await inside(page).getByText('in this period').waitFor();
  expect(await word.count()).toBe(0);
  // One line of the script's own; the browser's lines are about the answers.
  const own = complaints.filter((text) => !/^Failed to load resource/.test(text));
  expect(own).toHaveLength(1);
  await close();
});

test.each([
  ['throws', "() => { throw new Error('signed out') }", 'signed out'],
  ['rejects', "() => Promise.reject('no session')", 'no session'],
  ['is none', 'undefined', 'usageSession: not a function'],
])('says it in its place where the callback %s', async (_, callback, reason) => {
  const { page, complaints, close } = await openHost(`/failing-callback?${new URLSearchParams({ callback })}`);
  await page.getByText('Your usage cannot be shown at the moment.').waitFor();
  expect(complaints).toEqual([expect.stringContaining(reason)]);
  await close();
});

test('asks a bounded number of times, and not while the page is hidden', async () => {
  failures = Array(20).fill(failsWith(500, 'text/plain', 'broken'));
  const { page, complaints, close } = await openHost();
  await page.getByText('Your usage cannot be shown at the moment.').waitFor();
  const setHidden = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
  await setHidden(true);
  for (let times = 0; times < 5; times += 1) await page.clock.fastForward('01:00');
  const asked = sessions;
  expect(asked).toBe(1);
  await setHidden(false);
  await expect.poll(async () => page.clock.fastForward('00:31').then(() => sessions), { interval: 200 }).toBe(8);
  await page.getByText('Your usage cannot be shown. Reload the page to try again.').waitFor();
  for (let times = 0; times < 5; times += 1) await page.clock.fastForward('01:00');
  expect(sessions).toBe(8);
  expect(complaints.filter((text) => text.includes('Callmeter usage widget'))).toHaveLength(1);
  await close();
});

test('ends if nobody renews it, keeps what it shows and says so', async () => {
  const { page, close } = await openHost();
  await inside(page)
    .getByText('3 calls in this period', { exact: false })
    .or(inside(page).getByText('4 calls'))
    .waitFor();
  await page.evaluate("addEventListener('message', (event) => event.stopImmediatePropagation(), true)");
  await page.route('**/usage-session', (route) => route.abort());
  await page.clock.fastForward('05:05');
  await inside(page)
    .getByRole('status')
    .filter({ hasText: /^This view has ended\. It shows your usage as of \d\d:\d\d\. Reload the page to update it\.$/ })
    .waitFor();
  expect(await inside(page).getByText('in this period').count()).toBe(1);
  await close();
});

test('ends within a minute when its key is revoked, and reads nothing more', async () => {
  const { page, requested, close } = await openHost();
  await inside(page).getByText('in this period').waitFor();
  await server.operator.send('revokeKey', { params: { org: DEMO_ORGANIZATION_ID, keyId } });
  await page.clock.fastForward('01:01');
  await inside(page).getByText('This view has ended').waitFor();
  const read = () => requested.filter((url) => url.endsWith('/embed/data')).length;
  const before = read();
  for (let times = 0; times < 5; times += 1) await page.clock.fastForward('01:00');
  expect(read()).toBe(before);
  await close();
});

test('accepts a token only from the embedding page, not from another frame in it', async () => {
  const { page, requested, close } = await openHost();
  await inside(page).getByText('in this period').waitFor();
  const { token } = (await embeds.send('createEmbedSession', { body: { ...request, customerId: 'theirs' } })).data;
  await page.evaluate(`(() => {
    const frame = document.createElement('iframe');
    frame.srcdoc = "<script>parent.frames[0].postMessage({ type: 'callmeter:token', token: '${token}' }, '*')</scr" + "ipt>";
    document.body.append(frame);
  })()`);
  await page.waitForTimeout(500);
  expect(requested.some((url) => url.includes('/embed/data'))).toBe(false);
  expect(await inside(page).getByText('17 calls').count()).toBe(0);
  await close();
});

test('cannot be framed by a page that its session does not name', async () => {
  for (const origins of [[], ['https://app.example.com']]) {
    request = { ...request, origins };
    const { page, complaints, close } = await openHost();
    await expect.poll(() => complaints.join('\n')).toContain('frame-ancestors');
    expect(await inside(page).getByText('in this period').count()).toBe(0);
    await close();
  }
});

test.each([
  ['light', 'light'],
  ['light', 'dark'],
  ['dark', 'light'],
  ['auto', 'light'],
  ['auto', 'dark'],
] as const)(
  "with the theme %s it uses the page's background, for a reader who prefers %s",
  async (theme, colorScheme) => {
    request = { ...request, theme };
    const { page, close } = await openHost('/', { colorScheme });
    await inside(page).getByText('in this period').waitFor();
    await expect.poll(async () => (await page.locator('iframe').boundingBox())?.height).toBeGreaterThan(200);
    await takePicture(page.locator('iframe'), `widget-${theme}-${colorScheme}`);
    const box = await page.locator('iframe').boundingBox();
    if (!box) throw new Error('the frame is shown');
    const picture = await page.screenshot({
      clip: { x: box.x + box.width - 2, y: box.y + box.height - 2, width: 1, height: 1 },
    });
    const pixel = await page.evaluate<number[]>(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${picture.toString('base64')}';
    await image.decode();
    const context = document.createElement('canvas').getContext('2d');
    context.drawImage(image, 0, 0);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  })()`);
    expect(pixel).toEqual(GROUND);
    const ink = await frameOf(page).evaluate<string>('getComputedStyle(document.body).color');
    const isDark = theme === 'dark' || (theme === 'auto' && colorScheme === 'dark');
    expect(ink).toBe(isDark ? 'rgb(238, 241, 245)' : 'rgb(22, 32, 46)');
    await close();
  },
);

test.each(['light', 'dark'] as const)(
  'tells a customer on credit what pays next, in the theme %s at 390 pixels, and its link opens a tab without a way back',
  async (theme) => {
    const params = { org: DEMO_ORGANIZATION_ID };
    const customerId = `credit-${theme}`;
    const plan = {
      name: 'Metered',
      limitType: 'BLOCK',
      limits: { premiumCalls: 0, standardCalls: 100, searches: 0 },
      payg: { enabled: true, markupPercent: 20 },
      customMeters: { CUSTOM1: { label: 'Pages read', included: 10, funding: { credits: true } } },
    };
    await server.operator.send('putPlan', { params: { ...params, planId: 'metered' }, body: plan });
    await server.demo.send('provisionCustomer', { body: { customerId } });
    await server.demo.send('changePlan', { params: { customerId }, body: { planId: 'metered' } });
    const grant = (body: object) => server.operator.send('grantCredit', { params: { ...params, customerId }, body });
    expect((await grant({ kind: 'USD', amountUsd: '12.40' })).status).toBe(200);
    expect((await grant({ kind: 'METER', meterSlot: 'CUSTOM1', units: 300 })).status).toBe(200);
    await server.demo.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 60 } });
    const upgradeUrl = `${hostOrigin}/plans`;
    await server.operator.send('updateOrganization', { params, body: { upgradeUrl } });
    request = { ...request, customerId, theme };
    const { page, complaints, close } = await openHost('/', { viewport: { width: 390, height: 800 } });
    await inside(page)
      .getByText('Your plan includes no premium calls. Your balance of $12.40 pays from here.')
      .waitFor();
    await inside(page).getByText('used up: 250 of 300 bought units left').waitFor();
    expect(await inside(page).getByText('nothing left').count()).toBe(0);
    const frame = frameOf(page);
    expect(
      await frame.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    ).toBeLessThanOrEqual(0);
    // The frame is transparent: the page that it stands in gives the ground.
    await frame.evaluate(`document.body.style.background = '${theme === 'dark' ? '#161b22' : '#ffffff'}'`);
    expect(await violations(frame as unknown as Page)).toEqual([]);
    await takePicture(page.locator('iframe'), `widget-credit-${theme}-390`);
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      inside(page).getByRole('link', { name: 'Upgrade (opens in a new tab)' }).click(),
    ]);
    await opened.waitForURL(upgradeUrl);
    expect(await opened.evaluate<boolean>('opener === null')).toBe(true);
    expect(page.url()).toBe(`${hostOrigin}/`);
    expect(complaints).toEqual([]);
    await server.operator.send('updateOrganization', { params, body: { upgradeUrl: null } });
    await close();
  },
);

test.each(['light', 'dark'] as const)(
  'tells the sum of a refusal, and of credit that cannot be used, in the theme %s at 390 pixels',
  async (theme) => {
    const params = { org: DEMO_ORGANIZATION_ID };
    const customerId = `refused-${theme}`;
    const plan = { name: 'Credit', limitType: 'BLOCK', limits: { premiumCalls: 0 }, payg: { enabled: true } };
    await server.operator.send('putPlan', { params: { ...params, planId: 'credit' }, body: plan });
    await server.demo.send('provisionCustomer', { body: { customerId } });
    await server.demo.send('changePlan', { params: { customerId }, body: { planId: 'credit' } });
    const grant = (body: object) => server.operator.send('grantCredit', { params: { ...params, customerId }, body });
    expect((await grant({ kind: 'USD', amountUsd: '0.61' })).status).toBe(200);
    expect((await grant({ kind: 'METER', meterSlot: 'AGENTIC_API', units: 1_200 })).data.warnings).toHaveLength(1);
    const estimate = { model: 'gpt-4o', inputTokens: 400_000, maxOutputTokens: 6_000 };
    const begun = await server.demo.send('beginCall', { body: { customerId, requested: { premium: true }, estimate } });
    expect(begun.data.denial).toMatchObject({ code: 'CREDIT_REQUIRED', availableUsd: 0.61 });
    request = { ...request, customerId, theme };
    const { page, complaints, close } = await openHost('/', { viewport: { width: 390, height: 800 } });
    const refusal = 'Your latest denied call needed $1.07 of your balance, and $0.61 was free.';
    await inside(page).getByText(refusal).waitFor();
    await inside(page).getByText('You have 1,200 bought units. They cannot be used on your plan.').waitFor();
    const frame = frameOf(page);
    expect(
      await frame.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    ).toBeLessThanOrEqual(0);
    await frame.evaluate(`document.body.style.background = '${theme === 'dark' ? '#161b22' : '#ffffff'}'`);
    expect(await violations(frame as unknown as Page)).toEqual([]);
    await takePicture(page.locator('iframe'), `widget-refused-${theme}-390`);
    expect(complaints).toEqual([]);
    await close();
  },
);
