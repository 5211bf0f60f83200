/**
 * Somebody at the console without a browser: keeps the cookie, reads pages, sends the forms that they hold.
 */
import { expect } from 'vitest';
import { OPERATOR_TOKEN } from '../support/api.ts';
import { worker } from '../support/worker.ts';

export const ORIGIN = 'https://callmeter.test';

export interface Shown {
  status: number;
  headers: Headers;
  html: string;
  /** The text that a person reads: without markup. */
  text: string;
}

export type Values = Record<string, string | string[]>;

export class Visitor {
  cookie = '';
  address = '203.0.113.1';

  async send(path: string, init: RequestInit = {}): Promise<Shown> {
    const response = await worker.fetch(ORIGIN + path, {
      redirect: 'manual',
      ...init,
      headers: {
        ...(this.cookie && { Cookie: this.cookie }),
        'CF-Connecting-IP': this.address,
        ...(init.headers as Record<string, string>),
      },
    } as never);
    const set = response.headers.get('Set-Cookie');
    if (set) this.cookie = set.split(';')[0] ?? '';
    const html = await response.text();
    return { status: response.status, headers: response.headers as unknown as Headers, html, text: visibleText(html) };
  }

  /** A page that is there. */
  async read(path: string): Promise<Shown> {
    const shown = await this.send(path);
    expect([path, shown.status]).toEqual([path, 200]);
    return shown;
  }

  post(path: string, values: Values, headers: Record<string, string> = {}): Promise<Shown> {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) for (const one of [value].flat()) body.append(name, one);
    const type = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: ORIGIN };
    return this.send(path, { method: 'POST', body: body.toString(), headers: { ...type, ...headers } });
  }

  async signIn(token = OPERATOR_TOKEN): Promise<Shown> {
    return this.post('/console/sign-in', { token });
  }

  /** The fields that the form with this action on a page would send, with some of them replaced. */
  async form(page: string, action: string, values: Values = {}): Promise<Values> {
    const { html } = await this.send(page);
    const forms = [...html.matchAll(/<form method="post" action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
    const form = forms.find(([, target]) => target === action);
    expect(form, `${page} has no form for ${action}`).toBeDefined();
    return { ...readFields(form?.[2] ?? ''), ...values };
  }

  /** Opens a page, fills its form in, and sends it. */
  async submit(page: string, action: string, values: Values = {}): Promise<Shown> {
    return this.post(action, await this.form(page, action, values));
  }
}

/** The fields that a browser would send: filled, chosen or checked ones. */
function readFields(form: string): Values {
  const fields: Values = {};
  const add = (name: string | undefined, value: string) => {
    if (name === undefined) return;
    const known = fields[name];
    fields[name] = known === undefined ? value : [known, value].flat();
  };
  for (const [, attributes = ''] of form.matchAll(/<input ([^>]*)>/g)) {
    const optional = /type="(checkbox|radio)"/.test(attributes);
    if (!optional || / checked(=|\s|$|\/)/.test(attributes))
      add(attribute(attributes, 'name'), attribute(attributes, 'value') ?? '');
  }
  for (const [, attributes = '', inside = ''] of form.matchAll(/<select ([^>]*)>([\s\S]*?)<\/select>/g)) {
    const options = [...inside.matchAll(/<option ([^>]*)>/g)].map(([, option = '']) => option);
    const chosen = options.find((option) => / selected(=|\s|$)/.test(option)) ?? options[0] ?? '';
    add(attribute(attributes, 'name'), attribute(chosen, 'value') ?? '');
  }
  for (const [, attributes = '', inside = ''] of form.matchAll(/<textarea ([^>]*)>([\s\S]*?)<\/textarea>/g)) {
    add(attribute(attributes, 'name'), unescaped(inside));
  }
  return fields;
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes);
  return found ? unescaped(found[1] ?? '') : undefined;
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

function visibleText(html: string): string {
  return unescaped(
    html
      .replace(/<head>[\s\S]*?<\/head>/, '')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' '),
  );
}
