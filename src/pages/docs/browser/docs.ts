/**
 * The script of the API reference: tabs of samples, buttons that copy, and the form that sends an example. The pages are
 * whole without it. The key that a reader enters is in the form alone: it is not stored, and is in no address.
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

/** The list beside the page begins where the page stands in it. */
function showCurrentEntry(): void {
  const list = document.querySelector<HTMLElement>('.docs-side');
  const entry = list?.querySelector<HTMLElement>('[aria-current]');
  if (list && entry) list.scrollTop = entry.offsetTop - list.clientHeight / 2;
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
