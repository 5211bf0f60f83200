/**
 * Searches over a page: `/` or Ctrl+K opens a list of results, which follows the typed text. The markup is in
 * `../navigation.tsx`. Without script the field leads to the search page.
 */
import { SEARCH_PATH } from '../paths.ts';
import { hasEnded, parse, read, signIn } from './session.ts';

/** The delay between the last key and the search. */
const TYPED_MS = 120;

export function openPalette(): void {
  const dialog = document.querySelector<HTMLDialogElement>('#palette');
  const input = dialog?.querySelector('input');
  const status = dialog?.querySelector('[aria-live]');
  if (!dialog || !input || !status) return;
  const results = new Results(dialog, input, status);
  const open = (text: string) => {
    if (document.querySelector('dialog[open]')) return;
    dialog.showModal();
    input.value = text;
    void results.look();
  };
  for (const field of document.querySelectorAll<HTMLInputElement>('[data-search]')) {
    field.placeholder = 'Search, or press /';
    field.addEventListener('click', () => open(field.value));
    field.addEventListener('input', () => {
      open(field.value);
      field.value = '';
    });
  }
  document.addEventListener('keydown', (event) => {
    const { key, target, altKey, ctrlKey, metaKey } = event;
    const isTyped = (target as Element).closest('input, textarea, select, [contenteditable]');
    const isSlash = key === '/' && !isTyped && !altKey && !ctrlKey && !metaKey;
    if (!isSlash && !(key === 'k' && (ctrlKey || metaKey))) return;
    event.preventDefault();
    open('');
  });
  let timer: number | undefined;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void results.look(), TYPED_MS);
  });
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if ((!step && event.key !== 'Enter') || event.isComposing) return;
    event.preventDefault();
    if (step) results.move(step);
    else location.href = results.address();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => clearTimeout(timer));
}

/** The list of results, with the chosen one. */
class Results {
  readonly #dialog: HTMLDialogElement;
  readonly #input: HTMLInputElement;
  readonly #status: Element;
  /** The text of the last search. */
  #asked: string | null = null;
  #chosen = -1;

  constructor(dialog: HTMLDialogElement, input: HTMLInputElement, status: Element) {
    this.#dialog = dialog;
    this.#input = input;
    this.#status = status;
  }

  /** Searches for the typed text, and drops an answer that came too late. */
  async look(): Promise<void> {
    const query = this.#input.value.trim();
    if (query === this.#asked) return;
    this.#asked = query;
    const { org } = this.#dialog.dataset;
    const parameters = new URLSearchParams({ q: query, ...(org && { org }) });
    const answer = await read(`${SEARCH_PATH}/list?${parameters}`).catch(() => null);
    if (query !== this.#asked) return;
    if (!answer?.ok) {
      this.#asked = null;
      const ended = answer && hasEnded(answer);
      this.#status.replaceChildren(
        ...(ended ? ['Your session has ended. ', signIn(), '.'] : ['The server cannot be reached.']),
      );
      return;
    }
    const list = (await parse(answer)).getElementById('found');
    if (query !== this.#asked || !list) return;
    document.getElementById('found')?.replaceWith(document.adoptNode(list));
    this.#status.textContent = list.dataset.says ?? '';
    this.#choose(0);
  }

  move(step: number): void {
    this.#choose(this.#chosen + step);
  }

  /** The target of Enter: the chosen result, or the search page if the results are not there yet. */
  address(): string {
    const chosen = this.#input.value.trim() === this.#asked ? this.#options()[this.#chosen] : undefined;
    const parameters = new URLSearchParams({ q: this.#input.value, org: this.#dialog.dataset.org ?? '' });
    return chosen?.href ?? `${SEARCH_PATH}?${parameters}`;
  }

  #options(): HTMLAnchorElement[] {
    return [...this.#dialog.querySelectorAll<HTMLAnchorElement>('[role=option]')];
  }

  #choose(index: number): void {
    const options = this.#options();
    this.#chosen = options.length > 0 ? (index + options.length) % options.length : -1;
    for (const [at, option] of options.entries()) option.setAttribute('aria-selected', String(at === this.#chosen));
    const chosen = options[this.#chosen];
    this.#input.setAttribute('aria-activedescendant', chosen?.id ?? '');
    chosen?.scrollIntoView({ block: 'nearest' });
  }
}
