/**
 * The widget's scripts for the browser.
 *
 * `OPENING_SCRIPT` runs first in the frame: it submits the token from the fragment of the address, and the response
 * replaces the page. `WIDGET_SCRIPT` runs in that page: it asks the embedding page for a new token before the current
 * one expires, accepts it from an allowed origin only, and shows the usage that the service returns for it. When the
 * session has ended, it keeps its content and says so. `EMBED_SCRIPT` runs in the embedding page and stays below 2 KB
 * there: it creates the frame, and answers requests for a new token. If the page's session route fails, it says so in
 * the frame's place and in one line of the browser's console, and asks again.
 */
import { contentHash } from '../../platform/content-hash.ts';

/** A token that expires sooner than this is renewed. The usage is refreshed at the same interval. */
const RENEW_BEFORE_MS = 60_000;
const REFRESH_MS = 60_000;
/** An embedding page that does not answer is asked again after this. */
const ASK_AGAIN_MS = 10_000;

/**
 * The most questions to a page's session route or callback in a row, the longest time of each answer, and the waits
 * between.
 */
const ATTEMPTS_MAX = 8;
const ATTEMPT_MS_MAX = 15_000;
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;
/** How often a hidden page checks whether it is visible, before it asks again. */
const VISIBLE_MS = 999;

/** A form that is submitted before the page has loaded replaces the page and leaves no history entry. */
export const OPENING_SCRIPT = `(() => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  history.replaceState(null, '', location.pathname);
  const form = document.forms[0];
  form.elements.token.value = token || '';
  if (token) form.submit();
  else document.getElementById('ended').hidden = false;
})();
`;

export const WIDGET_SCRIPT = `(() => {
  const box = () => document.getElementById('widget');
  const allowed = box().dataset.origins.split(' ').filter(Boolean);
  const timers = {};
  const { currentScript } = document;
  let { token } = currentScript.dataset;
  let seen;
  currentScript.remove();
  const after = (name, ms, work) => { clearTimeout(timers[name]); timers[name] = setTimeout(work, Math.max(0, ms)); };
  const tell = (message) => { if (parent !== window) parent.postMessage(message, '*'); };
  const measure = () => tell({ type: 'callmeter:height', height: Math.ceil(document.documentElement.getBoundingClientRect().height) });
  const askAgain = () => { tell({ type: 'callmeter:token-request' }); after('renew', ${ASK_AGAIN_MS}, askAgain); };
  const end = () => {
    for (const name in timers) clearTimeout(timers[name]);
    token = null;
    const word = document.createElement('p');
    word.className = 'ended';
    word.setAttribute('role', 'status');
    word.textContent = 'This view has ended. It shows your usage as of ' + seen.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' }) + '. Reload the page to update it.';
    box().prepend(word);
    measure();
  };
  const live = () => {
    seen = new Date();
    const livesMs = Number(box().dataset.livesMs);
    after('renew', livesMs - ${RENEW_BEFORE_MS}, askAgain);
    after('end', livesMs, end);
    after('refresh', ${REFRESH_MS}, () => load(token));
    measure();
  };
  const load = async (candidate) => {
    const answer = await fetch('/embed/data', { headers: { Authorization: 'Bearer ' + candidate } }).catch(() => null);
    if (answer && answer.ok) {
      token = candidate;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      box().replaceWith(page.getElementById('widget'));
      live();
    } else if (answer && answer.status === 401) {
      if (candidate === token) end();
    } else after('refresh', ${ASK_AGAIN_MS}, () => load(token));
  };
  addEventListener('message', ({ source, origin, data }) => {
    if (source !== parent || !allowed.includes(origin)) return;
    if (data && data.type === 'callmeter:token' && typeof data.token === 'string') load(data.token);
  });
  new ResizeObserver(measure).observe(document.documentElement);
  live();
})();
`;

export const EMBED_SCRIPT = `/* Callmeter usage widget */
(() => {
const page = document, script = page.currentScript, { sessionUrl, callback, target, title } = script.dataset;
const home = new URL(script.src).origin, from = callback || sessionUrl;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const fail = (why) => { throw Error(why) };
const ask = async () => {
if (callback) return window[callback]();
const got = await fetch(sessionUrl, { method: 'POST' });
return got.ok ? got.json().catch(() => fail('no JSON')) : fail('status ' + got.status);
};
let busy, shown;
const renew = async (use, failed) => {
if (busy) return;
busy = 1;
for (let n = 0; n < ${ATTEMPTS_MAX}; n++) {
if (n) await wait(Math.min(${RETRY_MS_MAX}, ${RETRY_MS_MIN / 2} * 2 ** n));
while (n && page.hidden) await wait(${VISIBLE_MS});
try {
const got = await Promise.race([ask(), wait(${ATTEMPT_MS_MAX}).then(() => fail('no answer'))]);
use((got && (got.data || got).token) || fail('no token'));
break;
} catch (error) {
n || console.error('Callmeter usage widget: ' + from + ': ' + (error?.message || error));
failed?.(n);
}
}
busy = 0;
};
const show = (item) => {
let place;
try { place = page.querySelector(target) } catch {}
shown ? shown.replaceWith(item) : place ? place.append(item) : script.after(item);
shown = item;
};
const frame = page.createElement('iframe'), word = page.createElement('p');
frame.title = title || 'Usage';
frame.style.cssText = 'border:0;width:100%;display:block;color-scheme:light';
word.role = 'status';
addEventListener('message', ({ source, origin, data }) => {
if (source !== frame.contentWindow || origin !== home || !data) return;
const { type, height } = data;
if (type === 'callmeter:height') frame.style.height = height + 'px';
if (type === 'callmeter:token-request') renew((token) => source.postMessage({ type: 'callmeter:token', token }, home));
});
renew((token) => {
frame.src = home + '/embed#token=' + encodeURIComponent(token);
show(frame);
}, (n) => {
word.textContent = 'Your usage cannot be shown' + (n < ${ATTEMPTS_MAX - 1} ? ' at the moment.' : '. Reload the page to try again.');
show(word);
});
})();
`;

/**
 * The addresses inside the frame contain a hash of the content. The embed script's address is fixed, because pages use
 * it.
 */
export const WIDGET_SCRIPT_PATH = `/embed/widget-${contentHash(WIDGET_SCRIPT)}.js`;
export const OPENING_SCRIPT_PATH = `/embed/opening-${contentHash(OPENING_SCRIPT)}.js`;
export const EMBED_SCRIPT_PATH = '/embed.js';
