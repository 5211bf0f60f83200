/**
 * `data-copy="ID"` copies the text of the element with this id, and `data-copy-text` the text that it holds. Without
 * script the button is hidden.
 */
import { copyText } from '../../ui/browser/copy-text.ts';
import { announce } from './announcer.ts';

/** The time for which a button shows that it has copied. */
const COPIED_MS = 2_000;

const BUTTONS = '[data-copy], [data-copy-text]';

export function copyOnClick(): void {
  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest<HTMLElement>(BUTTONS) : null;
    const text = button?.dataset.copyText;
    if (button) void (text === undefined ? copyElement(button) : copyHeld(button, text));
  });
}

async function copyElement(button: HTMLElement): Promise<void> {
  const source = document.getElementById(button.dataset.copy ?? '');
  if (!source) return;
  const isCopied = await copyText(source.textContent.trim(), source);
  announce(isCopied ? 'Copied' : 'Selected: copy it with the keyboard');
  const word = button.dataset.word ?? button.textContent;
  button.dataset.word = word;
  button.textContent = isCopied ? 'Copied' : 'Selected';
  setTimeout(() => {
    button.textContent = word;
  }, COPIED_MS);
}

/** Copies a text of which the page shows only a part, so that it cannot be selected instead. */
async function copyHeld(button: HTMLElement, text: string): Promise<void> {
  const isCopied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
  announce(isCopied ? 'Copied' : 'Not copied: the browser does not permit it. The page of the call shows the whole id');
  button.dataset.copied = isCopied ? 'yes' : 'no';
  setTimeout(() => {
    delete button.dataset.copied;
  }, COPIED_MS);
}

export function showCopyButtons(part: ParentNode): void {
  for (const button of part.querySelectorAll<HTMLElement>(BUTTONS)) button.hidden = false;
}
