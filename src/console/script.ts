/**
 * The console's only script. Every page works without it; it adds what HTML cannot do:
 *
 * - a submitted form waits for its answer and is not sent twice; where the session has ended, or the server cannot be
 *   reached, nothing is sent and what was typed stays;
 * - `data-copy="ID"` copies the text of the element with this id;
 * - a region with `data-live` follows the page: it is fetched again every few seconds while the tab is visible;
 * - the marks of a chart are one stop of the tab key, and the arrow keys lead from one to the next; a first tap on a mark
 *   shows its values, the second one follows its link.
 *
 * Each is a function of its own in `STARTED`, which runs on the page once; a region that is replaced runs through
 * `PREPARED` again.
 */
import { contentHash } from '../platform/content-hash.ts';
import { CONSOLE_PATH } from './context.ts';

/** Answers a script whether its session still lives, with the CSRF token of its forms. */
export const SESSION_PATH = `${CONSOLE_PATH}/session`;

/** An answer that is a download leaves the page as it is: the form may be sent again after this. */
const PENDING_MS_MAX = 10_000;
/** How often a live region is read, also after errors, and for how long. */
const LIVE_MS = 2_000;
const LIVE_ERROR_MS_MAX = 60_000;
const LIVE_FOR_MS = 15 * 60_000;
/** How long a button says that it has copied. */
const COPIED_MS = 2_000;

