/**
 * `data-copy="ID"` copies the text of the element with this id. Without script the button is hidden.
 */
import { copyText } from '../../ui/browser/copy-text.ts';
import { announce } from './announcer.ts';

/** The time for which a button says that it has copied. */
const COPIED_MS = 2_000;

export function copyOnClick(): void {
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest<HTMLElement>('[data-copy]') : null;
    const source = document.getElementById(button?.dataset.copy ?? '');
    if (!button || !source) return;
    const isCopied = await copyText(source.textContent.trim(), source);
    announce(isCopied ? 'Copied' : 'Selected: copy it with the keyboard');
    const word = button.dataset.word ?? button.textContent;
    button.dataset.word = word;
    button.textContent = isCopied ? 'Copied' : 'Selected';
    setTimeout(() => {
      button.textContent = word;
    }, COPIED_MS);
  });
}

export function showCopyButtons(part: ParentNode): void {
  for (const button of part.querySelectorAll<HTMLElement>('[data-copy]')) button.hidden = false;
}
