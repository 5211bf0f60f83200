/**
 * A region with `data-live` follows the page: the script fetches the page every few seconds while the tab is visible.
 * If a region is replaced, its typed text, opened details and focus stay.
 */
import { announce, announcer } from './announcer.ts';
import { hasEnded, parse, read, signIn } from './session.ts';

/** The interval between two reads, the longest interval after errors, and the time after which the script stops. */
const LIVE_MS = 2_000;
const LIVE_ERROR_MS_MAX = 60_000;
const LIVE_FOR_MS = 15 * 60_000;

const FOCUSABLE = 'a, button, input, textarea, select, summary, [tabindex]';
const KEPT = 'input[id], textarea[id], select[id], details[id]';

type Prepare = (part: ParentNode) => void;

export function followPage(prepare: Prepare): void {
  /** The content of each region by its id. */
  const shown = new Map(regions().map((region) => [region.id, contentOf(region)]));
  const endsMs = Date.now() + LIVE_FOR_MS;
  let waitMs = LIVE_MS;
  let timer: number | undefined;
  const next = () => {
    clearTimeout(timer);
    if (regions().length > 0) timer = setTimeout(() => void tick(), waitMs);
  };
  const tick = async () => {
    if (document.hidden) return;
    if (Date.now() >= endsMs) return stop('This page no longer follows by itself: reload it to see what is new.');
    try {
      await look(shown, prepare);
      waitMs = LIVE_MS;
    } catch {
      waitMs = Math.min(waitMs * 2, LIVE_ERROR_MS_MAX);
    }
    next();
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) next();
  });
  next();
}

function regions(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('[data-live]')];
}

/** The content without the ids of submissions, which are new in each answer. */
function contentOf(region: HTMLElement): string {
  return region.outerHTML.replace(/(name="nonce" value=")[^"]*/g, '$1');
}

/** Stops following, and states the reason below each region. */
function stop(...words: (string | HTMLElement)[]): void {
  for (const region of regions()) {
    region.removeAttribute('data-live');
    const word = document.createElement('p');
    word.className = 'quiet';
    word.append(...words);
    region.append(word);
  }
  announcer.replaceChildren(...words.map((word) => (typeof word === 'string' ? word : word.textContent)));
}

/** Reads the page, and replaces the regions that have changed. */
async function look(shown: Map<string, string>, prepare: Prepare): Promise<void> {
  const answer = await read(location.href);
  if (hasEnded(answer)) return stop('Your session has ended. ', signIn(), ' and reload this page.');
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const page = await parse(answer);
  for (const region of regions()) {
    const fresh = page.getElementById(region.id);
    if (!fresh) {
      remove(region);
      continue;
    }
    if (isInUse(region)) continue;
    const content = contentOf(fresh);
    if (shown.get(region.id) === content) continue;
    shown.set(region.id, content);
    replace(region, document.adoptNode(fresh), prepare);
  }
}

/** Stops a region that the page no longer has: its content stays, or its `gone` text replaces it. */
function remove(region: HTMLElement): void {
  region.removeAttribute('data-live');
  const { gone } = region.dataset;
  if (!gone) return;
  region.replaceChildren(gone);
  announce(gone);
}

/** Whether the reader has selected text of the region, or one of its forms waits for its answer. */
function isInUse(region: HTMLElement): boolean {
  const selection = getSelection();
  const isSelected = selection !== null && !selection.isCollapsed && region.contains(selection.anchorNode);
  return isSelected || region.querySelector('[data-pending]') !== null;
}

function replace(region: HTMLElement, fresh: HTMLElement, prepare: Prepare): void {
  const { activeElement } = document;
  const place = activeElement && region.contains(activeElement) ? focusable(region).indexOf(activeElement) : -1;
  keepTyped(region, fresh);
  prepare(fresh);
  region.replaceWith(fresh);
  if (activeElement && place >= 0) focusAt(fresh, activeElement, place);
  const { says } = fresh.dataset;
  if (says && says !== region.dataset.says) announce(says);
}

function keepTyped(region: HTMLElement, fresh: HTMLElement): void {
  for (const field of region.querySelectorAll(KEPT)) {
    const same = fresh.querySelector(`#${CSS.escape(field.id)}`);
    if (field instanceof HTMLDetailsElement && same instanceof HTMLDetailsElement) same.open = field.open;
    if (field instanceof HTMLSelectElement && same instanceof HTMLSelectElement) same.value = field.value;
    if (!isTextField(field) || !isTextField(same)) continue;
    if ('checked' in field && 'checked' in same && /^(?:checkbox|radio)$/.test(field.type))
      same.checked = field.checked;
    else if (field.value !== field.defaultValue) same.value = field.value;
  }
}

function isTextField(element: Element | null): element is HTMLInputElement | HTMLTextAreaElement {
  return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
}

function focusable(region: HTMLElement): Element[] {
  return [...region.querySelectorAll(FOCUSABLE)];
}

/** Focuses the element with the same id, or else at the same place, and selects the same text. */
function focusAt(region: HTMLElement, before: Element, place: number): void {
  const element = (before.id && document.getElementById(before.id)) || focusable(region)[place];
  if (!(element instanceof HTMLElement)) return;
  element.focus({ preventScroll: true });
  if (isTextField(before) && isTextField(element) && before.selectionStart !== null)
    element.setSelectionRange(before.selectionStart, before.selectionEnd);
}
