/**
 * Organizations whose checklist this browser hides on overviews; the checklist stays on its own page.
 */

import { getCookie, setCookie } from 'hono/cookie';
import type { OrganizationId } from '../domain/ids.ts';
import { DAY_MS } from '../platform/time.ts';
import { CONSOLE_PATH, type ConsoleContext } from './context.ts';

const COOKIE = 'callmeter_setup_hidden';
/** The most hidden checklists; beyond it the oldest is shown again. */
const HIDDEN_MAX = 20;
const KEPT_SECONDS = (365 * DAY_MS) / 1_000;

export function hiddenSetups(c: ConsoleContext): string[] {
  return (getCookie(c, COOKIE) ?? '').split('.').filter(Boolean).slice(-HIDDEN_MAX);
}

export function hideSetup(c: ConsoleContext, organizationId: OrganizationId, isHidden: boolean): void {
  const others = hiddenSetups(c).filter((id) => id !== organizationId);
  const ids = isHidden ? [...others, organizationId].slice(-HIDDEN_MAX) : others;
  const secure = new URL(c.req.url).protocol === 'https:';
  setCookie(c, COOKIE, ids.join('.'), {
    path: CONSOLE_PATH,
    httpOnly: true,
    sameSite: 'Strict',
    secure,
    maxAge: KEPT_SECONDS,
  });
}
