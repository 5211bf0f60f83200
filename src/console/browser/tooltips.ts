/**
 * Makes titles readable by keyboard and touch: exact amounts, full times, meanings of badges. A tooltip appears by
 * focus, pointer or tap, stays while the pointer is on it, and closes by Escape. Without script the browser shows the
 * title.
 *
 * A table is one stop of the Tab key: the arrow keys move between its titles.
 */

/** The elements with a tooltip. */
const TITLED = 'data[title], time[title], abbr[title], .badge[title]';
/** The gaps between an element, its tooltip, and the edge of the window. */
const EDGE_PX = 8;
/** The step of each arrow key in a table. */
const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function prepareTips(part: ParentNode): void {
  for (const element of part.querySelectorAll<HTMLElement>(TITLED)) {
    element.dataset.tip = element.title;
    element.removeAttribute('title');
    if (element.closest('a, button, summary, label')) continue;
    element.tabIndex = element.closest('table')?.querySelector('[data-tip][tabindex="0"]') ? -1 : 0;
  }
}

export function showTips(): void {
  const box = document.createElement('div');
  box.id = 'tip';
  box.setAttribute('role', 'tooltip');
  box.hidden = true;
  document.getElementById('main')?.append(box);
  let shown: HTMLElement | null = null;
  const show = (element: HTMLElement | null) => {
    if (element === shown) return;
    shown?.removeAttribute('aria-describedby');
    shown = element;
    box.hidden = !element;
    if (!element) return;
    box.textContent = element.dataset.tip ?? '';
    element.setAttribute('aria-describedby', box.id);
    place(box, element);
  };
  document.addEventListener('focusin', (event) => {
    const target = event.target as Element;
    const inside = target.matches('a, button, summary') ? target.querySelector<HTMLElement>('[data-tip]') : null;
    show(target.closest<HTMLElement>('[data-tip]') ?? inside);
  });
  document.addEventListener('focusout', () => show(null));
  document.addEventListener('pointerover', (event) => {
    const target = event.target as Element;
    if (!box.contains(target)) show(target.closest<HTMLElement>('[data-tip]'));
  });
  addEventListener('scroll', () => show(null), { capture: true, passive: true });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !shown) return stepInTable(event);
    event.preventDefault();
    show(null);
  });
}

/** Places the box above the element, or below it if there is no room. */
function place(box: HTMLElement, element: HTMLElement): void {
  const { left, top, width, bottom } = element.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = box;
  const leftMax = document.documentElement.clientWidth - offsetWidth - EDGE_PX;
  box.style.left = `${Math.max(EDGE_PX, Math.min(left + (width - offsetWidth) / 2, leftMax))}px`;
  box.style.top = `${top > offsetHeight + EDGE_PX ? top - offsetHeight : bottom}px`;
}

function stepInTable(event: KeyboardEvent): void {
  const step = STEPS[event.key];
  const target = event.target as HTMLElement;
  const table = target.matches('[data-tip]') ? target.closest('table') : null;
  if (step === undefined || !table) return;
  const tips = [...table.querySelectorAll<HTMLElement>('[data-tip][tabindex]')];
  const next = tips[tips.indexOf(target) + step];
  if (!next) return;
  event.preventDefault();
  target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
