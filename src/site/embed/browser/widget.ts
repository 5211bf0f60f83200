/**
 * Runs in the widget's page: asks the embedding page for a new token before the current one expires, accepts it from an
 * allowed origin only, and shows the usage that the service returns for it. When the session has ended, it keeps what it
 * shows and says so.
 */
import type { FrameMessage, TokenMessage } from './messages.ts';

/** A token that expires sooner than this is renewed. The usage is refreshed at the same interval. */
const RENEW_BEFORE_MS = 60_000;
const REFRESH_MS = 60_000;
/** An embedding page that does not answer is asked again after this. */
const ASK_AGAIN_MS = 10_000;

const script = document.currentScript as HTMLScriptElement;
const allowed = box().dataset.origins?.split(' ').filter(Boolean) ?? [];
const timers = new Map<string, number>();
let { token } = script.dataset;
/** When the service returned the usage that is shown. */
let seen: Date;
script.remove();

addEventListener('message', ({ source, origin, data }: MessageEvent<Partial<TokenMessage> | null>) => {
  if (source !== parent || !allowed.includes(origin)) return;
  if (data?.type === 'callmeter:token' && typeof data.token === 'string') void load(data.token);
});
new ResizeObserver(measure).observe(document.documentElement);
live();

function box(): HTMLElement {
  return document.getElementById('widget') as HTMLElement;
}

/** Each kind of work waits for one time. */
function after(kind: string, ms: number, work: () => void): void {
  clearTimeout(timers.get(kind));
  timers.set(kind, setTimeout(work, Math.max(0, ms)));
}

function tell(message: FrameMessage): void {
  if (parent !== window) parent.postMessage(message, '*');
}

function measure(): void {
  tell({ type: 'callmeter:height', height: Math.ceil(document.documentElement.getBoundingClientRect().height) });
}

function askAgain(): void {
  tell({ type: 'callmeter:token-request' });
  after('renew', ASK_AGAIN_MS, askAgain);
}

function end(): void {
  for (const timer of timers.values()) clearTimeout(timer);
  token = undefined;
  const time = seen.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  const word = document.createElement('p');
  word.className = 'ended';
  word.setAttribute('role', 'status');
  word.textContent = `This view has ended. It shows your usage as of ${time}. Reload the page to update it.`;
  box().prepend(word);
  measure();
}

function live(): void {
  seen = new Date();
  const livesMs = Number(box().dataset.livesMs);
  after('renew', livesMs - RENEW_BEFORE_MS, askAgain);
  after('end', livesMs, end);
  after('refresh', REFRESH_MS, () => void load(token));
  measure();
}

async function load(candidate: string | undefined): Promise<void> {
  const headers = { Authorization: `Bearer ${candidate}` };
  const answer = await fetch('/embed/data', { headers }).catch(() => null);
  if (answer?.ok) {
    token = candidate;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    box().replaceWith(page.getElementById('widget') as HTMLElement);
    live();
  } else if (answer?.status === 401) {
    if (candidate === token) end();
  } else after('refresh', ASK_AGAIN_MS, () => void load(token));
}
