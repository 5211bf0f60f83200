/**
 * The part of the console's script that searches over a page: `/` or Ctrl+K opens a list of results, which follows what is
 * typed. The markup is in `navigation.tsx`; without script the field leads to the page of the search.
 */
import { SEARCH_PATH } from './paths.ts';

/** A search waits for this long after the last key. */
const TYPED_MS = 120;

/** A function of the script; it uses `read` and `signIn`. */
export const PALETTE_SCRIPT = `
  const palette = () => {
    const dialog = document.getElementById('palette');
    if (!dialog) return;
    const input = dialog.querySelector('input');
    const status = dialog.querySelector('[aria-live]');
    const options = () => [...dialog.querySelectorAll('[role=option]')];
    let asked = null;
    let timer;
    let at = -1;
    const choose = (place) => {
      const all = options();
      at = all.length > 0 ? (place + all.length) % all.length : -1;
      for (const [index, option] of all.entries()) option.setAttribute('aria-selected', index === at);
      input.setAttribute('aria-activedescendant', at < 0 ? '' : all[at].id);
      if (at >= 0) all[at].scrollIntoView({ block: 'nearest' });
    };
    const look = async () => {
      const query = input.value.trim();
      if (query === asked) return;
      asked = query;
      const { org } = dialog.dataset;
      const answer = await read('${SEARCH_PATH}/list?' + new URLSearchParams({ q: query, ...(org && { org }) })).catch(() => null);
      if (query !== asked) return;
      if (!answer || !answer.ok) {
        asked = null;
        return status.replaceChildren(...(answer && answer.type === 'opaqueredirect' ? ['Your session has ended. ', signIn(), '.'] : ['The server cannot be reached.']));
      }
      const list = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('found');
      if (query !== asked) return;
      document.getElementById('found').replaceWith(document.adoptNode(list));
      status.textContent = list.dataset.says;
      choose(0);
    };
    const open = (text) => {
      if (document.querySelector('dialog[open]')) return;
      dialog.showModal();
      input.value = text;
      look();
    };
    const fields = document.querySelectorAll('[data-search]');
    for (const field of fields) {
      field.placeholder = 'Search, or press /';
      field.addEventListener('click', () => open(field.value));
      field.addEventListener('input', () => { open(field.value); field.value = ''; });
    }
    document.addEventListener('keydown', (event) => {
      const { key, target, altKey, ctrlKey, metaKey } = event;
      const isTyped = target.closest('input, textarea, select, [contenteditable]');
      if ((key === '/' && !isTyped && !altKey && !ctrlKey && !metaKey) || (key === 'k' && (ctrlKey || metaKey))) {
        event.preventDefault();
        open('');
      }
    });
    input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(look, ${TYPED_MS}); });
    input.addEventListener('keydown', (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step && event.key !== 'Enter' || event.isComposing) return;
      event.preventDefault();
      if (step) return choose(at + step);
      const chosen = input.value.trim() === asked && options()[at];
      location.href = chosen ? chosen.href : '${SEARCH_PATH}?' + new URLSearchParams({ q: input.value, org: dialog.dataset.org || '' });
    });
    dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener('close', () => { clearTimeout(timer); });
  };`;
