/**
 * The script of the API reference: tabs of samples, buttons that copy, and the form that sends an example. The pages are
 * whole without it. The key that a reader enters is in the form alone: it is not stored, and is in no address.
 */
import { copyButtons } from './copy.ts';
import { sampleTabs } from './tabs.ts';
import { tryForms } from './try.ts';

function start(): void {
  sampleTabs();
  copyButtons();
  tryForms();
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
