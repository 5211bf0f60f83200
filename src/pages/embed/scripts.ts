/**
 * The widget's scripts for the browser.
 *
 * `OPENING_SCRIPT` runs first in the frame: it submits the token from the fragment of the address, and the response
 * replaces the page. `WIDGET_SCRIPT` runs in that page: it asks the embedding page for a new token before the current
 * one expires, accepts it from an allowed origin only, and shows the usage that the service returns for it.
 * `EMBED_SCRIPT` runs in the embedding page: it creates the frame, and answers requests for a new token. If the page's
 * session route fails, it says so in the frame's place and in one line of the browser's console, and asks again.
 */
import { contentHash } from '../../platform/content-hash.ts';

/** A token that expires sooner than this is renewed. The usage is refreshed at the same interval. */
const RENEW_BEFORE_MS = 60_000;
const REFRESH_MS = 60_000;
/** An embedding page that does not answer is asked again after this. */
const ASK_AGAIN_MS = 10_000;

/** How often a page's session route or callback is asked in a row, how long each answer may take, and the waits between. */
const ATTEMPTS_MAX = 8;
const ATTEMPT_MS_MAX = 15_000;
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;

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
  currentScript.remove();
  const after = (name, ms, work) => { clearTimeout(timers[name]); timers[name] = setTimeout(work, Math.max(0, ms)); };
  const tell = (message) => { if (parent !== window) parent.postMessage(message, '*'); };
  const measure = () => tell({ type: 'callmeter:height', height: Math.ceil(document.documentElement.getBoundingClientRect().height) });
  const askAgain = () => { tell({ type: 'callmeter:token-request' }); after('renew', ${ASK_AGAIN_MS}, askAgain); };
  const end = () => {
    for (const name in timers) clearTimeout(timers[name]);
    token = null;
    const word = document.createElement('p');
    word.setAttribute('role', 'status');
    word.textContent = 'This view has ended. Reload the page to see your usage.';
    box().replaceChildren(word);
    measure();
  };
  const live = () => {
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

export const EMBED_SCRIPT = `/* Callmeter usage widget: <script src=".../embed.js" data-session-url="/usage-session"></script> */
(() => {
  const script = document.currentScript;
  const { sessionUrl, callback, target, title } = script.dataset;
  const home = new URL(script.src).origin;
  const say = (reason) => console.error('Callmeter usage widget: ' + reason);
  const askSession = async (signal) => {
    if (callback) {
      if (typeof window[callback] !== 'function') throw new Error('data-callback must name a global function, and ' + callback + ' is none');
      return window[callback]();
    }
    if (!sessionUrl) throw new Error('the script needs data-session-url or data-callback');
    const answer = await fetch(sessionUrl, { method: 'POST', signal });
    if (!answer.ok) throw new Error(sessionUrl + ' answered with status ' + answer.status + ' instead of an embed session');
    return answer.json().catch(() => { throw new Error(sessionUrl + ' must answer with an embed session as JSON'); });
  };
  const newToken = async () => {
    const abort = new AbortController();
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error((callback || sessionUrl) + ' did not answer within ${ATTEMPT_MS_MAX / 1_000} seconds'));
        abort.abort();
      }, ${ATTEMPT_MS_MAX});
    });
    try {
      const session = await Promise.race([askSession(abort.signal), late]);
      const token = session && (session.data || session).token;
      if (typeof token !== 'string' || token === '') throw new Error('the embed session has no token: ' + (callback || sessionUrl) + ' must pass on what createEmbedSession returned');
      return token;
    } finally { clearTimeout(timer); }
  };
  const visible = () => document.hidden
    ? new Promise((resolve) => {
        const look = () => {
          if (document.hidden) return;
          document.removeEventListener('visibilitychange', look);
          resolve();
        };
        document.addEventListener('visibilitychange', look);
      })
    : Promise.resolve();
  let asking = false;
  const renew = async (use, failed) => {
    if (asking) return;
    asking = true;
    for (let attempt = 1; attempt <= ${ATTEMPTS_MAX}; attempt += 1) {
      if (attempt > 1) await visible();
      try {
        use(await newToken());
        break;
      } catch (error) {
        if (attempt === 1) say((error && error.message || String(error)) + '. It is asked again up to ${ATTEMPTS_MAX - 1} times.');
        failed(attempt === ${ATTEMPTS_MAX});
      }
      if (attempt < ${ATTEMPTS_MAX}) await new Promise((resolve) => setTimeout(resolve, Math.min(${RETRY_MS_MAX}, ${RETRY_MS_MIN} * 2 ** (attempt - 1))));
    }
    asking = false;
  };
  const place = (element) => {
    let holder = null;
    try { holder = target ? document.querySelector(target) : null; } catch {}
    if (holder) return holder.append(element);
    if (target) say('no element matches data-target ' + target + ', so the widget stands after its script');
    script.after(element);
  };
  const frame = document.createElement('iframe');
  frame.title = title || 'Usage';
  frame.style.cssText = 'border:0;width:100%;display:block;color-scheme:light';
  const word = document.createElement('p');
  word.setAttribute('role', 'status');
  addEventListener('message', ({ source, origin, data }) => {
    if (!source || source !== frame.contentWindow || origin !== home || !data) return;
    if (data.type === 'callmeter:height') frame.style.height = data.height + 'px';
    if (data.type === 'callmeter:token-request')
      renew((token) => frame.contentWindow && frame.contentWindow.postMessage({ type: 'callmeter:token', token }, home), () => {});
  });
  renew(
    (token) => {
      frame.src = home + '/embed#token=' + encodeURIComponent(token);
      if (word.isConnected) word.replaceWith(frame);
      else place(frame);
    },
    (isLast) => {
      word.textContent = isLast ? 'Your usage cannot be shown. Reload the page to try again.' : 'Your usage cannot be shown at the moment.';
      if (!word.isConnected) place(word);
    },
  );
})();
`;

/**
 * The addresses inside the frame contain a hash of the content. The embed script's address is fixed, because pages use
 * it.
 */
export const WIDGET_SCRIPT_PATH = `/embed/widget-${contentHash(WIDGET_SCRIPT)}.js`;
export const OPENING_SCRIPT_PATH = `/embed/opening-${contentHash(OPENING_SCRIPT)}.js`;
export const EMBED_SCRIPT_PATH = '/embed.js';
