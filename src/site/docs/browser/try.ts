/**
 * The form that sends an example to the server of the page, and shows its answer. `$NAME` in it is a value of an
 * answer: the requests that make it are sent first.
 */
import type { TryStep } from '../try-step.ts';

const DEMO_KEY_PATH = '/docs/demo-key';
const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];
/** A longer answer is shown up to here. */
const SHOWN_MAX = 100_000;
const SHOWN_HEADERS =
  /^(?:content-type|retry-after|ratelimit|x-usage-|x-callmeter-|x-should-retry|deprecation|sunset|etag)/;

export function tryForms(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form.try')) {
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form);
    });
    void prefillKey(form);
  }
}

/** Only a server on this machine provides a key, and only that of its demo organization. */
async function prefillKey(form: HTMLFormElement): Promise<void> {
  const key = field(form, 'key');
  if (!key || !LOOPBACK.includes(location.hostname)) return;
  const answer = await fetch(DEMO_KEY_PATH, { credentials: 'omit' }).catch(() => null);
  if (answer?.status !== 200 || key.value !== '') return;
  key.value = ((await answer.json()) as { key: string }).key;
  const hint = document.getElementById('try-key-hint');
  if (hint) hint.textContent = 'The key of this server’s demo organization.';
}

async function send(form: HTMLFormElement): Promise<void> {
  const shown = form.querySelector('.tried');
  const button = form.querySelector<HTMLButtonElement>('button[type="submit"]');
  if (!shown || !button) return;
  button.disabled = true;
  shown.replaceChildren(line('Sending …'));
  try {
    shown.replaceChildren(...(await run(form)));
  } catch (error) {
    shown.replaceChildren(line(error instanceof Error ? error.message : String(error)));
  } finally {
    button.disabled = false;
  }
}

async function run(form: HTMLFormElement): Promise<Node[]> {
  const { method = 'GET', steps = '[]' } = form.dataset;
  const values = new Map<string, string>();
  const path = addressIn(form);
  const body = field(form, 'body')?.value.trim();
  if (body) checkJson(body);
  const wanted = path + (body ?? '');
  for (const step of JSON.parse(steps) as TryStep[]) {
    // A value that the reader has replaced need not be made.
    if (step.value && !isUsed(step.value.name, wanted, steps)) continue;
    const content = step.upload
      ? buildFormData(step.upload)
      : step.body === undefined
        ? undefined
        : JSON.stringify(step.body);
    const answer = await request(form, step.method, step.path, content, values);
    if (!answer.ok)
      return [line(`${step.method} ${step.path}, which must run first, was refused:`), ...(await show(answer))];
    if (!step.value) continue;
    const { name, field: member } = step.value;
    const value = findMember(await answer.json(), member);
    if (value !== undefined) values.set(name, value);
  }
  return show(await request(form, method, path, body || undefined, values));
}

function isUsed(name: string, wanted: string, steps: string): boolean {
  return wanted.includes(`$${name}`) || steps.includes(`$${name}`);
}

function request(
  form: HTMLFormElement,
  method: string,
  path: string,
  body: string | FormData | undefined,
  values: ReadonlyMap<string, string>,
): Promise<Response> {
  const filled = (text: string) => text.replaceAll(/\$([A-Z_]+)/g, (whole, name: string) => values.get(name) ?? whole);
  const key = field(form, 'key')?.value.trim();
  return fetch(new URL(filled(path), location.origin), {
    method,
    headers: {
      Accept: form.dataset.accept ?? '*/*',
      ...(key && { Authorization: `Bearer ${key}` }),
      ...(typeof body === 'string' && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? filled(body) : body }),
    credentials: 'omit',
    redirect: 'error',
    cache: 'no-store',
  });
}

function buildFormData({ fields, file }: NonNullable<TryStep['upload']>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(file.field, new Blob([file.text]), file.name);
  return form;
}

/** The path with the form's fields in it, and the query of the filled ones. */
function addressIn(form: HTMLFormElement): string {
  const inputs = [...form.querySelectorAll<HTMLInputElement>('input[data-place]')];
  // A variable stays readable: it is replaced when its value is known.
  const encoded = (value: string) => (value.startsWith('$') ? value : encodeURIComponent(value));
  const inPath = (name: string) => inputs.find((input) => input.name === name && input.dataset.place === 'path')?.value;
  const path = (form.dataset.path ?? '').replaceAll(/\{(\w+)\}/g, (_, name: string) => encoded(inPath(name) ?? ''));
  const query = inputs.filter(({ dataset, value }) => dataset.place === 'query' && value !== '');
  const pairs = query.map(({ name, value }) => `${encodeURIComponent(name)}=${encoded(value)}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

function checkJson(body: string): void {
  try {
    JSON.parse(body);
  } catch (error) {
    throw new Error(`The body is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}

async function show(answer: Response): Promise<Node[]> {
  const headers = [...answer.headers].filter(([name]) => SHOWN_HEADERS.test(name));
  const status = line(`Status ${answer.status}`);
  status.classList.add('status');
  return [
    status,
    block('Headers of the answer', headers.map(([name, value]) => `${name}: ${value}`).join('\n')),
    block('What the server answered', await responseText(answer)),
  ];
}

async function responseText(answer: Response): Promise<string> {
  const type = answer.headers.get('Content-Type') ?? '';
  if (!/json|text|event-stream/.test(type)) return `${(await answer.arrayBuffer()).byteLength} bytes of ${type}`;
  const text = await answer.text();
  return pretty(text).slice(0, SHOWN_MAX);
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The first member of this name that is text, at any depth. */
function findMember(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const own = (value as Record<string, unknown>)[name];
  if (typeof own === 'string') return own;
  for (const inner of Object.values(value)) {
    const found = findMember(inner, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function field(form: HTMLFormElement, name: string): HTMLInputElement | HTMLTextAreaElement | null {
  return form.querySelector(`input[name="${name}"]:not([data-place]), textarea[name="${name}"]`);
}

function line(text: string): HTMLElement {
  const element = document.createElement('p');
  element.textContent = text;
  return element;
}

function block(label: string, text: string): HTMLElement {
  const section = document.createElement('section');
  section.setAttribute('aria-label', label);
  const pre = document.createElement('pre');
  pre.tabIndex = 0;
  pre.className = 'code';
  pre.textContent = text;
  section.append(pre);
  return section;
}