export const CONSOLE_SCRIPT = `(() => {
  const read = (address) => fetch(address, { redirect: 'manual', headers: { Accept: 'text/html' } });
  const announcer = document.createElement('p');
  announcer.className = 'unseen';
  announcer.setAttribute('role', 'status');
  const announce = (text) => { announcer.textContent = text; };

  const notice = (form) => {
    let box = form.querySelector('[data-notice]');
    if (!box) {
      box = document.createElement('div');
      box.className = 'notice bad';
      box.setAttribute('role', 'alert');
      box.dataset.notice = '';
      form.prepend(box);
    }
    return box;
  };
  const signIn = () => {
    const link = document.createElement('a');
    link.href = '${CONSOLE_PATH}';
    link.target = '_blank';
    link.textContent = 'Sign in in a new tab';
    return link;
  };

  const forms = () => {
    const settle = (form) => {
      delete form.dataset.pending;
      form.removeAttribute('aria-busy');
      for (const button of form.querySelectorAll('button')) button.removeAttribute('aria-disabled');
    };
    const checked = new WeakSet();
    const refuse = (form, ...words) => { settle(form); notice(form).replaceChildren(...words); };
    const check = async (form, submitter) => {
      const answer = await read('${SESSION_PATH}').catch(() => null);
      if (answer && answer.type === 'opaqueredirect')
        return refuse(form, 'Your session has ended, and nothing was sent. ', signIn(), ', then send this form again: what you typed is still here.');
      const session = answer && answer.ok ? await answer.json().catch(() => null) : null;
      if (!session) return refuse(form, 'The server cannot be reached, and nothing was sent. Try again: what you typed is still here.');
      for (const field of document.querySelectorAll('input[name="csrf"]')) field.value = session.csrf;
      checked.add(form);
      delete form.dataset.pending;
      if (submitter && submitter.isConnected) form.requestSubmit(submitter); else form.requestSubmit();
    };
    document.addEventListener('submit', (event) => {
      const form = event.target;
      if (form.method !== 'post' || !form.elements.namedItem('csrf')) return;
      if ('pending' in form.dataset) return event.preventDefault();
      form.dataset.pending = '';
      form.setAttribute('aria-busy', 'true');
      for (const button of form.querySelectorAll('button')) button.setAttribute('aria-disabled', 'true');
      if (checked.delete(form)) setTimeout(() => settle(form), ${PENDING_MS_MAX});
      else { event.preventDefault(); void check(form, event.submitter); }
    });
    addEventListener('pageshow', (event) => {
      if (event.persisted) for (const form of document.querySelectorAll('form[data-pending]')) settle(form);
    });
  };

  const copying = () => {
    document.addEventListener('click', async (event) => {
      const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
      const source = button && document.getElementById(button.dataset.copy);
      if (!source) return;
      const text = source.textContent.trim();
      const copied = await Promise.resolve().then(() => navigator.clipboard.writeText(text)).then(() => true, () => false);
      if (!copied) getSelection().selectAllChildren(source);
      announce(copied ? 'Copied' : 'Selected: copy it with the keyboard');
      const word = button.dataset.word || button.textContent;
      button.dataset.word = word;
      button.textContent = copied ? 'Copied' : 'Selected';
      setTimeout(() => { button.textContent = word; }, ${COPIED_MS});
    });
  };
  const showCopyButtons = (part) => { for (const button of part.querySelectorAll('[data-copy]')) button.hidden = false; };

  const reachMarks = (part) => {
    for (const chart of part.querySelectorAll('.marks')) {
      const marks = [...chart.querySelectorAll('[tabindex]')];
      const choose = (chosen) => { for (const mark of marks) mark.tabIndex = mark === chosen ? 0 : -1; };
      const markOf = (event) => marks.find((mark) => mark.contains(event.target));
      let isOpening = false;
      choose(marks.at(-1));
      chart.addEventListener('focusin', (event) => choose(markOf(event)));
      chart.addEventListener('keydown', (event) => {
        const at = marks.indexOf(markOf(event));
        const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: marks.length - 1 }[event.key];
        if (event.ctrlKey || event.metaKey || event.altKey || !marks[to]) return;
        event.preventDefault();
        marks[to].focus();
      });
      chart.addEventListener('pointerdown', (event) => {
        isOpening = event.pointerType === 'touch' && document.activeElement !== markOf(event);
      });
      chart.addEventListener('click', (event) => {
        if (!isOpening) return;
        isOpening = false;
        event.preventDefault();
        markOf(event)?.focus();
      });
    }
  };

  const living = () => {
    const regions = () => [...document.querySelectorAll('[data-live]')];
    if (regions().length === 0) return;
    // The ids of submissions are new in each answer.
    const textOf = (region) => region.outerHTML.replace(/(name="nonce" value=")[^"]*/g, '$1');
    const shown = new Map(regions().map((region) => [region.id, textOf(region)]));
    const endsMs = Date.now() + ${LIVE_FOR_MS};
    let waitMs = ${LIVE_MS};
    const stop = (...words) => {
      for (const region of regions()) {
        region.removeAttribute('data-live');
        const word = document.createElement('p');
        word.className = 'quiet';
        word.append(...words);
        region.append(word);
      }
      announcer.replaceChildren(...words.map((word) => typeof word === 'string' ? word : word.textContent));
    };
    const selects = (region) => {
      const selection = getSelection();
      return !selection.isCollapsed && region.contains(selection.anchorNode);
    };
    const keep = (old, fresh) => {
      for (const field of old.querySelectorAll('input[id], textarea[id], select[id], details[id]')) {
        const same = fresh.querySelector('#' + CSS.escape(field.id));
        if (!same) continue;
        if (field.tagName === 'DETAILS') same.open = field.open;
        else if (field.type === 'checkbox' || field.type === 'radio') same.checked = field.checked;
        else if (field.value !== field.defaultValue) same.value = field.value;
      }
    };
    const focusable = (region) => [...region.querySelectorAll('a, button, input, textarea, select, summary, [tabindex]')];
    const focusAt = (region, old, place, id) => {
      const element = (id && document.getElementById(id)) || focusable(region)[place];
      if (!element) return;
      element.focus({ preventScroll: true });
      if ('selectionStart' in old && old.selectionStart !== null && 'setSelectionRange' in element)
        element.setSelectionRange(old.selectionStart, old.selectionEnd);
    };
    const replace = (region, fresh) => {
      const { activeElement } = document;
      const place = region.contains(activeElement) ? focusable(region).indexOf(activeElement) : -1;
      keep(region, fresh);
      for (const prepare of PREPARED) prepare(fresh);
      region.replaceWith(fresh);
      if (place >= 0) focusAt(fresh, activeElement, place, activeElement.id);
      if (fresh.dataset.says && fresh.dataset.says !== region.dataset.says) announce(fresh.dataset.says);
    };
    const look = async () => {
      const answer = await read(location.href);
      if (answer.type === 'opaqueredirect') return stop('Your session has ended. ', signIn(), ' and reload this page.');
      if (!answer.ok) throw new Error();
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const region of regions()) {
        const fresh = page.getElementById(region.id);
        if (!fresh) {
          region.removeAttribute('data-live');
          if (region.dataset.gone) { region.replaceChildren(region.dataset.gone); announce(region.dataset.gone); }
          continue;
        }
        if (selects(region) || region.querySelector('[data-pending]')) continue;
        const text = textOf(fresh);
        if (shown.get(region.id) === text) continue;
        shown.set(region.id, text);
        replace(region, document.adoptNode(fresh));
      }
    };
    const tick = async () => {
      if (document.hidden) return;
      if (Date.now() >= endsMs) return stop('This page no longer follows by itself: reload it to see what is new.');
      try {
        await look();
        waitMs = ${LIVE_MS};
      } catch {
        waitMs = Math.min(waitMs * 2, ${LIVE_ERROR_MS_MAX});
      }
      next();
    };
    let timer;
    const next = () => { clearTimeout(timer); if (regions().length > 0) timer = setTimeout(tick, waitMs); };
    document.addEventListener('visibilitychange', () => { if (!document.hidden) next(); });
    next();
  };

  const PREPARED = [showCopyButtons, reachMarks];
  const STARTED = [forms, copying, living];
  document.body.append(announcer);
  for (const start of STARTED) start();
  for (const prepare of PREPARED) prepare(document);
})();
`;

/** The address contains a hash of the content, so that it can be cached forever. */
export const CONSOLE_SCRIPT_PATH = `/assets/console-${contentHash(CONSOLE_SCRIPT)}.js`;
