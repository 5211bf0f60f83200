/**
 * Runs in the embedding page, minified to less than 2 KB: creates the frame, and answers its requests for a new token. If
 * the page's session route or callback fails, it says so in the frame's place and in one line of the browser's console, and
 * asks again.
 */
import type { FrameMessage, TokenMessage } from './messages.ts';

/** How often a page's session route or callback is asked in a row, how long each answer may take, and the waits between. */
const ATTEMPTS_MAX = 8;
const ATTEMPT_MS_MAX = 15_000;
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;
/** How often a hidden page looks whether it is visible, before it asks again. */
const VISIBLE_MS = 999;

/** A session, or the service's answer that has it. */
type Answer = { token?: string; data?: { token?: string } } | null;

const script = document.currentScript as HTMLScriptElement;
const { sessionUrl = '', callback, target = '', title } = script.dataset;
const home = new URL(script.src).origin;
const frame = document.createElement('iframe');
const word = document.createElement('p');
let isBusy = false;
/** What stands in the page. */
let shown: HTMLElement | undefined;

frame.title = title || 'Usage';
frame.style.cssText = 'border:0;width:100%;display:block;color-scheme:light';
word.role = 'status';

addEventListener('message', ({ source, origin, data }: MessageEvent<FrameMessage | null>) => {
  if (source !== frame.contentWindow || origin !== home || !data) return;
  if (data.type === 'callmeter:height') frame.style.height = `${data.height}px`;
  if (data.type === 'callmeter:token-request') void renew(sendToken);
});

void renew(
  (token) => {
    frame.src = `${home}/embed#token=${encodeURIComponent(token)}`;
    show(frame);
  },
  (attempt) => {
    const rest = attempt < ATTEMPTS_MAX - 1 ? ' at the moment.' : '. Reload the page to try again.';
    word.textContent = `Your usage cannot be shown${rest}`;
    show(word);
  },
);

function sendToken(token: string): void {
  const message: TokenMessage = { type: 'callmeter:token', token };
  frame.contentWindow?.postMessage(message, home);
}

async function renew(use: (token: string) => void, onFailure?: (attempt: number) => void): Promise<void> {
  if (isBusy) return;
  isBusy = true;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 0) await wait(Math.min(RETRY_MS_MAX, (RETRY_MS_MIN / 2) * 2 ** attempt));
    while (attempt > 0 && document.hidden) await wait(VISIBLE_MS);
    try {
      const answer = await Promise.race([ask(), wait(ATTEMPT_MS_MAX).then(() => fail('no answer'))]);
      use((answer?.data || answer)?.token || fail('no token'));
      break;
    } catch (error) {
      if (attempt === 0)
        console.error(
          `Callmeter usage widget: ${callback || sessionUrl}: ${(error as Error | null)?.message || error}`,
        );
      onFailure?.(attempt);
    }
  }
  isBusy = false;
}

async function ask(): Promise<Answer> {
  if (callback) {
    const own: unknown = Reflect.get(window, callback);
    return typeof own === 'function' ? own.call(window) : fail('not a function');
  }
  const answer = await fetch(sessionUrl, { method: 'POST' });
  return answer.ok ? answer.json().catch(() => fail('no JSON')) : fail(`status ${answer.status}`);
}

function show(item: HTMLElement): void {
  if (shown) shown.replaceWith(item);
  else place(item);
  shown = item;
}

/** Into the page's own element if its selector is valid and finds one, else behind the script. */
function place(item: HTMLElement): void {
  let element: Element | null = null;
  try {
    element = document.querySelector(target);
  } catch {}
  if (element) element.append(item);
  else script.after(item);
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

function fail(why: string): never {
  throw Error(why);
}
