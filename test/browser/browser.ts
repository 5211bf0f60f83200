/**
 * The system's Chromium: a page fails its test on any console message, page error, or request to another origin.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { BrowserServer } from './server.ts';

/** A slower action counts as broken, even on a busy machine. */
const ACTION_MS_MAX = 60_000;

const PLACES = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

let launched: Promise<Browser> | undefined;

/** One for all files of a worker, which run one after the other and so do not meet at the clipboard. It ends with the worker. */
export function launch(): Promise<Browser> {
  launched ??= start();
  return launched;
}

function start(): Promise<Browser> {
  const executablePath = PLACES.find((place) => place !== undefined && existsSync(place));
  if (!executablePath) throw new Error('there is no Chromium here: install it, or say in CHROMIUM where it is');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

export interface Watched {
  page: Page;
  /** The problems so far: console messages, page errors, requests to other origins. */
  complaints: string[];
  close(): Promise<void>;
}

export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ baseURL: origin, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(ACTION_MS_MAX);
  const complaints: string[] = [];
  page.on('console', (message) => {
    // A page that is refused, or not found, is said so by its status.
    if (!/the server responded with a status of 4\d\d/.test(message.text()))
      complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request: ${request.url()}`);
  });
  return { page, complaints, close: () => context.close() };
}

/** Without the form, which console.test.ts fills in. */
export async function signIn(page: Page, { url: origin, operatorToken: token }: BrowserServer): Promise<void> {
  const sent = { form: { token }, headers: { Origin: origin } };
  const answer = await page.context().request.post(`${origin}/console/sign-in`, sent);
  if (!answer.ok()) throw new Error(`the sign-in was answered with ${answer.status()}`);
  await page.goto(`${origin}/console`);
}
