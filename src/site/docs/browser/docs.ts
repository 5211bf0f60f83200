/**
 * The script of the API reference: tabs of samples, buttons that copy, and the form that sends an example. The pages
 * are complete without it. The key that a reader enters is only in the form: it is not stored, and is in no address.
 */
import { copyButtons } from './copy.ts';
import { sampleTabs } from './tabs.ts';
import { tryForms } from './try.ts';

function start(): void {
  showCurrentEntry();
  sampleTabs();
  copyButtons();
  tryForms();
}

/**
 * A list that is longer than the window is scrolled if the page's entry is below its end; otherwise it stays at its
 * top.
 */
function showCurrentEntry(): void {
  const list = document.querySelector<HTMLElement>('.docs-side');
  const entry = list?.querySelector<HTMLElement>('[aria-current]');
  if (!list || !entry || entry.offsetTop + entry.offsetHeight <= list.clientHeight) return;
  list.scrollTop = entry.offsetTop - list.clientHeight / 2;
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
