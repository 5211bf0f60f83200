/**
 * The part of the console's script that makes titles readable by keyboard and touch: exact amounts, full times, what a badge
 * means. A tooltip appears by focus, pointer or tap, stays while the pointer is on it, and closes by Escape. Without script
 * the browser shows the title.
 *
 * A table is one stop of the Tab key: the arrow keys go from one of its titles to the next.
 */

/** What has a tooltip. */
const TITLED = ['data', 'time', 'abbr', '.badge'].map((kind) => `${kind}[title]`).join(', ');
/** Between an element, its tooltip, and the edge of the window. */
const EDGE_PX = 8;

/** A function of the script, and one that prepares a part of a page. */
export const TOOLTIP_SCRIPT = `
  const prepareTips = (part) => {
    for (const element of part.querySelectorAll('${TITLED}')) {
      element.dataset.tip = element.title;
      element.removeAttribute('title');
      if (element.closest('a, button, summary, label')) continue;
      const table = element.closest('table');
      element.tabIndex = table && table.querySelector('[data-tip][tabindex="0"]') ? -1 : 0;
    }
  };
  const tooltips = () => {
    const box = document.createElement('div');
    box.id = 'tip';
    box.setAttribute('role', 'tooltip');
    box.hidden = true;
    document.getElementById('main').append(box);
    let shown = null;
    const show = (element) => {
      if (element === shown) return;
      if (shown) shown.removeAttribute('aria-describedby');
      shown = element;
      box.hidden = !element;
      if (!element) return;
      box.textContent = element.dataset.tip;
      element.setAttribute('aria-describedby', 'tip');
      const { left, top, width, bottom } = element.getBoundingClientRect();
      const { offsetWidth, offsetHeight } = box;
      box.style.left = Math.max(${EDGE_PX}, Math.min(left + (width - offsetWidth) / 2, document.documentElement.clientWidth - offsetWidth - ${EDGE_PX})) + 'px';
      box.style.top = (top > offsetHeight + ${EDGE_PX} ? top - offsetHeight : bottom) + 'px';
    };
    const tipOf = (element) => element.closest('[data-tip]') || (element.matches('a, button, summary') ? element.querySelector('[data-tip]') : null);
    document.addEventListener('focusin', ({ target }) => show(tipOf(target)));
    document.addEventListener('focusout', () => show(null));
    document.addEventListener('pointerover', ({ target }) => { if (!box.contains(target)) show(target.closest('[data-tip]')); });
    addEventListener('scroll', () => show(null), { capture: true, passive: true });
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && shown) { event.preventDefault(); return show(null); }
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const table = step && event.target.matches('[data-tip]') && event.target.closest('table');
      if (!table) return;
      const tips = [...table.querySelectorAll('[data-tip][tabindex]')];
      const next = tips[tips.indexOf(event.target) + step];
      if (!next) return;
      event.preventDefault();
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  };`;
