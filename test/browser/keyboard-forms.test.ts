/**
 * The forms for a plan, a credit, a price, a webhook and a key by keyboard alone: Tab, typing and Enter reach every field,
 * a refused form has the focus on the first field that failed, and the corrected form is accepted. Form and error pass
 * axe-core in light and dark mode, wide and on a phone.
 */
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { violations } from './accessibility.ts';
import { launch, openPage, signIn } from './browser.ts';
import { sharedServer } from './server.ts';

const server = sharedServer();
const WIDTHS = [1440, 390] as const;
const TABS_MAX = 150;

interface KeyboardForm {
  /** Below the organization. */
  path: string;
  /** What is typed, in the order of the fields; the value of `wrong` is refused. */
  typed: Readonly<Record<string, string>>;
  wrong: string;
  /** The beginning of the error in words. */
  error: RegExp;
  right: string;
  /** What the page has after the form was accepted. */
  done: RegExp;
}

const FORMS: Readonly<Record<string, KeyboardForm>> = {
  plan: {
    path: '/new-plan',
    typed: { planId: 'typed', name: 'Typed', 'limits.premiumCalls': 'a few' },
    wrong: 'limits.premiumCalls',
    error: /Premium calls: must be a number, such as 100/,
    right: '1,000',
    done: /plan is saved/,
  },
  credit: {
    path: '/customers/ada/credit',
    typed: { amountUsd: 'ten' },
    wrong: 'amountUsd',
    error: /Amount, USD: must be a/,
    right: '12.50',
    done: /credit is granted/,
  },
  price: {
    path: '/models',
    typed: { modelKey: 'house/own', inputUsdPerMillion: 'cheap', outputUsdPerMillion: '2' },
    wrong: 'inputUsdPerMillion',
    error: /Input: must be a number of dollars, such as 12.50/,
    right: '1.25',
    done: /price is saved/,
  },
  webhook: {
    path: '/new-webhook',
    typed: { webhookId: 'typed', url: 'https://user:word@example.com/hook' },
    wrong: 'url',
    error: /Address: /,
    right: 'https://example.com/hook',
    done: /Copy it now/,
  },
  key: {
    path: '/keys/new',
    typed: { name: 'k'.repeat(300) },
    wrong: 'name',
    error: /Name: /,
    right: 'Typed key',
    done: /Copy it now/,
  },
};

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});

async function createOrganization(): Promise<string> {
  const { data } = await server.operator.send('createOrganization', { body: { name: 'Keyboard Ltd' } });
  const params = { org: data.organizationId };
  const plan = { name: 'Free', limitType: 'BLOCK' };
  await server.operator.send('putPlan', { params: { ...params, planId: 'free' }, body: plan });
  await server.operator.send('updateOrganization', { params, body: { defaultPlanId: 'free' } });
  const created = await server.operator.send('operatorCreateCustomer', { params, body: { customerId: 'ada' } });
  expect(created.status).toBe(200);
  return `/console/organizations/${params.org}`;
}

const focusedName = (page: Page) => page.evaluate<string>("document.activeElement.getAttribute('name') ?? ''");

async function tabTo(page: Page, name: string): Promise<void> {
  for (let steps = 0; steps < TABS_MAX; steps += 1) {
    if ((await focusedName(page)) === name) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${name} is not reached by Tab`);
}

/** Enter in a field sends its form. */
async function sendByEnter(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
}

async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect([colorScheme, await violations(page)]).toEqual([colorScheme, []]);
  }
}

test.each(WIDTHS.flatMap((width) => Object.keys(FORMS).map((name) => [name, width] as const)))(
  'the form for a %s is filled in, corrected and accepted by keyboard alone, %i pixels wide',
  async (name, width) => {
    const form = FORMS[name] as KeyboardForm;
    const base = await createOrganization();
    const { page, complaints, close } = await openPage(browser, server.url, { viewport: { width, height: 900 } });
    await signIn(page, server);
    await page.goto(base + form.path);
    await expectAccessible(page);

    for (const [field, value] of Object.entries(form.typed)) {
      await tabTo(page, field);
      expect(await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')).not.toBe('none');
      await page.keyboard.type(value);
    }
    await sendByEnter(page);
    expect(await page.getByRole('alert').textContent()).toMatch(form.error);
    expect(await focusedName(page)).toBe(form.wrong);
    expect(await page.locator(':focus').getAttribute('aria-invalid')).toBe('true');
    await expectAccessible(page);

    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type(form.right);
    await sendByEnter(page);
    expect(await page.getByRole('main').textContent()).toMatch(form.done);
    expect(complaints).toEqual([]);
    await close();
  },
);
